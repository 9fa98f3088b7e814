"""What holds in every position, whatever is ordered, and what readers are told of it."""

from __future__ import annotations

import json
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from playing import random_players

from pbem.games.shoot_em_up import RULES
from pbem.games.shoot_em_up.board import LETTERS, board
from pbem.games.shoot_em_up.knowledge import SHOWN

CASES = len(random_players.PLAYERS["shoot-em-up"].options)


def played(case: int, seed: int) -> random_players.Game:
    raw, seats = random_players.PLAYERS["shoot-em-up"].options[case]
    return random_players.play("shoot-em-up", Random(seed), raw, seats)


@given(st.integers(0, CASES - 1), st.integers(0, 2**32))
def test_invariants_of_a_game(case: int, seed: int) -> None:
    game = played(case, seed)
    for before, after, reports in zip(game.states, game.states[1:], game.reports, strict=False):
        squares = [ship.square for ship in after.ships]
        assert len(set(squares)) == len(squares)
        assert {ship.letter for ship in after.ships} <= {ship.letter for ship in before.ships}
        assert list(before.due) == [seat for seat, score in enumerate(before.scores, start=1) if score]
        states = [report for report in reports if report["kind"] == "state"]
        assert [report["action"] for report in states] == [1, 2, 3][: len(states)]
        assert len(states) == 3 or after.result is not None
        assert list(states[-1]["ships"]) == [LETTERS[ship.letter] for ship in after.ships]
        if len(states) == 3:
            assert not any(ship.shields for ship in after.ships)
        lost = {LETTERS[ship.letter] for ship in before.ships} - set(states[-1]["ships"])
        deaths = [report["ship"] for report in reports if report["kind"] == "hit" and report["destroyed"]]
        assert sorted(deaths) == sorted(lost)
        for report in reports:
            if report["kind"] == "hit":
                assert report["by"] == sorted(report["by"])
                assert report["ship"] not in report["by"]
                assert not (report["destroyed"] and report["shields"])


@given(st.integers(0, CASES - 1), st.integers(0, 2**32), st.randoms(use_true_random=False))
def test_a_turn_does_not_depend_on_the_order_of_seats(case: int, seed: int, shuffler: Any) -> None:
    game = played(case, seed)
    for state, texts, reports in zip(game.states, game.orders, game.reports, strict=False):
        seats = list(texts)
        shuffler.shuffle(seats)
        orders = {seat: RULES.order(state, seat, texts[seat]) for seat in seats}
        assert RULES.turn(state, orders)[1] == reports


@pytest.mark.parametrize(("columns", "rows"), [(5, 5), (9, 9), (5, 26), (26, 5), (26, 26)])
def test_tables(columns: int, rows: int) -> None:
    tables = board(columns, rows)
    assert board(columns, rows) is tables
    assert len(tables.names) == len(set(tables.names)) == columns * rows
    assert tables.names[0] == "a1"
    for facing in range(4):
        for square, ahead in enumerate(tables.ahead[facing]):
            assert ahead == -1 or tables.ahead[(facing + 2) & 3][ahead] == square
        assert tables.ahead[facing].count(-1) == (columns if facing in (0, 2) else rows)
    assert [len(home) for home in tables.homes] == [columns - 2, columns - 2, rows - 2, rows - 2]
    assert len(frozenset().union(*tables.homes)) == 2 * (columns + rows) - 8


# What is told.


def test_every_kind_of_report_is_listed_and_nothing_else_passes() -> None:
    game = played(1, 5)
    kinds = set()
    for report in (report for reports in game.reports for report in reports):
        kinds.add(report["kind"])
        assert tuple(report) == tuple(SHOWN[report["kind"]])
        for seat in (None, 1, 2, 3, 4):
            assert RULES.show(report, seat) == report
            assert RULES.show(report | {"secret": 1}, seat) == report
        assert RULES.show(report, 5) is None
    assert kinds == set(SHOWN)
    assert RULES.show({"kind": "plan", "ship": "A"}, 1) is None
    assert RULES.show({}, None) is None


def test_a_view_before_and_after_a_turn() -> None:
    options = RULES.options({"board": "5x5"}, 2)
    setups = ("A b1 E\nB c1 W\nC d1 N", "D b5 S\nE c5 S\nF d5 S")
    state = RULES.begin(options, [RULES.setup(options, seat, text) for seat, text in enumerate(setups, start=1)])
    view = RULES.view(state, 1, [])
    assert list(view) == [
        "turn",
        "over",
        "max_turns",
        "scores",
        "board",
        "seat",
        "ships",
        "destroyed",
        "last",
        "entitled",
    ]
    assert view["ships"][3] == {"ship": "D", "seat": 2, "square": "b5", "facing": "S", "shields": 0}
    assert (view["board"], view["max_turns"]) == ({"columns": 5, "rows": 5}, 200)
    assert (view["last"], view["destroyed"], view["entitled"]) == (None, [], ["A", "B", "C"])
    texts = {1: "A: SSS\nB: LLL\nC: LFL", 2: "D: LLL\nE: LLL\nF: MMM"}
    state, reports = RULES.turn(state, {seat: RULES.order(state, seat, text) for seat, text in texts.items()})
    view = RULES.view(state, 1, [reports])
    assert view["last"] == {
        "turn": 1,
        "orders": {"A": "SSS", "B": "LLL", "C": "LFL", "D": "LLL", "E": "LLL", "F": "MMM"},
    }
    assert view["destroyed"] == [{"ship": "B", "seat": 1, "turn": 1, "action": 2, "where": "c1", "by": ["C"]}]
    assert (view["turn"], view["scores"], view["entitled"]) == (2, [2, 3], ["A", "C"])


@given(st.integers(0, CASES - 1), st.integers(0, 2**32))
def test_all_readers_are_told_the_same_but_for_what_is_theirs(case: int, seed: int) -> None:
    game = played(case, seed)
    state = game.states[len(game.states) // 2]
    shown = game.reports[: state.turn - 1]
    views = [RULES.view(state, seat, shown) for seat in (None, *range(1, game.options.seats + 1))]
    assert json.loads(json.dumps(views)) == views
    assert len({json.dumps(view | {"seat": None, "entitled": None}) for view in views}) == 1
    assert views[0]["entitled"] is None
    living = [ship["ship"] for ship in views[0]["ships"]]
    if state.result is None:
        assert [ship for view in views[1:] for ship in view["entitled"] or []] == living
