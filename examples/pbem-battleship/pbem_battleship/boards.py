"""The boards of Battleship: a sea for each player, from a view of the game."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from pbem.games.squares import PLAIN, Board, Panel, Square
from pbem_battleship import COLUMNS, FLEET, ROWS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pbem.games import Report

LETTERS: Final = {name: "R" if name == "cruiser" else name[0].upper() for name in FLEET}
"""The letter of each ship; small where it is hit."""


def boards(view: Mapping[str, Any]) -> list[Board]:
    """The reader's own sea, if any, then the others'."""
    owners = (view["seat"], 3 - view["seat"]) if view["seat"] else (1, 2)
    return [_board(view, owner, view["own"] or {} if owner == view["seat"] else {}) for owner in owners]


def truth(views: Mapping[int, Mapping[str, Any]], seat: int) -> list[Board]:
    """The seas as they were, the reader's own first, once everything is revealed."""
    return [_board(views[owner], owner, views[owner]["own"]) for owner in (seat, 3 - seat)]


def blank() -> list[Board]:
    """The two seas of a record sheet."""
    return [Board(seat, [_panel({})]) for seat in (1, 2)]


def happened(reports: Sequence[Report]) -> None:
    """None: the shots of a turn are marked on the seas themselves."""
    del reports


def _board(view: Mapping[str, Any], owner: int, ships: Mapping[str, Sequence[str]]) -> Board:
    shots, last = view["seas"][str(owner)], view["last"][str(owner)]
    squares = {cell: Square(LETTERS[ship], "own") for ship, cells in ships.items() for cell in cells}
    for cell, result in shots.items():
        own = squares[cell].symbol.lower() if cell in squares else ""
        symbol, tint = (own, "lost") if own else ("o", "empty") if result == "miss" else ("X", "sunk")
        squares[cell] = Square(symbol, tint, cell in last, symbol + ("!" if cell in last else ""))
    return Board(owner, [_panel(squares)])


def _panel(squares: Mapping[str, Square]) -> Panel:
    return Panel("", COLUMNS, ROWS, [tuple(squares.get(row + column, PLAIN) for column in COLUMNS) for row in ROWS])
