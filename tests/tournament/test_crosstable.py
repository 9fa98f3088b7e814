"""The table: points and tie-breaks by hand, the same whatever comes first, and whoever is called what."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st
from in_a_box.club import LOST, WON, Club, names

from pbem.tournament.crosstable import TableRow, table, teams

if TYPE_CHECKING:
    import random
    from collections.abc import Mapping


def played(club: Club, results: Mapping[tuple[str, str], str]) -> dict[str, TableRow]:
    """The rows of a table with these results."""
    for (one, other), letters in results.items():
        own = [pairing for pairing in club.awaited if {*pairing.names} == {one, other}]
        assert len(own) >= len(letters)
        for pairing, letter in zip(own, letters, strict=False):
            won, lost = (1, 2) if pairing.names[0] == one else (2, 1)
            club.over(pairing.match, {"1": won, "0": lost, "=": 0}[letter])
    return {row.entrant: row for row in table(club.state)[0]}


def started(lines: str, *players: str) -> Club:
    club = Club(lines, names=players)
    club.start()
    return club


class TestByHand:
    def test_a_published_table(self) -> None:
        """https://senseis.xmp.net/?SonnebornBerger: A 11, B 9, C 6, D 4; here four times that, as all is whole."""
        club = started("format: double round robin", "a", "b", "c", "d")
        rows = played(
            club,
            {
                ("a", "b"): "10",
                ("a", "c"): "11",
                ("a", "d"): "10",
                ("b", "c"): "10",
                ("b", "d"): "11",
                ("c", "d"): "11",
            },
        )
        assert [rows[name].points for name in "abcd"] == [8, 8, 6, 2]
        assert [rows[name].sonneborn for name in "abcd"] == [44, 36, 24, 16]
        assert [rows[name].wins for name in "abcd"] == [4, 4, 3, 1]
        assert rows["a"].direct == rows["b"].direct == 2  # one win each
        assert [row.entrant for row in table(club.state)[0]] == ["a", "b", "c", "d"]

    def test_direct_encounter_goes_before_sonneborn_berger(self) -> None:
        """B has beaten A; A has the better opponents' points."""
        club = started("", "a", "b", "c", "d")
        rows = played(
            club,
            {("a", "b"): "0", ("a", "c"): "1", ("a", "d"): "1", ("b", "c"): "0", ("b", "d"): "1", ("c", "d"): "0"},
        )
        # A 4, B 4, C 2, D 2: A beat C and D (2 + 2), B beat A and D (4 + 2).
        assert {name: rows[name].points for name in "abcd"} == {"a": 4, "b": 4, "c": 2, "d": 2}
        assert (rows["a"].direct, rows["b"].direct) == (0, 2)
        assert (rows["a"].sonneborn, rows["b"].sonneborn) == (8, 12)
        assert (rows["c"].direct, rows["d"].direct) == (0, 2)
        assert [row.entrant for row in table(club.state)[0]] == ["b", "a", "d", "c"]

    def test_a_ring_of_three_is_left_to_the_lot(self) -> None:
        club = started("", "a", "b", "c")
        rows = played(club, {("a", "b"): "1", ("b", "c"): "1", ("a", "c"): "0"})
        assert len({msgspec.structs.astuple(row)[1:7] for row in rows.values()}) == 1
        assert [row.ordinal for row in table(club.state)[0]] == [1, 2, 3]

    def test_what_was_not_played_counts_for_points_alone(self) -> None:
        club = started("", "a", "b", "c")
        for pairing in club.awaited:
            seat = pairing.names.index("a") + 1 if "a" in pairing.names else 0
            club.over(pairing.match, seat, reason="forfeit" if seat else "abandoned", turns=0)
        rows = {row.entrant: row for row in table(club.state)[0]}
        assert (rows["a"].points, rows["a"].wins, rows["a"].sonneborn) == (4, 0, 0)
        assert rows["b"].points == rows["c"].points == 0

    def test_fewer_missed_deadlines_go_before_the_lot(self) -> None:
        club = started("", "a", "b", "c")
        for pairing in club.awaited:
            seats = [seat for seat, name in enumerate(pairing.names, start=1) if name == "b"]
            club.over(pairing.match, 0, missed=seats)
        rows = table(club.state)[0]
        assert [row.missed for row in rows] == [0, 0, 2]
        assert rows[-1].entrant == "b"

    def test_teams_are_sums(self) -> None:
        club = Club()
        club.enter("a", "b", team="red")
        club.enter("c", "d", team="blue")
        club.enter("e")
        club.start()
        for pairing in club.awaited:
            club.over(pairing.match, 1 + (pairing.names[0] in "cde" and pairing.names[1] in "ab"))
        rows = table(club.state)[0]
        points = {row.entrant: row.points for row in rows}
        assert {team: points for team, points, _ in teams(club.state, rows)} == {
            "red": points["a"] + points["b"],
            "blue": points["c"] + points["d"],
        }
        assert teams(club.state, rows)[0][0] == "red"


def scored_at_random(club: Club, rng: random.Random) -> list[tuple[str, int, str, int]]:
    return [
        (
            pairing.match,
            winner := rng.choice((0, WON, LOST)),
            "agreement" if not winner else "rules",
            rng.randrange(3),
        )
        for pairing in club.awaited
    ]


@given(st.randoms(use_true_random=False), st.integers(3, 9), st.sampled_from(["round robin", "double round robin"]))
@settings(max_examples=60, deadline=None)
def test_the_table_does_not_depend_on_the_order_of_results(rng: random.Random, count: int, form: str) -> None:
    club = started(f"format: {form}", *names(count))
    results = scored_at_random(club, rng)
    begun, tables = club.state, []
    for _ in range(3):
        rng.shuffle(results)
        club.state = begun
        for match, winner, reason, turns in results:
            club.over(match, winner, reason=reason, turns=turns)
        assert club.state.phase == "ended"
        tables.append(table(club.state))
    assert tables[0] == tables[1] == tables[2]


@given(st.randoms(use_true_random=False), st.integers(3, 8))
@settings(max_examples=60, deadline=None)
def test_other_names_in_the_same_places_have_the_same_table(rng: random.Random, count: int) -> None:
    """Nothing but the lot depends on a name."""
    one = started("", *names(count))
    drawn = [name for group in one.state.groups for name in group]
    # Others, whose lot is called by the same ordinals.
    other = started("", *(f"other-{number}" for number in range(count)))
    called = dict(zip(drawn, (name for group in other.state.groups for name in group), strict=True))
    for match, winner, reason, turns in scored_at_random(one, rng):
        pairing = one.state.pairing_of(match)
        assert pairing is not None
        twin = next(each for each in other.state.pairings if each.names == tuple(map(called.get, pairing.names)))
        one.over(match, winner, reason=reason, turns=turns)
        other.over(twin.match, winner, reason=reason, turns=turns)
    renamed = [msgspec.structs.replace(row, entrant=called[row.entrant]) for row in table(one.state)[0]]
    assert renamed == table(other.state)[0]
