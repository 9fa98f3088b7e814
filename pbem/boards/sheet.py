"""Record sheets: the empty boards of a game on one page of A4, as a PDF to be printed and kept with a pencil.

One bit a dot at 300 dots an inch, so that lines are sharp and the file is small; the same bytes each time. The words
beneath the boards come from `templates/<game>/sheet.txt`; nothing of any match is in it.
"""

from __future__ import annotations

import io
import time
from functools import cache
from typing import TYPE_CHECKING, Final

from PIL import Image, ImageDraw, ImageFont

from pbem.boards import dueling_masters, shoot_em_up, spaceships

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["GRIDS", "sheet"]

DOTS: Final = 300
PAGE: Final = (2480, 3508)
MARGIN: Final = 118  # one centimetre
GAP: Final = 36
TEXT: Final = 40

Grid = tuple[str, "Sequence[str]", "Sequence[str]"]
"""Its name, its columns, its rows from the top."""

_BOARD: Final = ("", dueling_masters.COLUMNS, dueling_masters.ROWS[::-1])
GRIDS: Final[Mapping[str, tuple[int, Sequence[Sequence[Grid]]]]] = {
    "spaceships": (70, [[(colour, spaceships.COLUMNS, spaceships.ROWS) for colour in spaceships.COLOURS]] * 2),
    "dueling-masters": (94, [[_BOARD], [_BOARD]]),
    "shoot-em-up": (118, [[("", shoot_em_up.COLUMNS[:9], [str(row) for row in range(9, 0, -1)])]]),
}
"""By game: dots of a square's side, and the grids of each board."""


@cache  # anybody may ask for it, and it is the same each time
def sheet(game: str, title: str, text: str) -> bytes:
    """The sheet of a game as a PDF: its boards under the first lines of the text, one each, then the rest of it.

    Raises ValueError when the text does not fit on the page.
    """
    side, boards = GRIDS[game]
    lines = text.rstrip("\n").split("\n")
    page = Image.new("1", PAGE, 1)
    pen = ImageDraw.Draw(page)
    pen.text((MARGIN, MARGIN), title, 0, _font(64))
    y = MARGIN + 110
    for board in boards:
        pen.text((MARGIN, y), lines.pop(0), 0, _font(TEXT))
        x, y = MARGIN, y + 70
        for grid in board:
            _draw(pen, grid, x, y, side)
            x += (len(grid[1]) + 1) * side + GAP
        y += (len(board[0][2]) + 1) * side + GAP + 20
    for line in lines:
        pen.text((MARGIN, y), line, 0, _font(TEXT))
        y += 58
    if y > PAGE[1] - MARGIN:
        raise ValueError(f"the sheet of {game} has too many lines")
    file = io.BytesIO()
    never = time.gmtime(0)
    page.save(file, "PDF", resolution=DOTS, title=title, creationDate=never, modDate=never)
    return file.getvalue()


def _draw(pen: ImageDraw.ImageDraw, grid: Grid, x: int, y: int, side: int) -> None:
    name, columns, rows = grid
    names = [(name, 0, 0)]
    names += [(column, at, 0) for at, column in enumerate(columns, start=1)]
    names += [(row, 0, at) for at, row in enumerate(rows, start=1)]
    for word, along, down in names:
        pen.text((x + (along + 0.5) * side, y + (down + 0.5) * side), word, 0, _font(side // 2), anchor="mm")
    right, bottom = x + (len(columns) + 1) * side, y + (len(rows) + 1) * side
    for along in range(1, len(columns) + 2):
        pen.line((x + along * side, y + side, x + along * side, bottom), 0, 3)
    for down in range(1, len(rows) + 2):
        pen.line((x + side, y + down * side, right, y + down * side), 0, 3)


def _font(size: int) -> ImageFont.FreeTypeFont | ImageFont.ImageFont:
    return ImageFont.load_default(size)
