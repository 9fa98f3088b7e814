"""The table of a tournament: points, and tie-breaks in whole numbers. It does not depend on the order of results.

Implements docs/bundle.md, 12.7.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from itertools import combinations
from typing import TYPE_CHECKING

import msgspec

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
