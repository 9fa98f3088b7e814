"""Boards that a game draws itself, such as maps: an SVG, and what it shows in words.

A drawing is made of `Markup`, whose `format` escapes whatever a player wrote; and of SVG only shapes and text are
taken: nothing that runs, nothing from elsewhere, in a letter or on a page. Implements docs/games.md, "Boards".
"""

from __future__ import annotations

import base64
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final
from xml.etree import ElementTree

from markupsafe import Markup

from pbem.boards import TINTS

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pbem.games.squares import Board, Panel

_NAMESPACE: Final = "{http://www.w3.org/2000/svg}"
_ELEMENTS: Final = frozenset(
    {
        *("svg", "g", "path", "rect", "circle", "ellipse", "line", "polyline", "polygon"),
        *("text", "tspan", "title", "desc"),
    }
)
_ATTRIBUTES: Final = frozenset(
    {
        *("viewBox", "x", "y", "x1", "y1", "x2", "y2", "dx", "dy", "cx", "cy", "r", "rx", "ry", "width", "height"),
        *("d", "points", "transform", "fill", "fill-opacity", "fill-rule", "opacity", "stroke", "stroke-dasharray"),
        *("stroke-linecap", "stroke-linejoin", "stroke-opacity", "stroke-width"),
        *("dominant-baseline", "font-family", "font-size", "font-style", "font-weight", "text-anchor"),
    }
)
_VALUE: Final = re.compile(r"[A-Za-z0-9#%., ()+\n-]*")
"""The values of attributes: numbers, lengths, colours, paths; no address."""
_BOX: Final = re.compile(r"0 0 ([1-9][0-9]{1,3}) ([1-9][0-9]{1,3})")
_STRETCHED: Final = 4  # times as wide as high, or as high as wide, at most
_LONGEST: Final = 1 << 20  # characters


@dataclass(frozen=True)
class DrawnBoard:
    """One seat's side as its game draws it, or a board that all share (seat 0); raises ValueError for other SVG."""

    seat: int
    svg: Markup
    """The drawing, of the size that its `viewBox` names. It paints its own background: readers' pages may be dark."""
    words: str
    """What it shows, for readers who see no pictures."""
    panels: Sequence[Panel] = ()

    def __post_init__(self) -> None:
        if not isinstance(self.svg, Markup):
            raise ValueError("a drawing is Markup: its `format` escapes what players wrote")
        if len(self.svg) > _LONGEST or "<!" in self.svg or "<?" in self.svg:
            raise ValueError(f"a drawing has at most {_LONGEST} characters, and neither comments nor declarations")
        try:
            drawing = ElementTree.fromstring(self.svg)  # noqa: S314 - without declarations there are no entities
        except ElementTree.ParseError as error:
            raise ValueError(f"the drawing is no XML: {error}") from error
        if drawing.tag != f"{_NAMESPACE}svg":
            raise ValueError(f"a drawing begins with svg in its namespace, not with {drawing.tag}")
        for element in drawing.iter():
            name = element.tag.removeprefix(_NAMESPACE)
            if name not in _ELEMENTS or not element.tag.startswith(_NAMESPACE):
                raise ValueError(f"a drawing has no element {name}; there are {', '.join(sorted(_ELEMENTS))}")
            for attribute, value in element.items():
                if attribute not in _ATTRIBUTES or not _VALUE.fullmatch(value):
                    raise ValueError(f"a drawing has no {attribute}={value!r} at {name}")
        width, height = self.size
        if max(width, height) > _STRETCHED * min(width, height):
            raise ValueError(f"a drawing is at most {_STRETCHED} times as wide as high, or as high as wide")

    @property
    def size(self) -> tuple[int, int]:
        """Its width and height, in its own units."""
        box = _BOX.fullmatch(ElementTree.fromstring(self.svg).get("viewBox", ""))  # noqa: S314 - as above
        if box is None:
            raise ValueError('a drawing says its size: viewBox="0 0 WIDTH HEIGHT", whole numbers up to 9999')
        return int(box[1]), int(box[2])

    @property
    def address(self) -> str:
        """The drawing as the address of an image (RFC 2397): in an image of a page nothing runs or loads."""
        return f"data:image/svg+xml;base64,{base64.b64encode(self.svg.encode()).decode()}"


def drawings(boards: Iterable[Board | DrawnBoard] | None) -> list[DrawnBoard]:
    """The boards that their game draws itself."""
    return [board for board in boards or () if isinstance(board, DrawnBoard)]


def mark(seat: int, x: float, y: float, radius: float) -> Markup:
    """A piece of a seat for a drawing: in its colours, with its number, for whoever cannot tell the colours."""
    background, ink = TINTS[f"seat {seat}"]
    return Markup(
        '<circle cx="{x}" cy="{y}" r="{r}" fill="{background}" stroke="#1c1917" stroke-width="{line}"/>'
        '<text x="{x}" y="{y}" font-size="{size}" text-anchor="middle" dominant-baseline="central" fill="{ink}">'
        "{seat}</text>"
    ).format(x=x, y=y, r=radius, background=background, line=radius / 10, size=radius * 1.3, ink=ink, seat=seat)
