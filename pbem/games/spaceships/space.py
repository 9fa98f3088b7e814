"""The space of a player: 125 cells, who is beside whom, and the lines along which beams strike.

A cell is a number 0..124 in coordinate order (colour, letter, number); a set of cells is an integer with one
bit for each. Here live geometry and the names of cells; no ships, no turns. Implements rulings 1-3 of
Spaceships, rules/spaceships.md "Cells and lines". All tables are made by arithmetic at import.
"""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Final

from pbem.games import masks
from pbem.games.masks import members

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

COLOURS: Final = "ROYGB"
LETTERS: Final = "vwxyz"
NUMBERS: Final = "12345"
SIDE: Final = 5

NAMES: Final = tuple(map("".join, product(COLOURS, LETTERS, NUMBERS)))
CELLS: Final = {name: number for number, name in enumerate(NAMES)}
EVERYWHERE: Final = (1 << len(NAMES)) - 1

Vector = tuple[int, ...]

PLACES: Final[tuple[Vector, ...]] = tuple(product(range(SIDE), repeat=3))
"""The coordinates of each cell as numbers 0..4."""

DIRECTIONS: Final[tuple[Vector, ...]] = tuple(step for step in product((-1, 0, 1), repeat=3) if step > (0, 0, 0))
"""The 13 directions of a line, each in the sense in which cell numbers grow."""


def stride(step: Vector) -> int:
    """The growth of a cell's number by one step."""
    return (step[0] * SIDE + step[1]) * SIDE + step[2]


def _starts(step: Vector, times: int) -> Iterator[int]:
    """The cells from which this many steps do not leave the space."""
    spans = [range(max(0, -by * times), SIDE - max(0, by * times)) for by in step]
    return map(stride, product(*spans))


STEPS: Final = tuple((stride(step), sum(1 << cell for cell in _starts(step, 1))) for step in DIRECTIONS)
"""For each direction its stride and the cells from which a step along it stays inside."""

FACES: Final = tuple(STEPS[DIRECTIONS.index(axis)] for axis in ((0, 0, 1), (0, 1, 0), (1, 0, 0)))


def _adjacent() -> tuple[int, ...]:
    beside = [0] * len(NAMES)
    for by, starts in FACES:
        for cell in cells(starts):
            beside[cell] |= 1 << cell + by
            beside[cell + by] |= 1 << cell
    return tuple(beside)


cells: Final = members
"""The cells of a set, in coordinate order."""


def names(mask: int) -> list[str]:
    """The names of the cells of a set, in coordinate order."""
    return [NAMES[cell] for cell in cells(mask)]


def mask_of(wanted: Iterable[str]) -> int:
    """The set of the cells named."""
    return masks.mask_of(CELLS[name] for name in wanted)


ADJACENT: Final = _adjacent()
"""For each cell those that share a face with it (ruling 2)."""


def box(first: str, last: str) -> int:
    """All cells between two opposite corners, named (ruling 11)."""
    one, other = PLACES[CELLS[first]], PLACES[CELLS[last]]
    spans = [range(min(ends), max(ends) + 1) for ends in zip(one, other, strict=True)]
    return sum(1 << stride(place) for place in product(*spans))


def extents(mask: int) -> tuple[int, ...]:
    """The lengths of the sides of the smallest box around some cells, shortest first."""
    places = [PLACES[cell] for cell in cells(mask)]
    return tuple(sorted(max(axis) - min(axis) + 1 for axis in zip(*places, strict=True)))


def _lines() -> dict[str, tuple[tuple[int, int, int], int]]:
    lines = {}
    for number, step in enumerate(DIRECTIONS):
        by = stride(step)
        for first in _starts(step, 2):
            middle, last = first + by, first + 2 * by
            lines[NAMES[first] + NAMES[last]] = (first, middle, last), number
            lines[NAMES[last] + NAMES[first]] = (last, middle, first), number
    return lines


LINES: Final = _lines()
"""The three targets and the direction's number by the names of both ends, either way round."""


def directions(mask: int) -> int:
    """The directions, as bits 0..12, in which two of these cells are neighbours."""
    found = 0
    for number, (by, starts) in enumerate(STEPS):
        if mask & starts & mask >> by:
            found |= 1 << number
    return found


def _parts() -> dict[str, int]:
    planes = dict.fromkeys(COLOURS + LETTERS + NUMBERS, 0) | {"": EVERYWHERE}
    for name, cell in CELLS.items():
        for value in name:
            planes[value] |= 1 << cell
    wholes = product(("", *COLOURS), ("", *LETTERS), ("", *NUMBERS))
    return {a + b + c: planes[a] & planes[b] & planes[c] for a, b, c in wholes if a + b + c}


PARTS: Final = _parts()
"""The cells that fit a missile's part, which is one to three coordinate values in order (ruling 37)."""
