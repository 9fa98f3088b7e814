"""The knowledge of each seat and of the public: `show` and `view` depend on no secret."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import pytest
from playing import random_players

from pbem.games import Report, parts, rules
from pbem.match import record

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pbem.testing import PlayedGame

CASES = Path(__file__).parent / "cases"
JUDGE = rules("dueling-masters")
MANY = [(case, seed) for case in range(len(random_players.PLAYERS["dueling-masters"].options)) for seed in range(3)]


def played(case: int, seed: int) -> PlayedGame:
    raw, seats = random_players.PLAYERS["dueling-masters"].options[case]
    return random_players.play("dueling-masters", Random(seed), raw, seats)


def shown(turns: Sequence[Sequence[Report]], seat: int | None) -> list[list[Report]]:
    return [[found for report in reports if (found := JUDGE.show(report, seat))] for reports in turns]


def case_view(name: str, seat: int | None, last: int | None = None) -> Any:
    replay = record.replay(record.read((CASES / f"{name}.pbem.toml").read_text(encoding="utf-8")))
    return parts.view(JUDGE, replay.state, seat, shown(replay.turns[:last], seat))


@pytest.mark.parametrize(("case", "seed"), MANY)
def test_what_a_picture_says_of_the_other_side_is_true(case: int, seed: int) -> None:
    game = played(case, seed)
    for turn in range(1 + seed, len(game.reports) + 1, 3):
        state = game.states[turn]
        for seat in (1, 2, None):
            view: Any = parts.view(JUDGE, state, seat, shown(game.reports[:turn], seat))
            for other, known in view["known"].items():
                side = state.sides[int(other) - 1]
                true: Any = parts.view(JUDGE, state, int(other), [])["own"]
                standing = {piece["piece"]: piece for piece in true["pieces"]}
                for piece in known["pieces"]:
                    found = standing.get(piece["piece"])
                    if piece["state"] == "resting":
                        assert found is not None
                        assert found["square"] == piece["square"]
                        assert found["from"] is None
                    elif piece["state"] == "destroyed":
                        assert found is None
                    else:  # it may have rammed, or have ended the game
                        assert found is None or found["from"] == piece["square"] or state.result
                assert set(known["asteroids_destroyed"]) <= set(true["asteroids_destroyed"])
                assert known["asteroids"] >= side.asteroids.bit_count()
                now = {square for square, when in known["empty"].items() if when == turn}
                at_start = game.states[turn - 1].sides[int(other) - 1]
                before: Any = parts.view(JUDGE, game.states[turn - 1], int(other), [])["own"]
                assert at_start.asteroids.bit_count() == len(before["asteroids"])
                assert not now & {*before["asteroids"], *(piece["square"] for piece in before["pieces"])}


def test_a_survivor_met_on_the_way_rests_where_it_was_met() -> None:
    view = case_view("21-survivors-rest", 1, last=5)
    piece = next(piece for piece in view["known"]["2"]["pieces"] if piece["piece"] == "X2")
    assert piece == {"piece": "X2", "state": "resting", "square": "F7", "turn": 5}
    assert next(p for p in case_view("21-survivors-rest", None, last=5)["known"]["2"]["pieces"]) == piece


def test_a_ram_shows_as_a_departure() -> None:
    view = case_view("23-ram", 2)
    known = view["known"]["1"]
    assert {"piece": "X2", "state": "in transit", "square": "A7", "turn": 1} in known["pieces"]
    assert known["asteroids"] == 7
    assert known["empty"]["B7"] == 4
    own = case_view("23-ram", 1)["own"]
    assert (own["destroyed"], own["asteroids_destroyed"]) == (["X2"], ["B7"])


def test_what_was_destroyed_by_one_and_survived_another_is_destroyed() -> None:
    pieces = case_view("15b-all-on-one-square", 2)["known"]["1"]["pieces"]
    assert [piece["state"] for piece in pieces] == ["destroyed"]
