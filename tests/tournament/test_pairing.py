"""Who meets whom: the Berger tables as they are printed, and Monrad against all pairings there are."""

from __future__ import annotations

from itertools import combinations
from random import Random
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pbem.tournament.crosstable import berger, monrad
from verifier.tournament_state import swiss

if TYPE_CHECKING:
    import random
    from collections.abc import Callable, Collection, Iterator, Sequence

PRINTED = {
    4: """
1-4 2-3
4-3 1-2
2-4 3-1""",
    6: """
1-6 2-5 3-4
6-4 5-3 1-2
2-6 3-1 4-5
6-5 1-4 2-3
3-6 4-2 5-1""",
    8: """
1-8 2-7 3-6 4-5
8-5 6-4 7-3 1-2
2-8 3-1 4-7 5-6
8-6 7-5 1-4 2-3
3-8 4-2 5-1 6-7
8-7 1-6 2-5 3-4
4-8 5-3 6-2 7-1""",
    10: """
1-10 2-9 3-8 4-7 5-6
10-6 7-5 8-4 9-3 1-2
2-10 3-1 4-9 5-8 6-7
10-7 8-6 9-5 1-4 2-3
3-10 4-2 5-1 6-9 7-8
10-8 9-7 1-6 2-5 3-4
4-10 5-3 6-2 7-1 8-9
10-9 1-8 2-7 3-6 4-5
5-10 6-4 7-3 8-2 9-1""",
    12: """
1-12 2-11 3-10 4-9 5-8 6-7
12-7 8-6 9-5 10-4 11-3 1-2
2-12 3-1 4-11 5-10 6-9 7-8
12-8 9-7 10-6 11-5 1-4 2-3
3-12 4-2 5-1 6-11 7-10 8-9
12-9 10-8 11-7 1-6 2-5 3-4
4-12 5-3 6-2 7-1 8-11 9-10
12-10 11-9 1-8 2-7 3-6 4-5
5-12 6-4 7-3 8-2 9-1 10-11
12-11 1-10 2-9 3-8 4-7 5-6
6-12 7-5 8-4 9-3 10-2 11-1""",
}
"""The Berger tables of the FIDE Handbook, C.05, Annex 1."""


@pytest.mark.parametrize("count", PRINTED)
def test_the_tables_are_the_printed_ones(count: int) -> None:
    names = [str(number) for number in range(1, count + 1)]
    made = "".join("\n" + " ".join(f"{a}-{b}" for a, b in pairs) for pairs in berger(names))
    assert made == PRINTED[count]
    # With one player fewer, whoever would meet the last one is free.
    fewer = [[f"{a}-{b}" for a, b in pairs] for pairs in berger(names[:-1])]
    printed = [line.split() for line in PRINTED[count].strip().split("\n")]
    assert fewer == [[pair for pair in line if str(count) not in pair.split("-")] for line in printed]


def all_pairings(left: Sequence[str]) -> Iterator[list[tuple[str, str]]]:
    """All complete pairings, in lexicographic order."""
    if not left:
        yield []
        return
    first, *others = left
    for other in others:
        for rest in all_pairings([name for name in others if name != other]):
            yield [(first, other), *rest]


def rematches(pairs: Sequence[tuple[str, str]], met: Collection[frozenset[str]]) -> int:
    return sum(frozenset(pair) in met for pair in pairs)


def among(met: Collection[frozenset[str]]) -> Callable[[str, str], bool]:
    """As the second verifier is told who has met."""
    return lambda one, other: frozenset((one, other)) in met


@given(st.randoms(use_true_random=False), st.integers(1, 4), st.floats(0, 1))
@settings(max_examples=200, deadline=None)
def test_monrad_is_the_first_pairing_with_the_fewest_rematches(rng: random.Random, half: int, density: float) -> None:
    names = [f"p{number}" for number in range(2 * half)]
    met = {frozenset(pair) for pair in combinations(names, 2) if rng.random() < density}
    fewest = min(rematches(pairs, met) for pairs in all_pairings(names))
    first = next(pairs for pairs in all_pairings(names) if rematches(pairs, met) <= fewest)
    assert monrad(names, 2, met) == (first, fewest)
    assert swiss(names, 2, among(met)) == (first, fewest)


def all_seatings(left: Sequence[str], seats: int) -> Iterator[list[tuple[str, ...]]]:
    """All ways to fill tables, in lexicographic order."""
    if not left:
        yield []
        return
    first, *others = left
    for more in combinations(others, seats - 1):
        for rest in all_seatings([name for name in others if name not in more], seats):
            yield [(first, *more), *rest]


@given(st.randoms(use_true_random=False), st.sampled_from([(3, 3), (3, 6), (3, 9), (4, 8)]), st.floats(0, 1))
@settings(max_examples=100, deadline=None)
def test_tables_are_the_first_seating_with_the_fewest_rematches(
    rng: random.Random, size: tuple[int, int], density: float
) -> None:
    seats, count = size
    names = [f"p{number}" for number in range(count)]
    met = {frozenset(pair) for pair in combinations(names, 2) if rng.random() < density}

    def again(tables: Sequence[tuple[str, ...]]) -> int:
        return rematches([pair for table in tables for pair in combinations(table, 2)], met)

    seatings = list(all_seatings(names, seats))
    fewest = min(map(again, seatings))
    first = next(tables for tables in seatings if again(tables) <= fewest)
    assert monrad(names, seats, met) == (first, fewest)
    assert swiss(names, seats, among(met)) == (first, fewest)


@pytest.mark.parametrize(("seats", "count", "density"), [(7, 35, 1), (7, 28, 0.6), (4, 40, 0.7), (20, 40, 0.5)])
def test_a_long_search_ends_at_the_same_place_for_both(seats: int, count: int, density: float) -> None:
    """Where nearly all have met, nobody tries all seatings."""
    rng = Random(seats * count)
    names = [f"p{number:02}" for number in range(count)]
    met = {frozenset(pair) for pair in combinations(names, 2) if rng.random() < density}
    tables, again = monrad(names, seats, met)
    assert swiss(names, seats, among(met)) == (tables, again)
    assert sorted(name for table in tables for name in table) == names
    straight = sum(
        frozenset(pair) in met for at in range(0, count, seats) for pair in combinations(names[at : at + seats], 2)
    )
    assert again <= straight


def test_whoever_met_all_those_below_is_paired_soon() -> None:
    """Backtracking goes up from the end of the table; what cannot be paired is tried once, and not for ever."""
    names = [f"p{number:03}" for number in range(64)]
    for below, rematch in ((13, 0), (40, 1)):
        met = {frozenset((names[-1], name)) for name in names[-1 - below : -1]}
        pairs, again = monrad(names, 2, met)
        assert again == rematch
        assert swiss(names, 2, among(met)) == (pairs, again)
        partner = names[-2 if rematch else -2 - below]
        assert frozenset((names[-1], partner)) in {frozenset(pair) for pair in pairs}
