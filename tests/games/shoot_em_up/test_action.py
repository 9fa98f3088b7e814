"""Invariants of every position, whatever is ordered, and of the reports to each reader."""

from __future__ import annotations

import json
from random import Random
from typing import TYPE_CHECKING

from hypothesis import given
from hypothesis import strategies as st
from playing import random_players

from pbem.games.shoot_em_up import RULES, knowledge

if TYPE_CHECKING:
    from pbem.testing import PlayedGame

CASES = len(random_players.PLAYERS["shoot-em-up"].options)


def played(case: int, seed: int) -> PlayedGame:
    raw, seats = random_players.PLAYERS["shoot-em-up"].options[case]
    return random_players.play("shoot-em-up", Random(seed), raw, seats)


# What is told.


def test_a_view_before_and_after_a_turn() -> None:
    options = RULES.options({"board": "5x5"}, 2)
    setups = ("A b1 E\nB c1 W\nC d1 N", "D b5 S\nE c5 S\nF d5 S")
    state = RULES.begin(options, [RULES.setup(options, seat, text) for seat, text in enumerate(setups, start=1)])
    view = knowledge.view(state, 1, [])
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
    view = knowledge.view(state, 1, [reports])
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
    views = [knowledge.view(state, seat, shown) for seat in (None, *range(1, game.options.seats + 1))]
    assert json.loads(json.dumps(views)) == views
    assert len({json.dumps(view | {"seat": None, "entitled": None}) for view in views}) == 1
    assert views[0]["entitled"] is None
    living = [ship["ship"] for ship in views[0]["ships"]]
    if state.result is None:
        assert [ship for view in views[1:] for ship in view["entitled"] or []] == living
