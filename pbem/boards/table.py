"""Boards as rows of HTML tables, with inline attributes alone, as mail clients keep them.

A square's markup is made once and looked up ever after; a row is joined before a template sees it.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Final

from markupsafe import Markup, escape

from pbem.boards import TINTS
from pbem.games.squares import PLAIN

if TYPE_CHECKING:
    from pbem.games.squares import Panel, Square

__all__ = ["FRESH", "markup", "rows"]

FRESH: Final = "display:block;border:2px solid #facc15;margin:0 1px"
"""How the text of a square stands out in which something happened: within the cell, so that grids keep their size."""


@cache
def markup(square: Square) -> Markup:
    """A square as a table's cell."""
    if square == PLAIN:
        return Markup("<td>&middot;</td>")
    background, ink = TINTS[square.tint]
    tinted = f' bgcolor="{background}"' if background else ""
    style = f"background-color:{background};color:{ink}" if background else ""
    symbol = escape(square.symbol)
    text = f'<b style="{FRESH}">{symbol}!</b>' if square.fresh else f"<b>{symbol}</b>"
    return Markup(f'<td{tinted} style="{style}">{text}</td>')  # noqa: S704 - the symbol is escaped


def rows(panel: Panel) -> list[tuple[str, Markup]]:
    """The rows of a grid: each one's name, and its cells joined."""
    return [
        (name, Markup("".join(map(markup, row))))  # noqa: S704 - every symbol was escaped
        for name, row in zip(panel.rows, panel.squares, strict=True)
    ]
