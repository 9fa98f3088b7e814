"""The table of a tournament, the lot, and the tables of a round, which follow from them.

The lot follows from what is fixed before anybody can know it: the server commits to a secret when it announces the
tournament, and reveals it at the start. The signed words of each entry are hashed with it, and bind the server, which
knows its secret. Round robins go by the Berger tables, Swiss rounds by Monrad with backtracking: a proof needs rules
that never change, and that fit on a page, so there is no pairing library, and no balance of colours, which hardly
matter in these games. The table does not depend on the order of results. Implements docs/bundle.md, 12.5 to 12.7.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from itertools import combinations
from math import comb
from typing import TYPE_CHECKING

import msgspec

from pbem.match.transcript import sha256_hex
from pbem.tournament.tournament_entries import DRAW, LOSS, WIN, Meetings
from pbem.tournament.tournament_terms import LADDER, SWISS

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from pbem.tournament.tournament_state import Pairing, Tournament


class TableRow(msgspec.Struct, frozen=True):
    """A line of the table; a higher number is better, but for `missed` and `ordinal`."""

    entrant: str
    points: int
    direct: int
    """Points against those with as many points, if all of these have met."""
    sonneborn: int
    """Sonneborn-Berger: the points of each opponent, times the points against that opponent (2, 1 or 0)."""
    buchholz: int
    """Buchholz cut 1: the points of the opponents, but for the least; 0 unless the tournament is Swiss."""
    wins: int
    """The opponents below, of all matches."""
    missed: int
    """Missed deadlines."""
    ordinal: int
    """The place in the lot."""

    @property
    def rank(self) -> tuple[int, ...]:
        """The key by which rows are sorted, the best first."""
        return (*(-value for value in msgspec.structs.astuple(self)[1:6]), self.missed, self.ordinal)


class ScoredPairing(msgspec.Struct, frozen=True):
    """The points of the lines of a pairing, each against each; `played` if it counts in tie-breaks."""

    pairing: Pairing
    meetings: Meetings
    played: bool

    @property
    def points(self) -> tuple[int, ...]:
        """The points of each line."""
        return tuple(map(sum, self.meetings))


def scored(tournament: Tournament) -> Iterator[ScoredPairing]:
    """The pairings that count so far."""
    for pairing in tournament.pairings:
        if tournament.is_void(pairing):
            continue
        if pairing.result is not None:
            yield ScoredPairing(pairing, pairing.result.meetings, pairing.result.played)
        elif tournament.is_forfeited(pairing):  # whoever is still there has won
            out = [bool(tournament.entrants[name].out) for name in pairing.names]
            meetings = tuple(tuple(WIN if other and not own else LOSS for other in out) for own in out)
            yield ScoredPairing(pairing, meetings, False)


def points_of(tournament: Tournament, counted: Iterable[ScoredPairing]) -> Counter[str]:
    """The points of each line; a bye counts as a win against all seats of a match."""
    points = Counter(dict.fromkeys(tournament.entrants, 0))
    for name in tournament.byes:
        points[name] += WIN * (tournament.terms.seats - 1)
    for each in counted:
        for name, own in zip(each.pairing.names, each.points, strict=True):
            points[name] += own
    return points


def points_for_pairing(tournament: Tournament) -> Counter[str]:
    """The points by which a Swiss round is paired: games that are not over count as draws, for this alone."""
    points = points_of(tournament, scored(tournament))
    for pairing in tournament.awaited:
        for name in pairing.names:
            points[name] += DRAW * (len(pairing.names) - 1)
    return points


def table(tournament: Tournament) -> list[list[TableRow]]:
    """The rows of each group, the best first; of a ladder, the highest first."""
    counted = list(scored(tournament))
    points = points_of(tournament, counted)
    played: defaultdict[str, list[tuple[str, int]]] = defaultdict(list)
    missed: Counter[str] = Counter()
    for each in counted:
        for seat, name in enumerate(each.pairing.names):
            if each.played:
                met = zip(each.pairing.names, each.meetings[seat], strict=True)
                played[name] += [(other, own) for other, own in met if other != name]
            if each.pairing.result is not None:
                missed[name] += each.pairing.result.missed[seat]
    rows = {}
    for group in tournament.groups:
        for name in group:
            against = [points[other] for other, _ in played[name]]
            rows[name] = TableRow(
                name,
                points[name],
                _direct(name, group, points, played),
                sum(points[other] * own for other, own in played[name]),
                sum(sorted(against)[1:]) if tournament.terms.format == SWISS else 0,
                sum(own == WIN for _, own in played[name]),
                missed[name],
                tournament.entrants[name].ordinal,
            )
    if tournament.terms.format == LADDER:
        return [[rows[name] for name in tournament.ladder]]
    return [sorted((rows[name] for name in group), key=lambda row: row.rank) for group in tournament.groups]


def _direct(
    name: str, group: Sequence[str], points: Mapping[str, int], played: Mapping[str, list[tuple[str, int]]]
) -> int:
    """The points against those with as many, if all of them met."""
    tied = [other for other in group if points[other] == points[name]]
    met = {frozenset((one, other)) for one in tied for other, _ in played[one]}
    if any(frozenset(pair) not in met for pair in combinations(tied, 2)):
        return 0
    return sum(own for other, own in played[name] if other in tied)


def teams(tournament: Tournament, rows: Collection[TableRow]) -> list[tuple[str, int, int]]:
    """The teams of these rows, each with the points and the wins of its lines, the best first.

    If both are equal, the team that has the line drawn first is above.
    """
    lines: defaultdict[str, list[TableRow]] = defaultdict(list)
    for row in rows:
        if (team := tournament.entrants[row.entrant].team) is not None:
            lines[team].append(row)
    sums = [
        (-sum(row.points for row in own), -sum(row.wins for row in own), min(row.ordinal for row in own), team)
        for team, own in lines.items()
    ]
    return [(team, -points, -wins) for points, wins, _, team in sorted(sums)]


MOST = 1000
"""The search for a seating ends when so many beginnings, divided by the pairs of a table, were found without one.

Results that a server made up could make it take for ever. In honest tournaments of pairs, there were no more than
twenty.
"""


def drawn(rules: str, secret: str, entries: Mapping[str, str]) -> list[str]:
    """The entrants in the order of the lot: by the hash of the terms, and that of the words of each one's entry."""
    lines = ["pbem lot 1", rules, secret, *(f"{name} {entries[name]}" for name in sorted(entries))]
    seed = sha256_hex("".join(f"{line}\n" for line in lines).encode())
    return sorted(entries, key=lambda name: sha256_hex(f"{seed} {name}\n".encode()))


def berger(names: Sequence[str]) -> Iterator[list[tuple[str, str]]]:
    """The rounds of a single round robin, each with its pairs in the order of the boards; the first has seat 1.

    With an odd number, whoever would meet the missing last one has a free round.
    """
    last = len(names) + len(names) % 2
    for number in range(last - 1):
        shift = number * last // 2

        def turned(place: int, shift: int = shift) -> int:
            return (place - 1 + shift) % (last - 1) + 1

        top = (turned(1), last) if number % 2 == 0 else (last, turned(1))
        pairs = [top, *((turned(place), turned(last + 1 - place)) for place in range(2, last // 2 + 1))]
        yield [(names[a - 1], names[b - 1]) for a, b in pairs if max(a, b) <= len(names)]


def round_robin(groups: Sequence[Sequence[str]], *, double: bool) -> Iterator[tuple[int, int, tuple[str, str]]]:
    """All pairs of all groups by round, each with its round and board; boards are numbered through the groups."""
    tables = [list(berger(names)) for names in groups]
    if double:
        tables = [[*table, *([(b, a) for a, b in pairs] for pairs in table)] for table in tables]
    for number in range(max(map(len, tables))):
        pairs = [pair for table in tables if number < len(table) for pair in table[number]]
        for board, pair in enumerate(pairs, start=1):
            yield number + 1, board, pair


def monrad(ranked: Sequence[str], seats: int, met: Collection[frozenset[str]]) -> tuple[list[tuple[str, ...]], int]:
    """The tables of a Swiss round, and the number of pairs that meet again; `ranked` fills them all.

    The highest without a table opens one; the next below whom nobody at it has met joins, and so on below that one.
    If the rest cannot be seated then, the next one joins instead. So this is the first complete seating in
    lexicographic order; and if there is none, or the search for it takes too long, the first one in which a single
    pair meets again, then two, and so on.
    """
    for rematches in range(len(ranked) * (seats - 1) // 2 + 1):
        tables = _Seating(seats, met, set()).first((ranked[0],), tuple(ranked[1:]), 0, rematches)
        if tables is not None:
            return tables, rematches
    raise AssertionError("with enough rematches, everybody can be seated")


class _Seating(msgspec.Struct):
    """The search for a seating; `dead` has the tables, and those left for others, from which none was found."""

    seats: int
    met: Collection[frozenset[str]]
    dead: set[tuple[tuple[str, ...], tuple[str, ...], int]]

    def first(
        self, table: tuple[str, ...], left: tuple[str, ...], below: int, rematches: int
    ) -> list[tuple[str, ...]] | None:
        """The first complete seating with at most this many rematches; those left may join from number `below` on."""
        wanted = self.seats - len(table)
        if not wanted:
            rest = self.first((left[0],), left[1:], 0, rematches) if left else []
            return None if rest is None else [table, *rest]
        if (table, left, rematches) in self.dead:
            return None
        for at in range(below, len(left) - wanted + 1):
            still = rematches - sum(frozenset((left[at], other)) in self.met for other in table)
            if still < 0:
                continue
            if len(self.dead) >= MOST // comb(self.seats, 2):
                return None
            tables = self.first((*table, left[at]), (*left[:at], *left[at + 1 :]), at, still)
            if tables is not None:
                return tables
        self.dead.add((table, left, rematches))
        return None
