"""What a reader's boards show, square by square: a symbol and a tint each, for tables and pictures alike.

One module a game turns a view into boards; `table` writes them as rows of HTML, `picture` draws them as PNG. All of
it is fed by `Rules.view` alone, so nothing here can tell more than the view does. Here lives no text of letters: what
a tint means stands in `templates/<game>/position.html`.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["GAMES", "PLAIN", "TINTS", "Board", "Panel", "Square", "boards"]


class Tint(NamedTuple):
    """The colours of a square, `#rrggbb`; an empty background is the page's own, light or dark."""

    background: str
    ink: str


TINTS: Final[Mapping[str, Tint]] = {
    "own": Tint("#1d4ed8", "#ffffff"),
    "fired": Tint("#6d28d9", "#ffffff"),
    "lost": Tint("#b91c1c", "#ffffff"),
    "seen": Tint("#b45309", "#ffffff"),
    "sunk": Tint("#b91c1c", "#ffffff"),
    "empty": Tint("#6b7280", "#ffffff"),
    "rock": Tint("#44403c", "#ffffff"),
    "seat 1": Tint("#1d4ed8", "#ffffff"),
    "seat 2": Tint("#b45309", "#ffffff"),
    "seat 3": Tint("#15803d", "#ffffff"),
    "seat 4": Tint("#a21caf", "#ffffff"),
    "hit": Tint("#b91c1c", "#ffffff"),
    "": Tint("", ""),
}
"""Every ink has a contrast of 4.5 and more on its background (WCAG 2.2, 1.4.3), whatever colours the page has."""


class Square(NamedTuple):
    """One square: up to four characters, its tint, and whether anything happened to it in the last turn."""

    symbol: str
    tint: str = ""
    fresh: bool = False


PLAIN: Final = Square(".")
"""A square of which there is nothing to say."""


@dataclass(frozen=True, slots=True)
class Panel:
    """One grid of a board: its name, the names of its columns and rows, and its squares row by row from the top."""

    name: str
    columns: Sequence[str]
    rows: Sequence[str]
    squares: Sequence[Sequence[Square]]


@dataclass(frozen=True, slots=True)
class Board:
    """What is known of one seat's side (0: a board that all share), in one grid or, as layers, in several."""

    seat: int
    panels: Sequence[Panel]

    @property
    def tints(self) -> set[str]:
        """The tints that occur, so that a legend names no others."""
        return {square.tint for panel in self.panels for row in panel.squares for square in row}

    @property
    def symbols(self) -> set[str]:
        """The symbols that occur."""
        return {square.symbol for panel in self.panels for row in panel.squares for square in row}

    @property
    def fresh(self) -> bool:
        """Whether anything happened here in the last turn."""
        return any(square.fresh for panel in self.panels for row in panel.squares for square in row)


def boards(game: str, view: Mapping[str, Any]) -> list[Board]:
    """The boards of a view, the reader's own first; raises KeyError for a game without boards."""
    module = import_module(GAMES[game])
    found: list[Board] = module.boards(view)
    return found


GAMES: Final[Mapping[str, str]] = {
    "spaceships": "pbem.boards.spaceships",
    "dueling-masters": "pbem.boards.dueling_masters",
    "shoot-em-up": "pbem.boards.shoot_em_up",
}
"""The games that have boards, with their modules. A game without them is played by text alone."""
