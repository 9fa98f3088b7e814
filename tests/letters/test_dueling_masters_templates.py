"""The Dueling Masters part of a report letter, and the letters that teach the game, against golden texts.

`test_game_letters.py` compares the letters with the golden texts. What is written
about are cases of the case book.
"""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any, cast

import pytest
from judges.game_letters import GameLetters, reads_well
from playing import random_players

from pbem.games import parts, rules
from pbem.games.dueling_masters.words import entitled, summary
from pbem.match import record

ROOT = Path(__file__).parents[2]
CASES = ROOT / "tests" / "games" / "dueling_masters" / "cases"
NAMES = {1: "Ann", 2: "Bob"}
GAME = GameLetters("dueling-masters")
call, report = GAME.call, GAME.report
JUDGE = rules("dueling-masters")


def shown(turns: Any, seat: int | None) -> list[list[dict[str, Any]]]:
    return [[found for report in reports if (found := JUDGE.show(report, seat))] for reports in turns]


def after(case: str, seat: int | None) -> str:
    replay = record.replay(record.read((CASES / f"{case}.pbem.toml").read_text(encoding="utf-8")))
    turns = shown(replay.turns, seat)
    return report(turns[-1] if turns else [], seat, parts.view(JUDGE, replay.state, seat, turns), NAMES)


def help_of(options: dict[str, Any], seat: int) -> str:
    return call("setup_help", "setup_help", options, seat) + "\n"


LETTERS = {
    "three-way-seat-1": lambda: after("17-three-way-collision", 1),
    "three-way-seat-2": lambda: after("17-three-way-collision", 2),
    "three-way-public": lambda: after("17-three-way-collision", None),
    "one-square-seat-2": lambda: after("15b-all-on-one-square", 2),
    "ram-seat-1": lambda: after("23-ram", 1),
    "pass-seat-1": lambda: after("25-pass", 1),
    "shared-squares-seat-1": lambda: after("03c-fighters-share", 1),
    "over-seat-1": lambda: after("26-both-home-planets", 1),
    "three-homes-seat-2": lambda: after("30-three-homes", 2),
    "rules": GAME.rules,
    "setup-help-1": lambda: help_of({}, 1),
    "setup-help-2": lambda: help_of({"homes": 3, "mobile_home": True}, 2),
}


@pytest.mark.parametrize("case", range(4))
@pytest.mark.parametrize("seat", [1, 2, None])
def test_any_position_and_any_name_stays_within_the_column(case: int, seat: int | None) -> None:
    raw, seats = random_players.PLAYERS["dueling-masters"].options[case]
    game = random_players.play("dueling-masters", Random(case), raw, seats)
    names = {1: "Ann", 2: "Somebody with a name of which one line has too little room " * 2}
    for number in range(1, len(game.reports), 25):
        turns = shown(game.reports[:number], seat)
        reads_well(report(turns[-1], seat, parts.view(JUDGE, game.states[number], seat, turns), names))


def test_the_opponent_is_not_told_of_a_ram_nor_where_to() -> None:
    text = after("23b-checked-before-it-rams", 2)
    assert "Ann's Z1" not in text.split("\n\n\n")[0]
    assert "Z1 left D1 (turn 3)" in text
    assert "7 *" in text
    assert "* B1" in after("23b-checked-before-it-rams", 1)


@pytest.mark.parametrize("homes", [1, 3])
@pytest.mark.parametrize("seat", [1, 2])
def test_the_example_setup_is_legal(homes: int, seat: int) -> None:
    text = help_of({"homes": homes}, seat)
    example = "\n".join(line for line in text.split("\n") if line.startswith("    "))
    assert JUDGE.setup(JUDGE.options({"homes": homes}, 2), seat, example).text


def clash(square: str, one: str, two: str, *lost: int) -> dict[str, Any]:
    pieces, destroyed = {"1": one, "2": two}, {str(seat): seat in lost for seat in (1, 2)}
    return {"kind": "collision", "square": square, "pieces": pieces, "destroyed": destroyed}


def test_one_line_says_what_came_of_a_turn() -> None:
    check = {"seat": 1, "kind": "check", "piece": "Z4", "from": "J10", "to": "J1"}
    clashes = [clash("J2", "Z4", "Y1", 1), clash("J6", "Z4", "*", 1, 2), clash("J8", "Z4", "H", 2)]
    clashes.append(clash("J9", "Z4", "*", 1, 2))
    assert summary([check, *clashes], 1, NAMES) == "You could not move Z4; you lost Z4; Bob lost H, 2 asteroids"
    assert summary([check, *clashes[:2]], 2, NAMES) == "Ann could not move Z4; Ann lost Z4; you lost an asteroid"
    moved = {"seat": 2, "kind": "departure", "piece": "X1", "square": "G2"}
    assert summary([check | {"seat": 2}, moved], 2, NAMES) == "You moved X1 from G2"
    assert summary([moved], None, NAMES) == "Bob moved X1 from G2"
    assert summary([{"seat": 1, "kind": "pass"}], 1, NAMES) == "You had no legal move"
    assert summary([], 1, NAMES) == "Nothing happened"


def test_the_example_rams_an_asteroid_only_if_it_must() -> None:
    ram: dict[str, Any] = {"piece": "W", "square": "A1", "to": [], "rams": ["B3"]}
    queen: dict[str, Any] = {"piece": "B", "square": "A2", "to": ["A3"], "rams": []}
    for able, example in (([ram, queen], "B A2-A3"), ([ram], "W A1-B3"), ([], "")):
        assert entitled(cast("Any", {"entitled": able})).example == example
