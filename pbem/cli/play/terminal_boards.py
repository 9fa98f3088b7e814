"""Boards in a terminal: with colours and shapes where it has them, with letters alone where it has not.

Here live the layout and the colours of tints; what boards show is in `games/<game>/boards.py`. Implements
docs/playing.md, "In the terminal".
"""

from __future__ import annotations

import re
import shutil
import sys
from typing import TYPE_CHECKING, Any, Final

import click

from pbem.phrase import clean

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from pbem.games.squares import Glance, Panel, Square

_WIDEST: Final = 76
_STYLES: Final[Mapping[str, Mapping[str, Any]]] = {
    "own": {"fg": "bright_blue", "bold": True},
    "fired": {"fg": "magenta"},
    "lost": {"fg": "red"},
    "seen": {"fg": "yellow", "bold": True},
    "sunk": {"fg": "red", "bold": True},
    "empty": {"fg": "cyan"},
    "rock": {"dim": True},
    "seat 1": {"fg": "bright_blue", "bold": True},
    "seat 2": {"fg": "yellow", "bold": True},
    "seat 3": {"fg": "green", "bold": True},
    "seat 4": {"fg": "magenta", "bold": True},
    "hit": {"fg": "red", "bold": True},
    "": {"dim": True},
}
"""The colours of tints, of the sixteen that every terminal has: its user may have chosen them."""
_SHAPES: Final = {".": "·", "o": "○", "#": "■", "X": "✖", "*": "✱"}
_SIGN: Final = re.compile(r"(?<!\S)[.o#X*](?=[!\s]|$)")


def width() -> int:
    """The columns for text: those of the terminal, but no line is long."""
    return min(shutil.get_terminal_size().columns, _WIDEST)


def in_lines(parts: Iterable[str], between: str = " ", indent: int = 0) -> list[str]:
    """Parts one after another in lines of the terminal's width, none of which ends within a part."""
    lines = [""]
    for part in map(clean, parts):
        if lines[-1] and len(lines[-1] + between + part) > width():
            lines.append(" " * indent + part)
        else:
            lines[-1] += (between if lines[-1] else "") + part
    return lines


def shaped(text: str) -> str:
    """A text with shapes in place of the letters that stand for none, where the terminal has them."""
    has_shapes = sys.stdout.isatty() and (sys.stdout.encoding or "").lower().startswith("utf")
    return _SIGN.sub(lambda sign: _SHAPES[sign[0]], text) if has_shapes else text


def drawn(glance: Glance) -> Iterator[str]:
    """The lines of boards: single grids beside each other where there is room, as are the layers of one board."""
    single = all(len(board.panels) == 1 for _, _, board in glance.boards)
    if single and sum(_span(board.panels[0]) for _, _, board in glance.boards) <= width():
        titles = [_title(title, count, _span(board.panels[0])) for title, count, board in glance.boards]
        if any(title for title, _, _ in glance.boards):
            yield " ".join(titles)
        yield from _beside([board.panels[0] for _, _, board in glance.boards])
        return
    for title, count, board in glance.boards:
        across = max(1, width() // _span(board.panels[0]))
        yield _title(title, count, min(across, len(board.panels)) * _span(board.panels[0]))
        for at in range(0, len(board.panels), across):
            yield from _beside(board.panels[at : at + across])


def _title(title: str, count: str, span: int) -> str:
    room = max(1, span - len(title) - 1)
    return click.style(clean(f"{title}{count:>{room}}"), bold=True)


def _cell(panel: Panel) -> int:
    """The columns of a cell: the second letter of a square of five by five is but a mark."""
    return 2 if len(panel.columns) < 6 else 3


def _span(panel: Panel) -> int:
    return _label(panel) + 1 + _cell(panel) * len(panel.columns)


def _label(panel: Panel) -> int:
    return max(map(len, panel.rows))


def _beside(panels: Sequence[Panel]) -> Iterator[str]:
    """Grids of one form beside each other, the rows named at the left alone."""
    first, cell, label = panels[0], _cell(panels[0]), _label(panels[0])
    heads = (f"{panel.name:>{label}} " + "".join(f"{column:{cell}}" for column in panel.columns) for panel in panels)
    yield click.style("".join(heads).rstrip(), dim=True)
    for at, name in enumerate(first.rows):
        names = (name if panel is first else "" for panel in panels)
        rows = (
            click.style(f"{named:>{label}} ", dim=True)
            + "".join(_square(square, cell) for square in panel.squares[at])
            for named, panel in zip(names, panels, strict=True)
        )
        yield "".join(rows).rstrip()


def _square(square: Square, cell: int) -> str:
    text = clean(square.text)
    style = dict(_STYLES.get(square.tint, {})) | ({"reverse": True} if square.fresh else {})
    return click.style(shaped(text), **style) + " " * (cell - len(text))
