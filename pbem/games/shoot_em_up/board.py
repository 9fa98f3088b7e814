"""The board: squares, the sides between them, what lies ahead, the home zones, and the options of a game.

A square is a number, counted column by column from a1, so that the order of numbers is the order of reports. All
tables of a board are made once and kept by its size. Implements rulings 1-3 and 26 of Shoot 'em up Spaceships,
rules/shoot-em-up.md "Board and setup".
"""

from __future__ import annotations

import re
from functools import cache
from itertools import product
from typing import TYPE_CHECKING, Final, NamedTuple

from pbem.games import refuse
from pbem.games.player_text import Readers, one_of, read_options
from pbem.phrase import Phrase

if TYPE_CHECKING:
    from collections.abc import Mapping

SEATS: Final = (2, 3, 4)
LETTERS: Final = "ABCDEFGHIJKL"
SHIPS: Final = 3
"""Ships of a seat: seat 1 has the first three letters, and so on."""
FACINGS: Final = "NESW"
"""Clockwise, so that a turn to the right is one further."""
MOST_SHIELDS: Final = 3
"""One for each action; at the end of a turn all are gone."""

COLUMNS: Final = "abcdefghijklmnopqrstuvwxyz"
STEPS: Final = ((0, 1), (1, 0), (0, -1), (-1, 0))
_BOARD: Final = re.compile(r"([1-9][0-9]?)x([1-9][0-9]?)")
SMALLEST: Final = 5
_LARGEST: Final = len(COLUMNS)
SIZE: Final = (9, 9)
MOST_TURNS: Final = 200
_LONGEST: Final = 9999  # programs that check a match read numbers as large as theirs are


class Board(NamedTuple):
    """The tables of a board of one size."""

    columns: int
    rows: int
    names: tuple[str, ...]
    squares: dict[str, int]
    ahead: tuple[tuple[int, ...], ...]
    """The next square by facing, then by square; -1 beyond the edge."""
    states: tuple[tuple[tuple[str, ...], ...], ...]
    """A ship's state as reports write it, such as `c4 N 1`, by square, facing and shields."""
    homes: tuple[frozenset[int], ...]
    """The home zones in the order of seats."""


@cache
def board(columns: int, rows: int) -> Board:
    """The board of a size."""
    places = list(product(range(columns), range(rows)))
    names = tuple(f"{COLUMNS[column]}{row + 1}" for column, row in places)
    squares = {name: square for square, name in enumerate(names)}

    def next_square(column: int, row: int) -> int:
        return column * rows + row if 0 <= column < columns and 0 <= row < rows else -1

    ahead = tuple(tuple(next_square(column + x, row + y) for column, row in places) for x, y in STEPS)
    states = tuple(
        tuple(tuple(f"{name} {facing} {shields}" for shields in range(MOST_SHIELDS + 1)) for facing in FACINGS)
        for name in names
    )
    between_columns, between_rows = range(1, columns - 1), range(1, rows - 1)
    homes = (
        frozenset(next_square(column, 0) for column in between_columns),
        frozenset(next_square(column, rows - 1) for column in between_columns),
        frozenset(next_square(0, row) for row in between_rows),
        frozenset(next_square(columns - 1, row) for row in between_rows),
    )
    return Board(columns, rows, names, squares, ahead, states, homes)


class Ship(NamedTuple):
    """A living ship: its place in the alphabet, where it is, which way it faces, and its shields."""

    letter: int
    square: int
    facing: int
    shields: int = 0

    @property
    def seat(self) -> int:
        """The seat of the ship's player."""
        return self.letter // SHIPS + 1


class Options(NamedTuple):
    """The agreed options of one game."""

    seats: int
    size: tuple[int, int] = SIZE
    max_turns: int = MOST_TURNS

    @property
    def board(self) -> Board:
        """The tables of the agreed board."""
        return board(*self.size)

    @property
    def changed(self) -> dict[str, object]:
        """Only the options agreed otherwise than default, in the record's order, as TOML values."""
        changed: dict[str, object] = {}
        if self.size != SIZE:
            changed["board"] = f"{self.size[0]}x{self.size[1]}"
        if self.max_turns != MOST_TURNS:
            changed["max_turns"] = self.max_turns
        return changed


def options(raw: Mapping[str, object], seats: int) -> Options:
    """Judge agreed options; raises `Refused` with all faults, each named by its option."""
    otherwise = Phrase("Shoot 'em up Spaceships is a game for two, three or four")
    agreed, faults = read_options(raw, _READERS, seats, SEATS, otherwise)
    refuse(faults)
    return Options(seats, agreed.get("board", SIZE), agreed.get("max_turns", MOST_TURNS))


def _size(value: object) -> tuple[int, int]:
    found = _BOARD.fullmatch(value) if isinstance(value, str) else None
    size = (int(found[1]), int(found[2])) if found else (0, 0)
    if not all(SMALLEST <= length <= _LARGEST for length in size):
        raise ValueError(Phrase('columns x rows, 5 to 26 each, such as "9x9"'))
    return size


_READERS: Final[Readers] = {
    "board": _size,
    "max_turns": one_of(range(1, _LONGEST + 1), Phrase("a whole number from 1 to {most}", most=_LONGEST)),
}
