"""Boards drawn as a PNG, with layers also as the cube that they form; and record sheets, to fill in with a pencil.

The same boards and names give the same bytes on the same release of Pillow: our own font, no time stamps, a fixed
palette. Pictures are small enough for a letter: squares shrink as boards grow. Only boards come in, and so only
views. The words of a sheet come from `templates/<game>/sheet.txt`.
"""

from __future__ import annotations

import io
import time
from functools import lru_cache
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Final

import resvg_py
from PIL import Image, ImageDraw, ImageFont

from pbem.boards import TINTS
from pbem.boards.drawn import DrawnBoard, drawings
from pbem.games.squares import PLAIN, Board, Square

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pbem.games.squares import Panel

PAPER: Final = "#fbfbfa"
INK: Final = "#1c1917"
LINE: Final = "#a8a29e"
GOLD: Final = "#ffd84a"
LARGEST: Final = 36
"""Pixels of a square's side, where there is room."""
WIDEST: Final = 1040
"""Pixels of a picture's width; the grids side by side share it."""
GAP: Final = 16
TITLE: Final = 34
BLACK: Final = "#000000"
SHADES: Final = (0.25, 0.45)
"""The darkness of the two sides of a block."""
PLANE: Final = "#f1efec"
DOT: Final = 6
"""Pixels of a square's side in a miniature, with the line beside it."""
SMALL: Final = 180
"""The most pixels of a side of a drawing in a miniature."""

Point = tuple[float, float]


def draw(boards: Sequence[Board | DrawnBoard], names: Mapping[int, str]) -> bytes:
    """A PNG of the boards under the names of their seats: one below the other, or single grids side by side."""
    drawn = [_board(board, names.get(board.seat, ""), len(boards)) for board in boards]
    beside = all(len(board.panels) == 1 for board in boards)
    picture = _joined(drawn, beside=beside, gap=GAP)
    framed = Image.new("RGB", (picture.width + 2 * GAP, picture.height + 2 * GAP), PAPER)
    framed.paste(picture, (GAP, GAP))
    return _png(framed, None if drawings(boards) else _palette())


def miniature(boards: Sequence[Board | DrawnBoard]) -> bytes:
    """A PNG of the boards without a word, each square a few pixels of its tint: for lists of matches."""
    flat = all(len(board.panels) == 1 for board in boards)
    joined = [
        _drawn(board, SMALL, SMALL)
        if isinstance(board, DrawnBoard)
        else _joined([_miniature(panel) for panel in board.panels], beside=True, gap=DOT)
        for board in boards
    ]
    return _png(_joined(joined, beside=flat, gap=DOT), None if drawings(boards) else _palette())


def _miniature(panel: Panel) -> Image.Image:
    picture = Image.new("RGB", (len(panel.columns) * DOT, len(panel.rows) * DOT), PAPER)
    pen = ImageDraw.Draw(picture)
    for down, squares in enumerate(panel.squares):
        for at, square in enumerate(squares):
            colour = GOLD if square.fresh else TINTS[square.tint].background or PLANE
            pen.rectangle((at * DOT, down * DOT, (at + 1) * DOT - 2, (down + 1) * DOT - 2), fill=colour)
    return picture


def _png(picture: Image.Image, palette: Image.Image | None) -> bytes:
    file = io.BytesIO()
    picture.quantize(palette=palette, dither=Image.Dither.NONE).save(file, "PNG", compress_level=6)
    return file.getvalue()


@lru_cache(maxsize=1)
def _palette() -> Image.Image:
    """All colours that occur: the shades of each tint, and the colours between it and its ink at letters' edges."""
    colours = [_between(PAPER, INK, step / 8) for step in range(9)] + [LINE, GOLD, PLANE]
    for background, ink in dict.fromkeys(TINTS.values()):
        if background:
            colours += [_between(background, ink, step / 5) for step in range(6)]
            colours += [_between(background, BLACK, dark) for dark in SHADES]
    numbers = [int(colour[at : at + 2], 16) for colour in dict.fromkeys(colours) for at in (1, 3, 5)]
    palette = Image.new("P", (1, 1))
    palette.putpalette(numbers)
    return palette


@lru_cache(maxsize=256)
def _between(one: str, other: str, part: float) -> str:
    pairs = ((int(one[at : at + 2], 16), int(other[at : at + 2], 16)) for at in (1, 3, 5))
    return "#" + "".join(f"{round(first + (second - first) * part):02x}" for first, second in pairs)


def _joined(parts: Sequence[Image.Image], *, beside: bool, gap: int) -> Image.Image:
    widths, heights = [part.width for part in parts], [part.height for part in parts]
    room = gap * (len(parts) - 1)
    size = (sum(widths) + room, max(heights)) if beside else (max(widths), sum(heights) + room)
    picture = Image.new("RGB", size, PAPER)
    at = 0
    for part in parts:
        picture.paste(part, (at, 0) if beside else (0, at))
        at += (part.width if beside else part.height) + gap
    return picture


def _board(board: Board | DrawnBoard, title: str, count: int) -> Image.Image:
    if isinstance(board, DrawnBoard):
        return _titled(_drawn(board, WIDEST, WIDEST), title)
    columns = len(board.panels[0].columns) + 1
    if len(board.panels) == 1:
        side = min(LARGEST, (WIDEST // count - GAP) // columns)
        body = _grid(board.panels[0], side)
    else:
        grids = [_grid(panel, LARGEST) for panel in board.panels]
        rows = [_joined(grids[at : at + 2], beside=True, gap=GAP) for at in range(0, len(grids), 2)]
        body = _joined([_joined(rows, beside=False, gap=GAP), _cube(board.panels)], beside=True, gap=GAP)
    return _titled(body, title)


@lru_cache(maxsize=16)  # seats that see the same get the same
def _drawn(board: DrawnBoard, width: int, height: int) -> Image.Image:
    """A drawing as large as fits into so many pixels; its letters are those of our font."""
    wide, high = board.size
    content = resvg_py.svg_to_bytes(
        svg_string=str(board.svg),
        width=min(width, wide * height // high),
        background=PAPER,
        skip_system_fonts=True,
        font_files=[str(_FONT)],
        font_family=_FAMILY,
        sans_serif_family=_FAMILY,
    )
    return Image.open(io.BytesIO(content)).convert("RGB")


def _titled(body: Image.Image, title: str) -> Image.Image:
    if not title:
        return body
    picture = Image.new("RGB", (body.width, body.height + TITLE), PAPER)
    ImageDraw.Draw(picture).text((2, TITLE // 2), title, INK, font(22), anchor="lm")
    picture.paste(body, (0, TITLE))
    return picture


def _grid(panel: Panel, side: int) -> Image.Image:
    """A panel with its names at the top and at the left."""
    columns, rows = len(panel.columns), len(panel.rows)
    picture = Image.new("RGB", ((columns + 1) * side + 1, (rows + 1) * side + 1), PAPER)
    picture.paste(_name(panel.name, side), (0, 0))
    for at, column in enumerate(panel.columns, start=1):
        picture.paste(_name(column, side), (at * side, 0))
    for down, (row, squares) in enumerate(zip(panel.rows, panel.squares, strict=True), start=1):
        picture.paste(_name(row, side), (0, down * side))
        for at, square in enumerate(squares, start=1):
            picture.paste(_tile(square, side), (at * side, down * side))
    return picture


@lru_cache(maxsize=256)
def _name(text: str, side: int) -> Image.Image:
    tile = Image.new("RGB", (side, side), PAPER)
    ImageDraw.Draw(tile).text((side / 2, side / 2), text, INK, font(side * 0.45), anchor="mm")
    return tile


@lru_cache(maxsize=1024)
def _tile(square: Square, side: int) -> Image.Image:
    """A square with its frame; the next square covers one pixel of it."""
    background, ink = TINTS[square.tint]
    tile = Image.new("RGB", (side + 1, side + 1), background or PAPER)
    pen = ImageDraw.Draw(tile)
    pen.rectangle((0, 0, side, side), outline=LINE)
    if square.fresh:
        pen.rectangle((1, 1, side - 1, side - 1), outline=GOLD, width=max(2, side // 12))
    if square == PLAIN:
        pen.ellipse((side / 2 - 1, side / 2 - 1, side / 2 + 1, side / 2 + 1), fill=LINE)
    else:
        size = side * (0.5 if len(square.symbol) < 3 else 0.38)
        pen.text((side / 2, side / 2), square.symbol, ink or INK, font(size), anchor="mm")
    return tile


_FONT: Final = Path(__file__).with_name("aileron.ttf")
"""Aileron by Sora Sagano (CC0), with the letters of Western Europe. Pillow's own copy has only those of English."""
_FAMILY: Final = "Aileron"


@lru_cache(maxsize=32)
def font(size: float) -> ImageFont.FreeTypeFont:
    """The font of all pictures, set letter by letter, so that the bytes are the same everywhere."""
    return ImageFont.truetype(_FONT, round(size), layout_engine=ImageFont.Layout.BASIC)


# The cube: each layer a plane of tiles, the first on top; what stands in a cell is a block on its tile.

STEP: Final = (26, 13)
"""The offset of the next square, right and down: two to one, as isometric drawings have it on screens."""
STOREY: Final = 154
BLOCK: Final = 20


def _cube(panels: Sequence[Panel]) -> Image.Image:
    """The layers above each other, seen from a corner: rows run down to the left, columns down to the right."""
    rows, columns = len(panels[0].rows), len(panels[0].columns)
    over, down = STEP
    left = rows * over + 2 * GAP
    picture = Image.new(
        "RGB",
        (left + columns * over + GAP, GAP + BLOCK + (rows + columns) * down + (len(panels) - 1) * STOREY + GAP),
        PAPER,
    )
    pen = ImageDraw.Draw(picture)
    for level in reversed(range(len(panels))):
        panel = panels[level]

        def point(row: float, column: float, height: float = 0, level: int = level) -> Point:
            x = left + (column - row) * over
            return x, GAP + BLOCK + (row + column) * down + level * STOREY - height

        pen.polygon([point(0, 0), point(0, columns), point(rows, columns), point(rows, 0)], fill=PLANE)
        for at in range(rows + 1):
            pen.line([point(at, 0), point(at, columns)], LINE)
        for at in range(columns + 1):
            pen.line([point(0, at), point(rows, at)], LINE)
        pen.text((point(rows, 0)[0] - 10, point(rows, 0)[1]), panel.name, INK, font(18), anchor="mm")
        for row, column in product(range(rows), range(columns)):
            square = panel.squares[row][column]
            if square != PLAIN:
                height = 0 if square.tint == "empty" else BLOCK
                _block(pen, square, [point(row + y, column + x) for y, x in _CORNERS], height)
    # Names stand beside the top layer's edges, above the blocks that may stand there.
    for names, way in ((panels[0].columns, 1), (panels[0].rows, -1)):
        for at, name in enumerate(names):
            place = (left + way * ((at + 0.5) * over + 20), GAP + (at + 0.5) * down)
            pen.text(place, name, INK, font(13), anchor="mm")
    return picture


_CORNERS: Final = ((0.06, 0.06), (0.06, 0.94), (0.94, 0.94), (0.94, 0.06))


def _block(pen: ImageDraw.ImageDraw, square: Square, corners: Sequence[Point], height: int) -> None:
    """The contents of a cell: a block of its tint, or a flat tile if the cell holds only knowledge."""
    background, ink = TINTS[square.tint]
    top = [(x, y - height) for x, y in corners]
    _, right, front, left = top
    if height:
        pen.polygon([left, front, corners[2], corners[3]], fill=_between(background or PAPER, BLACK, SHADES[0]))
        pen.polygon([front, right, corners[1], corners[2]], fill=_between(background or PAPER, BLACK, SHADES[1]))
    pen.polygon(top, fill=background or PAPER, outline=GOLD if square.fresh else LINE, width=2 if square.fresh else 1)
    middle = ((top[0][0] + front[0]) / 2, (top[0][1] + front[1]) / 2)
    pen.text(middle, square.symbol, ink or INK, font(13 if len(square.symbol) < 3 else 10), anchor="mm")


# Record sheets: the boards of a game on one page of A4, one bit per dot, so that lines are sharp.

DOTS: Final = 300
PAGE: Final = (2480, 3508)
MARGIN: Final = 118  # one centimetre
SHEET_SQUARE: Final = 118
"""Dots of a square's side, where there is room."""
SHEET_GAP: Final = 36
TEXT: Final = 40


def sheet(title: str, boards: Sequence[Board | DrawnBoard], text: str) -> bytes:
    """The sheet of a game as a PDF: its boards, each under one of the text's first lines, then the rest of the text.

    Tabs divide a line into columns of one width. Raises ValueError when the text does not fit on the page.
    """
    lines = text.rstrip("\n").split("\n")
    page = Image.new("1", PAGE, 1)
    pen = ImageDraw.Draw(page)
    pen.text((MARGIN, MARGIN), title, 0, font(64))
    y = MARGIN + 110
    side = min((_side(board, len(boards)) for board in boards if isinstance(board, Board)), default=0)
    for board in boards:
        pen.text((MARGIN, y), lines.pop(0), 0, font(TEXT))
        x, y = MARGIN, y + 70
        if isinstance(board, DrawnBoard):
            drawn = _drawn(board, PAGE[0] - 2 * MARGIN, PAGE[1] // 2 // len(boards))
            page.paste(drawn.convert("1"), (x, y))
            y += drawn.height + SHEET_GAP
            continue
        for panel in board.panels:
            _draw(pen, panel, x, y, side)
            x += (len(panel.columns) + 1) * side + SHEET_GAP
        y += (len(board.panels[0].rows) + 1) * side + SHEET_GAP + 20
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
    width = (PAGE[0] - 2 * MARGIN - SHEET_GAP * len(board.panels)) // sum(
        len(panel.columns) + 1 for panel in board.panels
    )
    height = PAGE[1] // 2 // boards // (len(board.panels[0].rows) + 1)
    return min(SHEET_SQUARE, width, height)


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
