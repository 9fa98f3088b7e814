"""The map as a picture (SVG): provinces, owners of centres, units, and an arrow for each order of the last movement.

A power is told by its letter as well as by its colour, and what failed by dashes as well as by red.
"""

from __future__ import annotations

from math import hypot
from typing import TYPE_CHECKING, Any, Final

from markupsafe import Markup

from pbem_diplomacy.geography import FLEET, province_of, standard
from pbem_diplomacy.map_shapes import HEIGHT, WIDTH, cells, points
from pbem_diplomacy.notation import spelled
from pbem_diplomacy.orders import BUILD, CONVOY, DISBAND, MOVE, RETREAT, SUPPORT

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pbem_diplomacy.map_shapes import Point
    from pbem_diplomacy.orders import Order

COLOURS: Final[Mapping[str, str]] = {
    "AUSTRIA": "#d1495b",
    "ENGLAND": "#2f4b9c",
    "FRANCE": "#5bb0e8",
    "GERMANY": "#55524c",
    "ITALY": "#3f9142",
    "RUSSIA": "#9a4fb0",
    "TURKEY": "#e6b422",
}
_LIGHT: Final = frozenset({"FRANCE", "TURKEY"})
"""The powers on whose colour letters are dark."""

SEA, LAND, NOBODY, INK, FAILED = "#d3e4ee", "#efe6d2", "#cfc8b8", "#33302b", "#b3261e"
OWNED: Final = 0.55
"""The strength of its owner's colour on a centre."""

_COASTS: Final[Mapping[str, Point]] = {
    "SPA/NC": (-6, -50),
    "SPA/SC": (14, 80),
    "STP/NC": (40, -90),
    "STP/SC": (-30, 10),
    "BUL/EC": (36, 2),
    "BUL/SC": (4, 34),
}
"""The step from the middle of a province to a fleet on one of its coasts."""

NAME: Final = 26
"""The height of names: a telephone of 390 pixels shows them 9 pixels high."""
_BELOW, _ABOVE = 36, -21
_NAMED_ABOVE: Final = frozenset({"ARM", "BUL", "CLY", "CON", "EDI", "HOL", "LON", "LVP", "PAR", "PIC", "STP"})
"""The provinces whose names stand above the unit: below they would meet another name, or a unit. A test says so."""

_BESIDE: Final = 25
"""The step to the right from a unit to the one that it dislodged: both letters stay visible."""
_LEFT: Final = frozenset({"BUL", "CLY", "CON", "IRI", "MAR", "PIC", "STP/SC", "TYR"})
"""The places at which it is a step to the left: on the right is a name, or another coast. A test says so."""


def drawn(view: Mapping[str, Any], orders: Sequence[tuple[Order, bool]] = ()) -> Markup:
    """The picture of a view, with orders, each with whether it succeeded."""
    owned: Mapping[str, str] = view["owned"]
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif">',
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="{SEA}"/>',
        *_provinces(owned),
        *_borders(),
        *(_arrow(order, done) for order, done in orders),
        *_names(),
        *(_head(order, done) for order, done in orders if order.verb in {MOVE, RETREAT}),
        *(_unit(*each["unit"].split(), dislodged=True) for each in view["dislodged"]),
        *(_unit(*text.split()) for text in view["units"]),
        "</svg>",
    ]
    return Markup("\n".join(part for part in parts if part))  # noqa: S704 - made of facts: no player's text is in it


def _provinces(owned: Mapping[str, str]) -> Iterator[str]:
    """The land, a centre in the colour of its owner."""
    for cell in cells():
        province = standard().provinces.get(cell.province)
        if province and province.kind == "sea":
            continue
        owner = owned.get(cell.province, "")
        fill = NOBODY if province is None else COLOURS.get(owner, LAND)
        faint = f' fill-opacity="{OWNED}"' if owner else ""
        path = " ".join(f"{x:.0f},{y:.0f}" for x, y in cell.corners)
        if owner:
            yield f'<polygon points="{path}" fill="{LAND}"/>'
        yield f'<polygon points="{path}" fill="{fill}"{faint}/>'


def _borders() -> Iterator[str]:
    """The lines between provinces: coasts are the strongest, borders at sea the faintest."""
    lines: list[list[str]] = [[], [], []]  # by how many of the two provinces are seas
    for cell in cells():
        for at, beyond in enumerate(cell.beyond):
            if beyond <= cell.province:  # each border once, and none within a province
                continue
            seas = sum(_is_sea(province) for province in (cell.province, beyond))
            (x, y), (to_x, to_y) = cell.corners[at], cell.corners[(at + 1) % len(cell.corners)]
            lines[seas].append(f"M{x:.0f} {y:.0f}L{to_x:.0f} {to_y:.0f}")
    for (width, colour), several in zip(((1.5, INK), (3, INK), (1.5, "#7fa3b8")), lines, strict=True):
        yield f'<path d="{"".join(several)}" stroke="{colour}" stroke-width="{width}" stroke-linecap="round"/>'


def _is_sea(province: str) -> bool:
    return province in standard().provinces and standard().is_sea(province)


def _names() -> Iterator[str]:
    """The code of each province, and a dot for a centre; both on a halo, as arrows run below them."""
    for code, province in standard().provinces.items():
        x, y = named(code)
        sea = province.kind == "sea"
        halo = f'stroke="{SEA if sea else LAND}" stroke-width="5" stroke-linejoin="round" stroke-opacity="0.7"'
        dot = f'<circle cx="{x + 33:.0f}" cy="{y - 7:.0f}" r="5" ' if province.centre else ""
        text = f'<text x="{x:.0f}" y="{y:.0f}" font-size="{NAME}" text-anchor="middle" '
        ink = f'fill="{"#39606f" if sea else INK}"'
        for paint in (halo, ink):
            yield f"{text}{paint}>{code.capitalize()}</text>"
            if dot:
                yield f"{dot}{paint}/>"


def named(code: str) -> Point:
    """The middle of the line on which the name of a province stands."""
    x, y = _middle(code)
    return x, y + (_ABOVE if code in _NAMED_ABOVE else _BELOW)


def _middle(province: str) -> Point:
    return points()[province][0]


def place(name: str) -> Point:
    """The point at which a unit stands."""
    x, y = _middle(province_of(name))
    right, down = _COASTS.get(name, (0, 0))
    return x + right, y + down


def beside(name: str) -> Point:
    """The point at which a unit stands that was dislodged."""
    x, y = place(name)
    return x + (-_BESIDE if name in _LEFT else _BESIDE), y


def _unit(power: str, kind: str, name: str, *, dislodged: bool = False) -> str:
    """A unit: a disc for an army, a hull for a fleet, with the letter of its power.

    One that was dislodged stands beside the other, with a red edge: parted by white, as a power is red, too.
    """
    x, y = beside(name) if dislodged else place(name)
    colour, letters = COLOURS[power], INK if power in _LIGHT else "#ffffff"
    shape = (
        f'<path d="M{x - 19:.0f},{y - 10:.0f} H{x + 19:.0f} L{x + 13:.0f},{y + 13:.0f} H{x - 13:.0f} Z"'
        if kind == FLEET
        else f'<circle cx="{x:.0f}" cy="{y:.0f}" r="15"'
    )
    letter = (
        f'<text x="{x:.0f}" y="{y + 8:.0f}" font-size="22" font-weight="bold" text-anchor="middle"'
        f' fill="{letters}">{power[0]}</text>'
    )
    title = f"<title>{power.capitalize()} {kind} {spelled(name)}</title>"
    edges = ((FAILED, 12), ("#ffffff", 5)) if dislodged else ((INK, 2),)
    body = "".join(f'{shape} fill="{colour}" stroke="{edge}" stroke-width="{width}"/>' for edge, width in edges)
    return f"<g>{title}{body}{letter}</g>"


def _arrow(order: Order, done: bool) -> str:
    """The way of a unit, or the line of who helps: to the middle of the way of the unit that is helped.

    A unit that was built has a ring, one that was disbanded leaves a cross.
    """
    if not order.place:  # a build that was waived
        return ""
    x, y = place(order.place)
    if order.verb in {MOVE, RETREAT}:
        return _line((x, y), place(order.to), done)
    if order.verb in {SUPPORT, CONVOY}:
        of_x, of_y = place(order.of_place)
        to_x, to_y = place(order.to or order.of_place)
        return _line((x, y), ((of_x + to_x) / 2, (of_y + to_y) / 2), done, thin=True)
    if order.verb == BUILD and done:
        ring = f'<circle cx="{x:.0f}" cy="{y:.0f}" r="25"'
        return f'{ring} fill="{COLOURS[order.power]}" stroke="{INK}" stroke-width="3"/>'
    if order.verb == DISBAND:
        crossed = f"M{x - 14:.0f} {y - 14:.0f}l28 28m0 -28l-28 28"
        return f'<path d="{crossed}" stroke="{FAILED}" stroke-width="5" stroke-linecap="round"/>'
    return ""


def _line(start: Point, end: Point, done: bool, *, thin: bool = False) -> str:
    """The shaft of an arrow, or the thin line of who helps."""
    (x, y), (to_x, to_y) = start, _before(start, end)[0]
    colour = INK if done else FAILED
    dashes = ' stroke-dasharray="11 7"' if not done else ' stroke-dasharray="3 7"' if thin else ""
    return (
        f'<line x1="{x:.0f}" y1="{y:.0f}" x2="{to_x:.0f}" y2="{to_y:.0f}" stroke="{colour}"'
        f' stroke-width="{3 if thin else 5}"{dashes}/>'
    )


def _before(start: Point, end: Point) -> tuple[Point, Point]:
    """The point where a line ends before the unit that stands there, and the direction in which it comes."""
    (x, y), (to_x, to_y) = start, end
    length = hypot(to_x - x, to_y - y) or 1
    right, down = (to_x - x) / length, (to_y - y) / length
    return (to_x - 16 * right, to_y - 16 * down), (right, down)


def _head(order: Order, done: bool) -> str:
    """The head of an arrow, which is drawn over names: below one it could not be seen."""
    (x, y), (right, down) = _before(place(order.place), place(order.to))
    tip = [(0, 0), (-18, 8), (-18, -8)]
    corners = " ".join(f"{x + a * right - b * down:.0f},{y + a * down + b * right:.0f}" for a, b in tip)
    return f'<polygon points="{corners}" fill="{INK if done else FAILED}"/>'
