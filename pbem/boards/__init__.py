"""The drawing of boards: the colours of their tints, rows of HTML tables, pictures, record sheets.

A game's own modules turn a view into boards and words (`games/squares.py`). `text` sets them as text, `table` as
HTML; `picture` draws them as PNG, and record sheets as PDF. `drawn` has
boards that a game draws itself. All input comes from `Rules.view`, so nothing here can tell more
than the view does. No text of letters lives here: a game's module `words` says what a tint means.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["TINTS"]


class Tint(NamedTuple):
    """The colours of a square, `#rrggbb`; an empty background is the page's own, light or dark."""

    background: str
    ink: str


TINTS: Final[Mapping[str, Tint]] = {
    "own": Tint("#1d55c4", "#ffffff"),
    "fired": Tint("#8d7fd6", "#120c2c"),
    "lost": Tint("#6d1f1b", "#ffd9d2"),
    "seen": Tint("#f2a33c", "#2b1900"),
    "sunk": Tint("#6d1f1b", "#ffd9d2"),
    "empty": Tint("#6b7280", "#ffffff"),
    "rock": Tint("#7a736a", "#ffffff"),
    "seat 1": Tint("#1d55c4", "#ffffff"),
    "seat 2": Tint("#b45309", "#ffffff"),
    "seat 3": Tint("#15803d", "#ffffff"),
    "seat 4": Tint("#bd75bd", "#1b1300"),
    "seat 5": Tint("#fafa38", "#1b1300"),
    "seat 6": Tint("#74fbfb", "#1b1300"),
    "seat 7": Tint("#230b32", "#ffffff"),
    "seat 8": Tint("#9fd19f", "#1b1300"),
    "seat 9": Tint("#3c0202", "#ffffff"),
    "hit": Tint("#6d1f1b", "#ffd9d2"),
    "": Tint("", ""),
}
"""Every ink has a contrast of 4.5 and more on its background (WCAG 2.2, 1.4.3), whatever colours the page has.
Most colour-blind readers can tell the seats' colours; a symbol or number beside them is for the others.

The pages for browsers have the same colours, by name, at the head of `templates/pages/page.css`.
"""
