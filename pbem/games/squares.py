"""The parts of a game's boards: squares with a symbol and a tint, in panels with names for rows and columns.

A game with boards makes them from its view in its module `boards`: `boards(view)`, the reader's own first;
`truth(views, seat)`, from all seats' views when everything is revealed; `blank()`, for a record sheet; and
`happened(reports)`, a board of the turn itself or None. The words beside them are in its module `words`: phrases
and rows, no layout. The room `boards` does the layout; a game without boards is played by text alone.

For a terminal of 24 lines, `words` may have `glance(view, names)` and `end_at_a_glance(views, names, seat)`, a
`Glance` each, and `in_brief(reports, seat, names)`, the lines of what changed in a turn.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence


class Square(NamedTuple):
    """One square: up to four characters, its tint, and whether anything happened to it in the last turn."""

    symbol: str
    tint: str = ""
    fresh: bool = False
    brief: str = ""
    """The square in a text, in two characters; empty: the symbol."""

    @property
    def text(self) -> str:
        """The square's text."""
        return self.brief or self.symbol


PLAIN: Final = Square(".")
"""A square about which there is nothing to say."""


@dataclass(frozen=True, slots=True)
class Panel:
    """One grid of a board: its name, the names of its columns and rows, and its squares row by row from the top."""

    name: str
    columns: Sequence[str]
    rows: Sequence[str]
    squares: Sequence[Sequence[Square]]


class Line(NamedTuple):
    """One line of a list: what it is about, and the parts of what is said about it."""

    label: str
    parts: Sequence[str]


@dataclass(frozen=True, slots=True)
class Board:
    """One seat's side as far as it is known (0: a board that all share), in one grid or, as layers, in several."""

    seat: int
    panels: Sequence[Panel]

    @property
    def told(self) -> set[Square]:
        """The squares that a legend explains, each once."""
        return {square for panel in self.panels for row in panel.squares for square in row if square is not PLAIN}


class Glance(NamedTuple):
    """A position in a few lines: boards, each with its title and a count, their signs, and what may be ordered."""

    boards: Sequence[tuple[str, str, Board]]
    signs: Sequence[str]
    due: Line | None = None
    example: Sequence[str] = ()
    """Orders to show how they are written, each a word of a command line."""
