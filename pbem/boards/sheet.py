"""Record sheets: the boards of a game on one page of A4, as a PDF to print and fill in with a pencil.

There is one bit per dot at 300 dots per inch, so that lines are sharp and the file is small; the bytes are the same
each time. The words below the boards come from `templates/<game>/sheet.txt`. Boards are empty, or those of a view.
"""

from __future__ import annotations

import io
import time
from typing import TYPE_CHECKING, Final

from PIL import Image, ImageDraw

from pbem.boards.picture import font
from pbem.games.squares import PLAIN

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pbem.games.squares import Board, Panel

DOTS: Final = 300
PAGE: Final = (2480, 3508)
MARGIN: Final = 118  # one centimetre
LARGEST: Final = 118
GAP: Final = 36
TEXT: Final = 40


def sheet(title: str, boards: Sequence[Board], text: str) -> bytes:
    """The sheet of a game as a PDF: its boards, each under one of the text's first lines, then the rest of the text.

    Tabs divide a line into columns of one width. Raises ValueError when the text does not fit on the page.
    """
    lines = text.rstrip("\n").split("\n")
    page = Image.new("1", PAGE, 1)
    pen = ImageDraw.Draw(page)
    pen.text((MARGIN, MARGIN), title, 0, font(64))
    y = MARGIN + 110
    side = min(_side(board, len(boards)) for board in boards)
    for board in boards:
        pen.text((MARGIN, y), lines.pop(0), 0, font(TEXT))
        x, y = MARGIN, y + 70
        for panel in board.panels:
            _draw(pen, panel, x, y, side)
            x += (len(panel.columns) + 1) * side + GAP
        y += (len(board.panels[0].rows) + 1) * side + GAP + 20
    for line in lines:
        columns = line.split("\t")
        for at, words in enumerate(columns):
            pen.text((MARGIN + at * (PAGE[0] - 2 * MARGIN) // len(columns), y), words, 0, font(TEXT))
        y += 58
    if y > PAGE[1] - MARGIN:
        raise ValueError(f"the sheet of {title} has too many lines")
    file = io.BytesIO()
    never = time.gmtime(0)
    page.save(file, "PDF", resolution=DOTS, title=title, creationDate=never, modDate=never)
    return file.getvalue()


def _side(board: Board, boards: int) -> int:
    """Dots of a square's side: its grids side by side fill the width, all boards half of the height."""
    width = (PAGE[0] - 2 * MARGIN - GAP * len(board.panels)) // sum(len(panel.columns) + 1 for panel in board.panels)
    height = PAGE[1] // 2 // boards // (len(board.panels[0].rows) + 1)
    return min(LARGEST, width, height)


def _draw(pen: ImageDraw.ImageDraw, panel: Panel, x: int, y: int, side: int) -> None:
    columns, rows = panel.columns, panel.rows
    names = [(panel.name, 0, 0)]
    names += [(column, at, 0) for at, column in enumerate(columns, start=1)]
    names += [(row, 0, at) for at, row in enumerate(rows, start=1)]
    for word, along, down in names:
        pen.text((x + (along + 0.5) * side, y + (down + 0.5) * side), word, 0, font(side // 2), anchor="mm")
    right, bottom = x + (len(columns) + 1) * side, y + (len(rows) + 1) * side
    for along in range(1, len(columns) + 2):
        pen.line((x + along * side, y + side, x + along * side, bottom), 0, 3)
    for down in range(1, len(rows) + 2):
        pen.line((x + side, y + down * side, right, y + down * side), 0, 3)
    for down, row in enumerate(panel.squares, start=1):
        for along, square in enumerate(row, start=1):
            if square != PLAIN:
                place = (x + (along + 0.5) * side, y + (down + 0.5) * side)
                pen.text(
                    place, square.symbol, 0, font(side * 9 // (16 + 5 * max(0, len(square.symbol) - 2))), anchor="mm"
                )
