"""12.3 What a verifier keeps of a tournament."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from verifier.conventions import Body, No, moment, seconds
from verifier.state import Match
from verifier.table import points_of

if TYPE_CHECKING:
    from datetime import datetime

    from verifier.letters import Player


@dataclass
class Line:
    """An entrant's line of the table, and who plays for it."""

    name: str
    player: Player
    mail: str
    words: str
    team: str | None
    ordinal: int
    active: datetime
    silent: int = 0
    leaving: str = ""
    out: str = ""
    """The fates of its games."""


@dataclass
class Pairing:
    round: int
    board: int
    names: tuple[str, str]
    match: str = ""
    entry: str = ""
    began: datetime | None = None
    players: tuple[str, ...] = ()
    mails: tuple[str, ...] = ()
    result: Body | None = None
    annulled: bool = False
    late: bool = False
    over: datetime | None = None


@dataclass
class Tournament(Match):
    """The papers, and how letters are read, are those of a match; `terms` are the template's."""

    document: dict[str, Any] = field(default_factory=dict)
    server_key: str = ""
    seq: int = 0
    octets: int = 0
    generation: int = 1
    secret: str | None = None
    organiser: Player | None = None
    lines: dict[str, Line] = field(default_factory=dict)
    nominated_for: dict[str, str] = field(default_factory=dict)
    pairings: list[Pairing] = field(default_factory=list)
    challenge: tuple[str, str] | None = None
    byes: list[str] = field(default_factory=list)
    ladder: list[str] = field(default_factory=list)
    closing: bool = False
    rounds: int = 0
    paired_at: datetime | None = None
    last: datetime | None = None

    @property
    def form(self) -> str:
        return str(self.document["format"])

    @property
    def full(self) -> bool:
        return self.seq >= 5_000 or self.octets >= 8_388_608

    def by_ordinal(self) -> list[str]:
        return sorted(self.lines, key=lambda name: self.lines[name].ordinal)

    def playing_in(self) -> list[str]:
        return [name for name in self.by_ordinal() if not self.lines[name].out]

    def line_of(self, player: str) -> Line:
        for name in self.playing_in():
            if self.lines[name].player.name == player:
                return self.lines[name]
        raise No(f"{player} plays for no line")

    def void(self, pairing: Pairing) -> bool:
        return pairing.annulled or any(self.lines[name].out == "annulled" for name in pairing.names)

    def forfeited(self, pairing: Pairing) -> bool:
        return not pairing.match and any(self.lines[name].out for name in pairing.names)

    @property
    def awaited(self) -> list[Pairing]:
        waiting = [one for one in self.pairings if not (one.result or one.late)]
        return [one for one in waiting if not (self.void(one) or self.forfeited(one))]

    def busy(self, name: str) -> int:
        return sum(name in one.names and bool(one.match) for one in self.awaited)

    def ranked(self) -> list[str]:
        return sorted(self.playing_in(), key=lambda name: -points_of(self, name, awaited=1))

    def round_to_come(self) -> bool:
        return self.form == "swiss" and len(self.playing_in()) > 1 and self.round_now < self.rounds

    @property
    def round_now(self) -> int:
        return max((one.round for one in self.pairings), default=0)

    def pass_late(self, time: datetime) -> None:
        for one in self.awaited:
            assert one.began
            ends = one.began + seconds(self.document["longest"])
            one.late = ends <= time
            for name in one.names if one.late else ():
                self.lines[name].active = max(self.lines[name].active, ends)

    def sink(self, time: datetime) -> None:
        idle = seconds(self.document["idle"])
        while True:
            waiting = {name for one in self.awaited for name in one.names}
            over = [
                (self.lines[name].active + idle, name)
                for name in self.ladder
                if name not in waiting and self.lines[name].active + idle <= time
            ]
            if not over:
                return
            end, name = min(over)
            self.lines[name].active = end
            self.ladder.remove(name)
            self.ladder.append(name)

    def after(self, time: str, key: str, since: datetime | None) -> bool:
        return since is None or moment(time) - since >= seconds(self.document[key])
