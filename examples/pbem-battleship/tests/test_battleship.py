"""The game keeps to everything that pbem relies on; and what its rules say, it does."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from pbem_battleship import RULES, ahead, line
from pbem_battleship.boards import boards, truth
from pbem_battleship.recall import view
from pbem_battleship.words import example, said, sheet_rows, summary

from pbem.games import Refused
from pbem.games.outside import enable
from pbem.testing import CHECKS, subject

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pbem_battleship import State

    from pbem.games import Report

enable(["battleship"])
GAME = subject("battleship")
FLEET = "carrier A1 A5\nbattleship C2 F2\ncruiser H4 H6\nsubmarine B8 D8\ndestroyer J9 J10"


@pytest.mark.parametrize("check", CHECKS)
def test_the_game_conforms(check: str) -> None:
    CHECKS[check](GAME)


def begun(**raw: object) -> State:
    options = RULES.options(raw, 2)
    return RULES.begin(options, [RULES.setup(options, seat, FLEET) for seat in (1, 2)])


def played(state: State, *turns: str) -> tuple[State, list[Report]]:
    """The position after turns in which each seat that is due shoots so, and the reports of the last."""
    reports: list[Report] = []
    for text in turns:
        state, reports = RULES.turn(state, {seat: RULES.order(state, seat, text) for seat in state.due})
    return state, reports


def found(call: Iterable[Any]) -> list[tuple[str, str | None, int | None]]:
    judge, *arguments = call
    with pytest.raises(Refused) as refused:
        judge(*arguments)
    return [(fault.rule, fault.token, fault.line) for fault in refused.value.faults]


# Setups.


def test_a_setup_may_be_written_in_any_order_and_direction() -> None:
    options = RULES.options({}, 2)
    text = "Destroyer j10 j9, carrier A5 A1\nsubmarine D8 B8\n\nCRUISER H4 H6 battleship\n C2 F2"
    fleet = RULES.setup(options, 1, text)
    assert fleet.text == FLEET
    assert fleet.ships["submarine"] == ("B8", "C8", "D8")
    assert RULES.setup(options, 1, example({}, 1)) == fleet


@pytest.mark.parametrize(
    ("before", "after", "faults"),
    [
        ("A5", "A4", [("2", "carrier A1 A4", 1)]),
        ("A5", "E5", [("2", "carrier A1 E5", 1)]),
        ("A5", "K5", [("2", "carrier A1 K5", 1)]),
        ("J9 J10", "F2 F3", [("3", "destroyer F2 F3", 5)]),
        ("cruiser H4 H6\n", "", [("1", None, None)]),
        ("cruiser", "carrier", [("1", "carrier H4 H6", 3)]),
        (" J10", "", [("1", "destroyer J9", 5)]),
        ("C2 F2", "C2 F3", [("2", "battleship C2 F3", 2)]),
    ],
)
def test_what_is_no_fleet_is_refused(before: str, after: str, faults: list[object]) -> None:
    assert found((RULES.setup, RULES.options({}, 2), 1, FLEET.replace(before, after))) == faults


def test_lines_are_rows_and_columns() -> None:
    assert line("B3", "B1") == ("B1", "B2", "B3")
    assert line("C10", "A10") == ("A10", "B10", "C10")
    assert line("A1", "B2") == line("A1", "A11") == ()


# Turns.


def test_players_alternate_as_a_rule() -> None:
    state, reports = played(begun(), "J9")
    assert reports == [{"seat": 1, "kind": "shot", "square": "J9", "result": "hit"}]
    state, reports = played(state, "A10")
    assert reports == [{"seat": 2, "kind": "shot", "square": "A10", "result": "miss"}]
    state, reports = played(state, "J10")
    assert reports == [{"seat": 1, "kind": "shot", "square": "J10", "result": "hit", "sunk": "destroyer"}]
    assert (state.turn, state.scores, [*state.due]) == (4, (17, 15), [2])
    assert [fault.rule for fault in ahead(state, 1, 6, "B1")] == ["4"]
    assert [fault.rule for fault in ahead(state, 1, 201, "B1")] == ["6"]


@pytest.mark.parametrize(
    ("text", "faults"),
    [
        ("A1 A2", [("4", None, None)]),
        ("K1", [("4", "K1", 1)]),
        ("\nj9", [("5", "j9", 2)]),
        ("", [("4", None, None)]),
    ],
)
def test_what_cannot_be_shot_at_is_refused(text: str, faults: list[object]) -> None:
    state, _ = played(begun(), "J9", "A1")
    assert found((RULES.order, state, 1, text)) == faults


ALL = ["A1", "A2", "A3", "A4", "A5", "C2", "D2", "E2", "F2", "H4", "H5", "H6", "B8", "C8", "D8", "J9", "J10"]


def test_both_may_sink_the_last_ship_in_one_turn() -> None:
    state, reports = played(begun(shots=9, turns="together"), " ".join(ALL[:9]), " ".join([*ALL[9:], "J1"]))
    assert state.result == ((1, 2), (0, 0), "rules")
    assert (state.turn, state.due, len(reports)) == (2, {}, 18)


def test_whoever_sinks_all_has_won_at_once() -> None:
    state, _ = played(begun(shots=9), " ".join(ALL[:9]), "B1 B2 B3 B4 B5 B6 B7 A1 J1", " ".join([*ALL[9:], "J1"]))
    assert state.result == ((1,), (16, 0), "rules")


def test_the_last_squares_are_fewer_than_the_shots() -> None:
    state = begun(shots=7)
    one, two = state.sides
    fired = frozenset(square for row in "ABCDEFGHI" for column in range(1, 11) if (square := f"{row}{column}"))
    state = state._replace(sides=(one._replace(fired=fired | {"J1", "J2", "J3", "J4"}), two))
    assert view(state, 1, [])["entitled"] == {"shots": 6}
    assert RULES.order(state, 1, "J5 J6 J7 J8 J9 J10").squares[-1] == "J10"


# Words and boards.


def test_the_boards_show_own_ships_and_what_was_called() -> None:
    state, reports = played(begun(shots=2, turns="together"), "A1 B1")
    seen = view(state, 1, [reports])
    own, other = (board.panels[0].squares for board in boards(seen))
    assert [square.text for square in own[0][:3]] == ["c!", "C", "C"]
    assert [square.text for square in other[0][:3]] == ["X!", ".", "."]
    assert [row[0].text for row in own[:2]] == ["c!", "o!"]
    assert [board.seat for board in boards(view(state, None, [reports]))] == [1, 2]
    views = {seat: view(state, seat, [reports]) for seat in (1, 2)}
    assert truth(views, 2)[1].panels[0].squares[0][1].text == "C"


def test_what_is_written_is_read_back() -> None:
    assert said(FLEET)[0] == "carrier from A1 to A5"
    assert said("A1 B2") == ["shoot at A1, B2"]
    assert summary([], 1) == "Shots: 0, hits: 0"
    assert sheet_rows([["A1 B2"]])[0] == "1. A1 B2\t2. \t3. "
    assert all(len(sheet_rows([["A1"]] * turns)) == 15 for turns in range(100))
