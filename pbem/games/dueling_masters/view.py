"""The form of a view of Dueling Masters, a JSON object that docs/attachments.md describes: pieces, squares, turns.

Here live types alone; `knowledge` makes views, `boards` and `words` read them.
"""

from __future__ import annotations

from typing import Literal, TypedDict

Piece = TypedDict("Piece", {"piece": str, "square": str, "from": str | None})
"""A piece of the reader's where it counts as standing, and where it came from; null for what rests."""


class Own(TypedDict):
    """The reader's own side."""

    pieces: list[Piece]
    asteroids: list[str]
    destroyed: list[str]
    asteroids_destroyed: list[str]
    """Their squares, rams included."""
    explored: dict[str, int]
    """The last turn in which the opponent found none of these pieces on a square."""


class Heard(TypedDict):
    """The last that was heard of a piece: where, and in which turn."""

    piece: str
    state: Literal["in transit", "resting", "destroyed"]
    square: str
    turn: int


class Known(TypedDict):
    """Another's side as far as it is known."""

    pieces: list[Heard]
    asteroids: int
    """The number that may be left."""
    asteroids_destroyed: dict[str, int]
    """The turn in which it was destroyed, by square."""
    empty: dict[str, int]
    """The last turn in which it was proved empty, by square."""


class Able(TypedDict):
    """A piece that can move, and its legal destinations: `rams` are asteroids."""

    piece: str
    square: str
    to: list[str]
    rams: list[str]


class Agreed(TypedDict):
    """The options of the game, defaults filled in."""

    homes: int
    mobile_home: bool
    max_turns: int


class View(TypedDict):
    """All that a reader knows; `known` by the number of the other's seat."""

    turn: int
    over: bool
    seat: int | None
    moves: int | None
    """The seat whose move it is."""
    scores: list[int]
    options: Agreed
    own: Own | None
    known: dict[str, Known]
    entitled: list[Able] | None
