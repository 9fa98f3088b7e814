"""5. The state of a match."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from verifier.conventions import No, Wrong, moment, must, seconds, sha256
from verifier.rules import Options, Result, rules

if TYPE_CHECKING:
    from types import ModuleType

    from verifier.letters import Player

SLACK = timedelta(hours=3)
"""The time by which clocks may differ whose zone is not known."""


@dataclass
class Clock:
    since: datetime
    time: timedelta
    bank: timedelta = timedelta()
    """The part of the time that is the seat's bank, as far as it is certain."""
    answered: datetime | None = None


@dataclass
class Match:
    """The state that a verifier keeps; `papers` are those of the bundle, `named` those that some entry named."""

    papers: dict[str, bytes]
    named: set[str] = field(default_factory=set)
    judged: bool = True
    """True if the rules of its game are here."""
    open: list[str] = field(default_factory=list)
    """The things that were not judged."""
    server: str = ""
    id: str = ""
    terms: dict[str, Any] = field(default_factory=dict)
    rules_hash: str = ""
    players: dict[int, Player] = field(default_factory=dict)
    phase: str = ""
    game: int = 0
    options: Options = field(default_factory=dict)
    setups: dict[int, str] = field(default_factory=dict)
    position: Any = None
    played: list[dict[int, str]] = field(default_factory=list)
    left: list[tuple[int, int]] = field(default_factory=list)
    """The seats that left while others played on: the turn that was due, and the seat."""
    before_leaving: dict[int, Any] = field(default_factory=dict)
    """The positions before these seats left."""
    prev: str = ""
    replies: str = ""
    """The secret of the reply addresses for what is due."""
    shown: set[int] = field(default_factory=set)
    """The games whose papers must be here: those that are revealed, and, if the match is closed, one more."""
    printed: list[str] = field(default_factory=list)
    opened: str = ""
    """The time of the entry that asked for orders."""
    said: dict[tuple[str, int], int] = field(default_factory=dict)
    missed: dict[int, datetime] = field(default_factory=dict)
    former: dict[tuple[int, str], Player] = field(default_factory=dict)
    """Those who left a seat since the setups or orders were asked for."""
    silent: dict[int, list[int]] = field(default_factory=lambda: defaultdict(list))
    """The entries of each seat's misses in a row."""
    unreachable: dict[int, datetime] = field(default_factory=dict)
    offers: dict[str, dict[int, list[int]]] = field(default_factory=dict)
    """By seat that offers something; of a draw, those who would share it."""
    nominated: dict[int, tuple[str, dict[int, str]]] = field(default_factory=dict)
    """The newcomer for each seat, and the seats that said so, each with its player's name."""
    paused: bool = False
    generation: int = 1
    pauses: list[tuple[datetime, datetime]] = field(default_factory=list)
    began: datetime | None = None
    defaults: list[tuple[int, int, int, datetime]] = field(default_factory=list)
    clocks: dict[int, Clock] = field(default_factory=dict)
    banks: dict[int, timedelta] = field(default_factory=dict)
    results: list[Result] = field(default_factory=list)
    totals: list[int] = field(default_factory=list)
    previous: str = ""
    used: set[tuple[Any, ...]] = field(default_factory=set)
    tokens: dict[str, str] = field(default_factory=dict)
    vouched: dict[str, str] = field(default_factory=dict)
    due: list[tuple[str, Any]] = field(default_factory=list)
    """The entry that must follow: the type of the entry, and what it says."""
    commitments: dict[int, str] = field(default_factory=dict)
    """Of a sealed game (11), and so the next four."""
    told: list[Told] = field(default_factory=list)
    owing: dict[int, list[str]] = field(default_factory=dict)
    """By seat that owes something the heads that were printed since."""
    ending: tuple[Result, tuple[tuple[int, ...], str] | None] | None = None
    reveals: dict[int, tuple[str, dict[int, str]]] = field(default_factory=dict)
    teller: int = 0
    """The seat whose letter is being entered."""
    mail: tuple[str, str] = ("", "")

    @property
    def seats(self) -> list[int]:
        return sorted(self.players)

    @property
    def rules(self) -> ModuleType:
        return rules(self.terms["game"])

    @property
    def turn_due(self) -> int:
        return self.position.turn if self.phase == "playing" else 0

    @property
    def is_sealed(self) -> bool:
        return bool(self.terms["sealed"])

    @property
    def pace(self) -> timedelta:
        """5.3: the time for what is due, of which the rules may give a turn a part."""
        return seconds(int(self.terms["pace"] * (self.position.pace if self.phase == "playing" else 1)))

    def clock(self, seat: int, time: str) -> Clock:
        """5.3: a clock that starts now."""
        bank = self.banks.get(seat, seconds(self.terms["bank"]))
        return Clock(moment(time), self.pace + bank, bank)

    def draw_on_banks(self, time: str) -> None:
        """5.3: what is left of each bank."""
        for seat, clock in self.clocks.items():
            ran = (clock.answered or moment(time)) + SLACK - clock.since
            drawn = max(timedelta(), ran - (clock.time - clock.bank))
            self.banks[seat] = max(timedelta(), clock.bank - drawn)

    def answered(self, seat: int, received: str) -> None:
        if seat in self.clocks:
            self.clocks[seat].answered = moment(received)

    @property
    def asked(self) -> list[int]:
        return [seat for seat, orders in self.position.due.items() if orders is None]

    def player(self, seat: int) -> Player:
        must(seat in self.players, "no such seat")
        return self.players[seat]

    def paper(self, path: str, digest: str | None = None) -> bytes:
        self.named.add(path)
        if path not in self.papers:
            raise No(f"{path} is missing")
        must(digest is None or sha256(self.papers[path]) == digest, f"{path} is another")
        return self.papers[path]

    def check_all_named(self, last: int) -> None:
        foreign = sorted(set(self.papers) - self.named)
        if foreign:
            raise Wrong(last, foreign[0], "nobody names it")

    def once(self, *what: Any) -> None:
        must(what not in self.used, "used twice")
        self.used.add(what)


@dataclass
class Told:
    """A step that was told; `path` is empty for a commitment."""

    turn: int
    seat: int
    step: str
    lines: tuple[str, ...]
    paper: str
    path: str
    prev: str
    heads: dict[str, str]
