"""Invariants of play: what a turn may do to a position, and that reports and position tell one story."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from playing import random_players

from pbem.games.spaceships import RULES
from pbem.games.spaceships.space import CELLS, mask_of
from pbem.games.spaceships.turn import first_to_report

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from pbem.games import Report

OPTIONS = random_players.PLAYERS["spaceships"].options
GAMES = st.builds(
    lambda seed, which, orders: random_players.play(
        "spaceships", Random(seed), OPTIONS[which][0], 2, 40, orders=orders
    ),
    st.integers(0, 2**32),
    st.integers(0, len(OPTIONS) - 1),
    st.sampled_from([random_players.random_orders, random_players.sensible_orders]),
)


def turns(game: random_players.Game) -> Iterator[tuple[Any, Mapping[int, str], list[Report], Any]]:
    return zip(game.states, game.orders, game.reports, game.states[1:], strict=False)


def destroyed_by(reports: Iterable[Report], seat: int) -> int:
    """The cells of a seat that reports say became destroyed."""
    lost = set()
    for report in reports:
        own, hit = report["seat"] == seat, report.get("result") == "hit"
        if report["kind"] == "kamikaze death" if own else hit:
            lost.add(report["cell"])
        if not own:
            lost.update(report.get("explosions", ()))
    return mask_of(sorted(lost))


@settings(max_examples=25, deadline=None)
@given(GAMES)
def test_cells_are_lost_just_as_reported(game: random_players.Game) -> None:
    for (
        before,
        _,
        reports,
        after,
    ) in turns(game):
        for seat in (1, 2):
            old, new = before.sides[seat - 1], after.sides[seat - 1]
            assert new.destroyed & old.destroyed == old.destroyed
            assert new.destroyed | new.setup.cells == new.setup.cells
            assert old.destroyed | destroyed_by(reports, seat) == new.destroyed
            assert after.scores[seat - 1] == (new.setup.cells & ~new.destroyed).bit_count()
            assert after.scores[seat - 1] <= before.scores[seat - 1]


@settings(max_examples=25, deadline=None)
@given(GAMES)
def test_each_ship_falls_once_with_flashcube_data_of_its_cells(game: random_players.Game) -> None:
    for seat in (1, 2):
        fallen = []
        for _, _, reports, _ in turns(game):
            for report in reports:
                if "destroyed" in report and (report["seat"] == seat) == (report["kind"] == "kamikaze death"):
                    fallen.append(report["destroyed"]["ship"])
                    assert [flash["cell"] for flash in report["flashcube"]] == report["destroyed"]["cells"]
        side = game.states[-1].sides[seat - 1]
        assert sorted(fallen) == sorted(ship.name for ship in side.setup.ships if not ship.mask & ~side.destroyed)


GROUPS = {"beam": 0, "strike": 1, "scan": 2, "kamikaze death": 3}


@settings(max_examples=25, deadline=None)
@given(GAMES)
def test_reports_stand_in_their_order(game: random_players.Game) -> None:
    for before, orders, reports, _ in turns(game):
        first = first_to_report(before.options, before.turn)
        places = [(report["seat"] != first, GROUPS[report["kind"]]) for report in reports]
        assert places == sorted(places)
        for seat, text in orders.items():
            told = [
                CELLS[report["cell"]] for report in reports if (report["seat"], report["kind"]) == (seat, "strike")
            ]
            assert told == list(RULES.order(before, seat, text).strikes)
        for report in reports:
            for cells in (report.get("explosions", []), report.get("destroyed", {}).get("cells", [])):
                assert cells == sorted(cells, key=CELLS.__getitem__)


@settings(max_examples=25, deadline=None)
@given(GAMES)
def test_the_game_ends_when_it_must(game: random_players.Game) -> None:
    assert all(state.result is None and all(state.scores) for state in game.states[:-1])
    last = game.states[-1]
    if not all(last.scores):
        assert last.result is not None
    if last.result is not None:
        high = max(last.scores)
        winners = [seat for seat in (1, 2) if last.scores[seat - 1] == high]
        assert last.result.winner == (winners[0] if len(winners) == 1 else 0)
        assert last.turn == len(game.orders)
    else:
        assert last.turn == len(game.orders) + 1


@pytest.mark.parametrize(
    ("first", "expected"), [("alternate", [1, 2, 1, 2]), ("1", [1, 1, 1, 1]), ("2", [2, 2, 2, 2])]
)
def test_who_reports_first(first: Any, expected: Any) -> None:
    options = RULES.options({"first": first}, 2)
    assert [first_to_report(options, turn) for turn in (1, 2, 3, 4)] == expected
