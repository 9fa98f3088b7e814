"""The form of a view of Shoot 'em up Spaceships, a JSON object that docs/attachments.md describes. Ships are letters.

Here live types alone; `knowledge` makes views, `boards` and `words` read them.
"""

from __future__ import annotations

from typing import TypedDict


class Size(TypedDict):
    """The size of the board."""

    columns: int
    rows: int


class Placed(TypedDict):
    """A ship that is left."""

    ship: str
    seat: int
    square: str
    facing: str
    shields: int


class Destroyed(TypedDict):
    """A ship that was destroyed: when, where (one square or two, `c3/c4`), and by which ships."""

    ship: str
    seat: int
    turn: int
    action: int
    where: str
    by: list[str]


class LastTurn(TypedDict):
    """The orders of the last turn played, by ship; open by now."""

    turn: int
    orders: dict[str, str]


class View(TypedDict):
    """All that a reader knows."""

    turn: int
    over: bool
    max_turns: int
    scores: list[int]
    board: Size
    seat: int | None
    ships: list[Placed]
    destroyed: list[Destroyed]
    last: LastTurn | None
    entitled: list[str] | None
