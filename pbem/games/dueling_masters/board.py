"""The board and how pieces move on it: squares, paths, destinations, and what can be reached.

Squares are numbers 0 to 99, A1 to J10 row by row; sets of squares are bit masks. Tables are computed at import;
results that depend on obstacles are looked up by mask. Nothing here knows a game or its turns. Implements rulings
1, 2, 4-7 and 19 of Dueling Masters, rules/dueling-masters.md "Board and pieces".
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Final

from pbem.games.masks import members, union

if TYPE_CHECKING:
    from collections.abc import Mapping

ROWS: Final = "ABCDEFGHIJ"
NAMES: Final = tuple(f"{row}{column}" for row in ROWS for column in range(1, 11))
SQUARES: Final[Mapping[str, int]] = {name: square for square, name in enumerate(NAMES)}

ASTEROID: Final = "*"
ASTEROIDS: Final = 7
HOME: Final = "H"
FIGHTERS: Final = ("W", "B", "X1", "X2", "Y1", "Y2", "Z1", "Z2", "Z3", "Z4")
"""In the order of pieces; a piece's place in it is its slot, and home planets have the slots behind."""
FIRST_HOME: Final = len(FIGHTERS)

HALVES: Final = ((1 << 50) - 1, (1 << 50) - 1 << 50)
"""The squares that seats 1 and 2 own."""

_STRAIGHT: Final = ((-1, 0), (0, -1), (0, 1), (1, 0))
_DIAGONAL: Final = ((-1, -1), (-1, 1), (1, -1), (1, 1))
_KNIGHT: Final = ((-2, -1), (-2, 1), (-1, -2), (-1, 2), (1, -2), (1, 2), (2, -1), (2, 1))
MOVES: Final[Mapping[str, tuple[tuple[tuple[int, int], ...], int]]] = {
    "W": (_KNIGHT, 1),
    "B": (_STRAIGHT + _DIAGONAL, 9),
    "X": (_STRAIGHT, 9),
    "Y": (_DIAGONAL, 9),
    "Z": (_STRAIGHT + _DIAGONAL, 9),
    "H": (_STRAIGHT + _DIAGONAL, 1),
}
"""The directions of a kind, and how many steps it may go."""

STRENGTH: Final = "HZYXBW"
RANK: Final = "WBXYZH"
"""The kinds in the order of lists, home planets last."""


def pieces(homes: int) -> tuple[str, ...]:
    """The names of one side's numbered and lone pieces by slot."""
    return FIGHTERS + (("H",) if homes == 1 else tuple(f"H{number}" for number in range(1, homes + 1)))


squares: Final = members
"""The squares of a mask in their order."""


def names(mask: int) -> list[str]:
    """The names of the squares of a mask in their order."""
    return [NAMES[square] for square in squares(mask)]


def _ray(square: int, step: tuple[int, int], most: int) -> tuple[int, ...]:
    row, column = divmod(square, 10)
    ray = []
    for _ in range(most):
        row, column = row + step[0], column + step[1]
        if not (0 <= row < 10 and 0 <= column < 10):
            break
        ray.append(row * 10 + column)
    return tuple(ray)


RAYS: Final[Mapping[str, tuple[tuple[tuple[int, ...], ...], ...]]] = {
    kind: tuple(tuple(_ray(square, step, most) for step in steps) for square in range(100))
    for kind, (steps, most) in MOVES.items()
}
"""The squares that a piece would enter one after another, a tuple for each direction, by kind and square."""

PATHS: Final[Mapping[str, Mapping[tuple[int, int], tuple[int, ...]]]] = {
    kind: {
        (square, ray[end]): ray[: end + 1] for square in range(100) for ray in rays[square] for end in range(len(ray))
    }
    for kind, rays in RAYS.items()
}
"""The squares after the start up to and including the destination, by kind, then by start and destination."""

BEATS: Final[Mapping[tuple[str, str], tuple[bool, bool]]] = {
    (one, other): (
        ASTEROID in (one, other) or STRENGTH.find(one) <= STRENGTH.find(other),
        ASTEROID in (one, other) or STRENGTH.find(other) <= STRENGTH.find(one),
    )
    for one in ASTEROID + STRENGTH
    for other in ASTEROID + STRENGTH
}
"""The losses when two pieces meet, by their kinds: whether the first, and whether the second, is destroyed."""


@lru_cache(maxsize=1 << 14)
def destinations(kind: str, square: int, asteroids: int, homes: int) -> int:
    """The legal destinations of a piece, rams included, given its own side's asteroids and home planets."""
    found = 0
    for ray in RAYS[kind][square]:
        for end in ray:
            bit = 1 << end
            if bit & homes:
                break
            if bit & asteroids:
                if kind != HOME:
                    found |= bit
                break
            found |= bit
    return found


@lru_cache(maxsize=1 << 14)
def reach(kind: str, square: int, asteroids: int, homes: int) -> int:
    """All squares that a fighter can reach by legal moves without rams, its own included."""
    found = new = 1 << square
    while new:
        ends = union([destinations(kind, start, asteroids, homes) for start in squares(new)])
        new = ends & ~asteroids & ~found
        found |= new
    return found
