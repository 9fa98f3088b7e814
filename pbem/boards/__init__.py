"""How boards are drawn: the colours of their tints, rows of HTML tables, pictures, record sheets.

A game's own modules turn a view into boards and words (`games/squares.py`). `text` sets them as text, `table` as
HTML; `picture` draws them as PNG, `sheet` as PDF. All input comes from `Rules.view`, so nothing here can tell more
than the view does. No text of letters lives here: a game's module `words` says what a tint means.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol, cast

from pbem.games import GAMES

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from types import ModuleType

    from pbem.games import Report
    from pbem.games.squares import Board

__all__ = ["TINTS", "Drawn", "drawn", "words"]


class Drawn(Protocol):
    """The module `boards` of a game that has boards."""

    def boards(self, view: Mapping[str, object]) -> list[Board]:
        """The boards of a view, the reader's own first."""

    def truth(self, views: Mapping[int, Mapping[str, object]], seat: int) -> list[Board]:
        """All sides as they were, the reader's own first, from every seat's view once everything is revealed."""

    def blank(self) -> list[Board]:
        """The boards of a record sheet: empty, under the default options."""

    def happened(self, reports: Sequence[Report]) -> Board | None:
        """A board of what happened in one turn, for games that show that separately."""


@cache
def drawn(game: str) -> Drawn | None:
    """The boards of a game by its name; None for a game that is played by text alone."""
    place = f"{GAMES[game]}.boards"
    try:
        found = find_spec(place)
    except ModuleNotFoundError:  # a game that is one module has no others
        found = None
    return cast("Drawn", import_module(place)) if found else None


@cache
def words(game: str) -> ModuleType:
    """The words that a game's templates put beside its boards: its module `words`."""
    return import_module(f"{GAMES[game]}.words")


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
