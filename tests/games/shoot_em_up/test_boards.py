"""Marks of new things on boards: the squares and ships hit in the last turn, or in an action of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from pbem.games.shoot_em_up.boards import blank, boards, happened, marked
from pbem.games.squares import PLAIN, Square

if TYPE_CHECKING:
    from pbem.games.squares import Panel


def hit(action: int, ship: str, where: str, *, destroyed: bool) -> dict[str, Any]:
    return {"action": action, "kind": "hit", "ship": ship, "where": where, "by": ["G"], "destroyed": destroyed}


def state(action: int, **ships: str) -> dict[str, Any]:
    return {"action": action, "kind": "state", "ships": ships}


def placed(panel: Panel) -> dict[str, Square]:
    """The squares on which there is anything."""
    return {
        column + row: square
        for row, squares in zip(panel.rows, panel.squares, strict=True)
        for column, square in zip(panel.columns, squares, strict=True)
        if square != PLAIN
    }


def test_each_action_marks_its_own_hits() -> None:
    """Also those on a side between two squares, which a text shows only by the ships that are left."""
    board = happened(
        [
            hit(1, "A", "c3", destroyed=True),
            hit(1, "D", "d2", destroyed=False),
            state(1, D="d2 N 1", G="b1 E 0"),
            state(2, D="d3 N 1", G="c1 E 0"),
            hit(3, "D", "d3/d4", destroyed=True),
            state(3, G="c1 S 0"),
        ]
    )
    assert board.seat == 0
    assert [panel.name for panel in board.panels] == ["1", "2", "3"]
    assert {(panel.columns, tuple(panel.rows)) for panel in board.panels} == {("bcd", ("4", "3", "2", "1"))}
    one, two, three = map(placed, board.panels)
    assert one == {
        "c3": Square("*", "hit", fresh=True, brief="*"),
        "d2": Square("D^1", "seat 2", fresh=True, brief="D^"),
        "b1": Square("G>", "seat 3", brief="G>"),
    }
    assert two == {"d3": Square("D^1", "seat 2", brief="D^"), "c1": Square("G>", "seat 3", brief="G>")}
    assert three == {
        **dict.fromkeys(("d3", "d4"), Square("*", "hit", fresh=True, brief=".")),
        "c1": Square("Gv", "seat 3", brief="Gv"),
    }


@pytest.mark.parametrize("last", [None, 3, 4])
def test_the_board_marks_what_the_last_turn_destroyed(last: int | None) -> None:
    view: Any = {
        "destroyed": [{"ship": ship, "turn": turn, "where": where} for ship, turn, where in LOST],
        "last": last and {"turn": last, "orders": {}},
        "ships": [{"ship": "G", "square": "e5", "facing": "N"}],
        "board": {"columns": 5, "rows": 5},
    }
    (board,) = boards(view)
    (panel,) = board.panels
    assert (board.seat, panel.name) == (0, "")
    assert placed(panel) == {
        "e5": Square("G^", "seat 3"),
        **{where[:2]: Square("*", "hit", fresh=True, brief=".") for _, turn, where in LOST if turn == last},
    }


def test_boards_without_a_game() -> None:
    """A record sheet's, and one with marks of the squares where something may stand."""
    (sheet,) = blank()
    board = marked((5, 6), {"a1": "o", "e6": "A"})
    assert sheet.seat == 0
    assert [(panel.name, panel.columns, panel.rows) for panel in sheet.panels] == [
        ("", "abcdefghi", list("987654321"))
    ]
    assert placed(sheet.panels[0]) == {}
    assert board.seat == 0
    assert [(panel.name, panel.columns, panel.rows) for panel in board.panels] == [("", "abcde", list("654321"))]
    assert placed(board.panels[0]) == {"a1": Square("o"), "e6": Square("A")}


LOST = [("A", 3, "a1"), ("B", 4, "b2/b3"), ("C", 4, "c4")]
