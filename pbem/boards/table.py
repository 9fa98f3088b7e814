"""Boards and their legends as HTML tables, with inline attributes alone, as mail clients keep them.

What was drawn is looked up: squares, the rows of a grid and its head. A template sees whole tables.
"""

from __future__ import annotations

from functools import cache, lru_cache
from typing import TYPE_CHECKING, Final

from markupsafe import Markup, escape

from pbem.boards import TINTS
from pbem.games.squares import PLAIN
from pbem.phrase import fill

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from pbem.games.squares import Board, Panel, Square
    from pbem.phrase import Phrase

__all__ = ["FRESH", "Table", "markup"]

FRESH: Final = "display:block;border:2px solid #facc15;margin:0 1px"
"""How the text of a square stands out in which something happened: within the cell, so that grids keep their size."""
_LETTERS: Final = "font-family:Consolas,Menlo,monospace;font-size:13px;line-height:18px;text-align:center"
_LINES: Final = "border-collapse:collapse;border-color:#808080;margin:0"
_END: Final = Markup('<br clear="all" style="clear:both">')
"""Tables stand side by side where there is room, and what follows beneath them."""
_GRID: Final = Markup(
    '<table border="1" cellspacing="0" cellpadding="0" align="left"'
    ' style="{lines} 10px 10px 0;{letters}" summary="{named}">\n{rows}\n</table>'
)
_ENTRY: Final = Markup(
    '<table border="0" cellspacing="0" cellpadding="0" align="left" role="presentation"'
    ' style="margin:0 14px 4px 0"><tr><td>\n'
    '<table border="1" cellspacing="0" cellpadding="0" width="26" role="presentation"'
    ' style="{lines} 6px 0 0;{letters}"><tr align="center">{square}</tr></table>\n'
    '</td><td style="font-size:12px">{meaning}</td></tr></table>'
)


@cache
def markup(square: Square) -> Markup:
    """A square as a table's cell."""
    if square == PLAIN:
        return Markup("<td>&middot;</td>")
    background, ink = TINTS[square.tint]
    tinted = Markup(' bgcolor="{}"').format(background) if background else ""
    style = f"background-color:{background};color:{ink}" if background else ""
    bold = Markup('<b style="{}">{}!</b>').format(FRESH, square.symbol) if square.fresh else None
    text = bold or Markup("<b>{}</b>").format(square.symbol)
    return Markup('<td{} style="{}">{}</td>').format(tinted, style, text)


class Table:
    """What templates draw boards with, in one language: `say` gives a phrase's words."""

    def __init__(self, say: Callable[[object], object]) -> None:
        self.say = say

    def grids(self, board: Board, caption: str) -> Markup:
        """The grids of a board; the caption, with a grid's name, is for those who do not see it."""
        name = escape(self.say(caption))
        return Markup("\n").join([*(_grid(panel, name) for panel in board.panels), _END])

    def key(self, entries: Iterable[tuple[Square, str]]) -> Markup:
        """A legend: squares, each with its meaning."""
        return Markup("\n").join([*(_entry(square, self.say(meaning)) for square, meaning in entries), _END])

    def bold(self, phrase: Phrase, *names: str) -> Markup:
        """A phrase with its facts of these names in bold."""
        facts: dict[str, object] = {
            name: Markup("<b>{}</b>").format(self.say(fact)) if name in names else escape(self.say(fact))
            for name, fact in phrase.facts.items()
        }
        return Markup(fill(str(escape(self.say(phrase.given()))), facts))  # noqa: S704 - escaped, in its parts


def _grid(panel: Panel, caption: Markup) -> Markup:
    rows = [_row(name, tuple(row)) for name, row in zip(panel.rows, panel.squares, strict=True)]
    return _GRID.format(
        lines=_LINES,
        letters=_LETTERS,
        named=Markup("{} {}").format(caption, panel.name) if panel.name else caption,
        rows=Markup("\n").join([_head(panel.name, tuple(panel.columns)), *rows]),
    )


@lru_cache(maxsize=4096)
def _row(name: str, squares: tuple[Square, ...]) -> Markup:
    cells = Markup("").join(map(markup, squares))
    return Markup('<tr align="center"><th width="24" height="24" scope="row">{}</th>{}</tr>').format(name, cells)


@cache
def _head(name: str, columns: Sequence[str]) -> Markup:
    cells = Markup("").join(Markup('<th width="24" scope="col">{}</th>').format(column) for column in columns)
    return Markup('<tr><th width="24" height="24" scope="col">{}</th>{}</tr>').format(name, cells)


def _entry(square: Square, meaning: object) -> Markup:
    return _ENTRY.format(lines=_LINES, letters=_LETTERS, square=markup(square), meaning=meaning)
