"""The table of a tournament, the lot, and the pairs of a round, which follow from them.

The lot follows from what is fixed before anybody can know it: the server commits to a secret when it announces the
tournament, and reveals it at the start. The signed words of each entry are hashed with it, and bind the server, which
knows its secret. Round robins go by the Berger tables, Swiss rounds by Monrad with backtracking: a proof needs rules
that never change, and that fit on a page, so there is no pairing library, and no balance of colours, which hardly
matter in these games. The table does not depend on the order of results. Implements docs/bundle.md, 12.5 to 12.7.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from itertools import combinations
from typing import TYPE_CHECKING

import msgspec

from pbem.match.transcript import sha256_hex
from pbem.tournament.tournament_entries import DRAW, LOSS, WIN
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
    missed: int
    """Missed deadlines."""
    ordinal: int
    """The place in the lot."""

    @property
    def rank(self) -> tuple[int, ...]:
        """The key by which rows are sorted, the best first."""
        return (*(-value for value in msgspec.structs.astuple(self)[1:6]), self.missed, self.ordinal)


class ScoredPairing(msgspec.Struct, frozen=True):
    """The points of the two lines of a pairing; `played` if it counts in tie-breaks."""

    pairing: Pairing
    points: tuple[int, int]
    played: bool


def scored(tournament: Tournament) -> Iterator[ScoredPairing]:
    """The pairings that count so far."""
    for pairing in tournament.pairings:
        if tournament.is_void(pairing):
            continue
        if pairing.result is not None:
            yield ScoredPairing(pairing, pairing.result.points, pairing.result.played)
        elif tournament.is_forfeited(pairing):  # whoever is still there has won
            first, second = (LOSS if tournament.entrants[name].out else WIN for name in pairing.names)
            yield ScoredPairing(pairing, (first, second), False)


def points_of(tournament: Tournament, counted: Iterable[ScoredPairing]) -> Counter[str]:
    """The points of each line; a bye counts as a win."""
    points = Counter(dict.fromkeys(tournament.entrants, 0))
    for name in tournament.byes:
        points[name] += WIN
    for each in counted:
        for name, own in zip(each.pairing.names, each.points, strict=True):
            points[name] += own
    return points


def points_for_pairing(tournament: Tournament) -> Counter[str]:
    """The points by which a Swiss round is paired: games that are not over count as draws, for this alone."""
    points = points_of(tournament, scored(tournament))
    for pairing in tournament.awaited:
        for name in pairing.names:
            points[name] += DRAW
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
                played[name].append((each.pairing.names[1 - seat], each.points[seat]))
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
"""The search for a pairing ends when it has found so many lists of lines without one: results that a server made up
could make it take for ever. In honest tournaments there were no more than twenty."""


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


def monrad(ranked: Sequence[str], met: Collection[frozenset[str]]) -> tuple[list[tuple[str, str]], int]:
    """The pairs of a Swiss round, and the number of pairs that meet again; `ranked` is an even number of names.

    The highest without a partner meets the next below whom it has not met; if the rest cannot be paired then, the
    next one. So this is the first complete pairing in lexicographic order; and if there is none, or the search for it
    takes too long, the first one with a single rematch, then with two, and so on.
    """
    for rematches in range(len(ranked) // 2 + 1):
        pairs = _first_pairing(tuple(ranked), met, rematches, set())
        if pairs is not None:
            return pairs, rematches
    raise AssertionError("with enough rematches, everybody can be paired")


def _first_pairing(
    left: tuple[str, ...], met: Collection[frozenset[str]], rematches: int, dead: set[tuple[tuple[str, ...], int]]
) -> list[tuple[str, str]] | None:
    """The first complete pairing with at most this many rematches; `dead` has what was found not to have one."""
    if not left:
        return []
    if (left, rematches) in dead:
        return None
    first, *others = left
    for at, other in enumerate(others):
        still = rematches - (frozenset((first, other)) in met)
        if still < 0:
            continue
        if len(dead) >= MOST:
            return None
        rest = _first_pairing((*others[:at], *others[at + 1 :]), met, still, dead)
        if rest is not None:
            return [(first, other), *rest]
    dead.add((left, rematches))
    return None
