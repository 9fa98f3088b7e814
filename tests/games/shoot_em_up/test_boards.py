"""What boards mark as new: where there was a hit in the last turn, or in an action of it, and the ships hit there."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from pbem.games.shoot_em_up.boards import boards, happened

if TYPE_CHECKING:
    from pbem.games.squares import Panel, Square


def hit(action: int, ship: str, where: str, *, destroyed: bool) -> dict[str, Any]:
    return {"action": action, "kind": "hit", "ship": ship, "where": where, "by": ["G"], "destroyed": destroyed}


def state(action: int, **ships: str) -> dict[str, Any]:
    return {"action": action, "kind": "state", "ships": ships}


def marked(panel: Panel) -> dict[str, Square]:
    """The squares where something happened."""
    return {
        column + row: square
        for row, squares in zip(panel.rows, panel.squares, strict=True)
        for column, square in zip(panel.columns, squares, strict=True)
        if square.fresh
    }


def test_each_action_marks_its_own_hits() -> None:
    """Also those on a side between two squares, which a text shows only by the ships that are left."""
    one, two, three = happened(
        [
            hit(1, "A", "c3", destroyed=True),
            hit(1, "B", "d2", destroyed=False),
            state(1, B="d2 N 1", G="b1 E 0"),
            state(2, B="d3 N 1", G="c1 E 0"),
            hit(3, "B", "d3/d4", destroyed=True),
            state(3, G="c1 N 0"),
        ]
    ).panels
    assert {where: (square.symbol, square.text) for where, square in marked(one).items()} == {
        "c3": ("*", "*"),
        "d2": ("B^1", "B^"),
    }
    assert marked(two) == {}
    assert {where: (square.symbol, square.text) for where, square in marked(three).items()} == {
        "d3": ("*", "."),
        "d4": ("*", "."),
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
    assert {where: square.text for where, square in marked(panel).items()} == {
        where.split("/")[0]: "." for _, turn, where in LOST if turn == last
    }


LOST = [("A", 3, "a1"), ("B", 4, "b2/b3"), ("C", 4, "c4")]
