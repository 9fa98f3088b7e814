"""12.3, 12.6 and 12.7: a tournament as it stands, its pairings and its table."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from verifier.conventions import Body, No, moment, seconds
from verifier.state import Match
from verifier.terms import ROUND_ROBINS

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import datetime

    from verifier.letters import Player


@dataclass
class Line:
    """An entrant's line of the table, and who plays for it."""

    name: str
    player: Player
    keys: list[Body]
    mail: str
    words: str
    team: str | None
    ordinal: int
    active: datetime
    silent: int = 0
    """The silent matches in a row that began with its present player."""
    leaving: str = ""
    out: str = ""
    """The fates of its games."""


@dataclass
class Pairing:
    round: int
    board: int
    names: tuple[str, ...]
    match: str = ""
    entry: str = ""
    began: datetime | None = None
    players: tuple[str, ...] = ()
    keys: tuple[list[Body], ...] = ()
    mails: tuple[str, ...] = ()
    result: Body | None = None
    before: datetime | None = None
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
    before: datetime | None = None

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
        enough = len(self.playing_in()) >= self.seats_at_each
        return self.form == "swiss" and enough and self.round_now < self.rounds

    @property
    def seats_at_each(self) -> int:
        return int(self.document.get("seats", 2))

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


LISTS = 1000
Pairs = list[tuple[str, str]]
Lines = tuple[int, ...]


def groups(names: Sequence[str], most: int) -> list[list[str]]:
    """Lines by ordinal, dealt to as few groups as the terms allow."""
    count = -(-len(names) // most)
    return [list(names[at::count]) for at in range(count)]


def berger(lines: Sequence[str], *, double: bool) -> list[Pairs]:
    """The rounds of a group; whoever would meet the number that nobody has is free."""
    even = len(lines) + len(lines) % 2
    rounds = []
    for number in range(even - 1):
        shift = number * even // 2

        def at(place: int, shift: int = shift) -> int:
            return (place + shift - 1) % (even - 1) + 1

        pairs = [(even, at(1)) if number % 2 else (at(1), even)]
        pairs += [(at(k), at(even + 1 - k)) for k in range(2, even // 2 + 1)]
        rounds.append([(lines[a - 1], lines[b - 1]) for a, b in pairs if max(a, b) <= len(lines)])
    return rounds + ([[(b, a) for a, b in pairs] for pairs in rounds] if double else [])


def swiss(ranked: Sequence[str], seats: int, met: Callable[[str, str], bool]) -> tuple[list[tuple[str, ...]], int]:
    """The tables of a round, each with the higher lines first; and how many pairs were allowed to meet again."""

    def seated(table: Lines, rest: Lines, allowed: int) -> list[Lines] | None:
        """The tables from this one on, which is being filled; each line is its number in the ranking."""
        if len(table) == seats:
            more = seated(rest[:1], rest[1:], allowed) if rest else []
            return None if more is None else [table, *more]
        if (table, rest, allowed) in failed:
            return None
        below = [one for one in rest if one > table[-1]]
        for one in below[: len(below) - (seats - len(table)) + 1]:
            again = sum(met(ranked[one], ranked[other]) for other in table)
            if again <= allowed and len(failed) < lists:
                others = tuple(other for other in rest if other != one)
                found = seated((*table, one), others, allowed - again)
                if found is not None:
                    return found
        failed.add((table, rest, allowed))
        return None

    lists = LISTS // (seats * (seats - 1) // 2)
    for allowed in range(len(ranked) * seats):
        failed: set[tuple[Lines, Lines, int]] = set()
        tables = seated((0,), tuple(range(1, len(ranked))), allowed)
        if tables is not None:
            return [tuple(ranked[one] for one in table) for table in tables], allowed
    raise AssertionError("all may meet again")


def meetings(result: Body) -> list[list[int]]:
    """The points of each seat against each seat."""
    seats = range(1, len(result["players"]) + 1)
    won = winners(result)

    def against(seat: int, other: int) -> int:
        if seat == other or not won or (len(result["winners"]) > 1 and not result["turns"]):
            return 0
        if (seat in won) != (other in won):
            return 2 * (seat in won)
        ahead = 0 if seat in won else result["scores"][seat - 1] - result["scores"][other - 1]
        return 1 + (ahead > 0) - (ahead < 0)

    return [[against(seat, other) for other in seats] for seat in seats]


def winners(result: Body) -> set[int]:
    """The seats that won or share: where nobody did, as some were silent or resigned, several others share."""
    gone = {*result["silent"], *result["resigned"]}
    others = {*range(1, len(result["players"]) + 1)} - gone
    if not result["winners"] and result["reason"] in {"forfeit", "resignation"} and gone and len(others) > 1:
        return others
    return {*result["winners"]}


def played(pairing: Pairing) -> bool:
    return pairing.result is not None and bool(pairing.result["turns"] and winners(pairing.result))


def games(pairing: Pairing) -> list[tuple[str, str, int]]:
    """The points of each line of a match that has been played against each other one."""
    assert pairing.result
    named = zip(pairing.names, meetings(pairing.result), strict=True)
    return [
        (one, other, own) for one, row in named for other, own in zip(pairing.names, row, strict=True) if one != other
    ]


def points_of(state: Tournament, name: str, *, awaited: int = 0) -> int:
    """The points of a line; a pairing that awaits its result may count, too."""
    total = 2 * (state.seats_at_each - 1) * state.byes.count(name)
    for pairing in state.pairings:
        if name not in pairing.names or state.void(pairing):
            continue
        others = len(pairing.names) - 1
        if pairing.result:
            total += sum(meetings(pairing.result)[pairing.names.index(name)])
        elif state.forfeited(pairing):
            total += 0 if state.lines[name].out else 2 * others
        else:
            total += awaited * others
    return total


def table(state: Tournament) -> list[list[Body]]:
    form = state.document["format"]
    names = state.by_ordinal()
    if form == "ladder":
        return [[row(state, name, names) for name in state.ladder]]
    made = []
    for group in groups(names, state.document["group"]) if form in ROUND_ROBINS else [names]:
        rows = [row(state, name, group) for name in group]
        rows.sort(
            key=lambda one: (
                *(-one[key] for key in ("points", "direct", "sonneborn", "buchholz", "wins")),
                one["missed"],
                one["ordinal"],
            )
        )
        made.append(rows)
    return made


def row(state: Tournament, name: str, group: list[str]) -> dict[str, Any]:
    mine = [one for one in state.pairings if name in one.names and not state.void(one) and one.result]
    points = points_of(state, name)
    against = [(other, own) for one in filter(played, mine) for who, other, own in games(one) if who == name]
    theirs = [points_of(state, other) for other, _ in against]
    return {
        "entrant": name,
        "points": points,
        "direct": direct(state, [one for one in group if points_of(state, one) == points], name),
        "sonneborn": sum(their * own for their, (_, own) in zip(theirs, against, strict=True)),
        "buchholz": sum(theirs) - min(theirs, default=0) if state.document["format"] == "swiss" else 0,
        "wins": sum(own == 2 for _, own in against),
        "missed": sum(one.result["missed"][one.names.index(name)] for one in mine if one.result),
        "ordinal": state.lines[name].ordinal,
    }


def direct(state: Tournament, level: list[str], name: str) -> int:
    """The points against those of the same points, if all of these have met."""
    counted = [one for one in state.pairings if played(one) and not state.void(one)]
    among = [one for pairing in counted for one in games(pairing) if {*one[:2]} <= {*level}]
    if len({(one, other) for one, other, _ in among}) < len(level) * (len(level) - 1):
        return 0
    return sum(own for one, _, own in among if one == name)
