"""The sticks that are left, as a board that all share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pbem.games.squares import PLAIN, Board, Panel, Square

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

STICK = Square("I", "own")


def boards(view: Mapping[str, Any]) -> list[Board]:
    row = [STICK if at < view["left"] else PLAIN for at in range(9)]
    return [Board(0, [Panel("sticks", [str(at) for at in range(1, 10)], ["1"], [row])])]


def truth(views: Mapping[int, Mapping[str, Any]], seat: int) -> list[Board]:
    return boards(views[seat])


def blank() -> list[Board]:
    return boards({"left": 9})


def happened(reports: Sequence[Mapping[str, Any]]) -> None:
    del reports
