"""The shapes of provinces: each is what lies nearest to its points, given as longitude and latitude.

The points are chosen so that two provinces touch if, and only if, they border on each other: a test says so.
Nothing was copied from any map.
"""

from __future__ import annotations

from functools import cache
from itertools import pairwise
from math import dist
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

POINTS: Final = """
ADR: 14.5,43.6 16.6,42.4 13.2,44.9 18.4,41.2 18.7,40.5
AEG: 25,37.6 25.1,39.2 24.9,36 27,36.3
ALB: 20,41
ANK: 33,40.3 35.5,41
APU: 16.6,41.2 17.6,40.4 14.9,42.3 14,42.7
ARM: 41,40.5
BAL: 18,56 15,55.2 19.5,57.5 19.8,55.6 13,54.7
BAR: 36,70.8 42,70 28,72.5 37,69.5 48,70 22,73
BEL: 4.4,50.7 3.4,51
BER: 13.2,52.8
BLA: 34,43.3 30.5,43.3 37.5,43.6 40,43 29.2,43.3
BOH: 15,49.8 17.1,49.6 14,48.9
BOT: 20,61.5 21.5,64 19.8,59.7 24,59.9 27.8,60
BRE: -2.5,48.2 -0.8,48.9
BUD: 20,47.3 23,46.8
BUL: 25,42.7 23.5,42 27.4,43
BUR: 4.5,47.3 5.5,48.5
CLY: -5,57.3
CON: 29.5,40.6 27,41 27.3,40
DEN: 9.3,56 11.5,55.5
EAS: 30,34.5 33.5,34.5 28,33.5
EDI: -3.2,56.3 -2.7,57.3
ENG: -2,50 0.5,50.3 -5,49.5 1.3,50.6
FIN: 26,63 25,66 24.5,61
GAL: 23.5,49.7 21,49.9 19.2,49.7 25.6,48.4 18.7,49.3
GAS: 0,44.3
GRE: 22,39 22.5,37.5 22,40
HEL: 7.5,54.7
HOL: 5.5,52.3
ION: 18.5,38 17,35.5 20,36 15.5,36 19,34 19,39.4
IRELAND: -8,53.3
IRI: -6.5,51.3 -5,53.5
KIE: 9.5,53.3
LON: 0,51.4
LVN: 25,56.5 24.5,58.5 22.8,55.6 26.5,58
LVP: -3,54.3 -2.7,53.6 -4.3,55.1
LYO: 5.5,42 8,42.8 3.8,41.6
MAO: -13,45 -11,40 -11,36 -7,46 -6,44.5 -6.6,35.9
MAR: 5.5,44 4,44.3 3,43.3
MOS: 38,56 45,57 34,55 42,53 32,56.5 28,53.6
MUN: 10.5,50 11,48.8 11.8,50.7
NAF: 2,35 -4,34.3 -7,33
NAO: -12.5,56 -20,58 -18,62 -10,57 -7.5,55.4
NAP: 15.6,39.8 16.4,38.9
NTH: 3,56 2,58.5 3.5,54 2.6,52.2
NWG: 0,66 5,69 -6,66 3,63.5 16,72
NWY: 9,61 14,66 23,70 8.5,59.3 17,68.5
PAR: 2.3,48.6
PIC: 2.3,50 0.6,49.5 2.8,49.7
PIE: 8,45 8.5,45.4
POR: -8.3,39.8
PRU: 19,53.7 16.5,53.8 21,54.8
ROM: 12.7,42
RUH: 7.3,51.3
RUM: 26.5,45 28.2,44.5 26.3,46.6
SER: 21,43.7 21.8,41.6
SEV: 40,47 34.5,46.3 45,46 33.8,45.2
SIL: 16.5,51.2 14.7,51.4
SKA: 9.5,57.8 10.8,57.6
SMY: 29,38 32,37.5 35.5,38.3
SPA: -3.5,40.5 -1,41 -4,42.6 -2,38.3 -5.5,37.5 1.5,42
STP: 32,60 38,64 45,65 30,66.5 50,62 30.5,58.6 28.8,58.6
SWE: 15,60 17.5,64 14,57.5 20,67
SWITZERLAND: 7.3,46.5 8.6,46.6
SYR: 38,35
TRI: 16,45 18,43.9 18.9,42.5 14.4,45.9
TUN: 9.5,35
TUS: 11,43.5
TYR: 13.3,47.6 12,47 10,46.7
TYS: 12,39.8 11,41 10.5,38.5
UKR: 31,50 28.5,49 27,50.8 26,50.5
VEN: 12,45.6 12.7,44.2 13,46 13.3,43.5
VIE: 16,48 17.3,48.6
WAL: -3.7,52.3 -2.9,52.2
WAR: 21.5,52.2 23.5,52
WES: 3,38.8 6.5,39 0,37 -3.6,36.1
YOR: -0.8,53.5 -1.6,52.9
"""
"""The points of each province; the name of a country that nobody enters is written out."""

WIDTH: Final = 1000
HEIGHT: Final = 1200
_ACROSS: Final = ((-16, 0), (-7, 86), (24, 780), (31, 892), (46, 1000))
_DOWN: Final = ((72, 0), (62, 145), (58, 238), (37, 1091), (32, 1200))
"""The places of some longitudes and latitudes on the map, others between: the middle of Europe has the most room."""
_DEGREE: Final = 0.72
"""The length of a degree of longitude where provinces are parted, in degrees of latitude."""

Point = tuple[float, float]


class Cell(NamedTuple):
    """The surroundings of one point: its province, its corners, and beyond each side the province there."""

    province: str
    corners: tuple[Point, ...]
    beyond: tuple[str, ...]
    """The provinces beyond the sides, from each corner to the next; empty at the edge of the map."""


@cache
def points() -> Mapping[str, tuple[Point, ...]]:
    """The points of each province, on the map."""
    return {province: tuple(map(_on_map, several)) for province, several in _parted().items()}


def _parted() -> Mapping[str, tuple[Point, ...]]:
    """The points of each province where provinces are parted: on a plain on which nothing is stretched."""
    rows = (line.split(": ") for line in POINTS.split("\n") if line)
    return {province: tuple(map(_placed, places.split())) for province, places in rows}


def _placed(place: str) -> Point:
    longitude, latitude = map(float, place.split(","))
    return longitude * _DEGREE, latitude


def _on_map(point: Point) -> Point:
    """The place on the map of a point of the plain."""
    return _between(_ACROSS, point[0] / _DEGREE), _between(_DOWN, point[1])


def _between(known: Sequence[tuple[int, int]], degree: float) -> float:
    """The place of a degree, from the nearest ones whose place is known."""
    steps = pairwise(known)
    (start, at), (end, to) = next(step for step in steps if min(step)[0] <= degree <= max(step)[0])
    return at + (degree - start) / (end - start) * (to - at)


@cache
def cells() -> tuple[Cell, ...]:
    """The cells of all points: together they are the map."""
    owners = [(point, province) for province, several in _parted().items() for point in several]
    return tuple(_cell(point, province, owners) for point, province in owners)


def _cell(point: Point, province: str, owners: list[tuple[Point, str]]) -> Cell:
    """The cell of a point: the map, cut half way to each other point."""
    west, east, north, south = _ACROSS[0][0] * _DEGREE, _ACROSS[-1][0] * _DEGREE, _DOWN[0][0], _DOWN[-1][0]
    frame: list[Point] = [(west, north), (east, north), (east, south), (west, south)]
    sides = [(corner, "") for corner in frame]
    for other, name in sorted(owners, key=lambda owner: dist(point, owner[0])):
        if other == point:
            continue
        middle = ((point[0] + other[0]) / 2, (point[1] + other[1]) / 2)
        across = (other[0] - point[0], other[1] - point[1])
        far = [(at[0] - middle[0]) * across[0] + (at[1] - middle[1]) * across[1] for at, _ in sides]
        if max(far) <= 0:
            continue
        cut: list[tuple[Point, str]] = []
        for at, (corner, beyond) in enumerate(sides):
            following = (at + 1) % len(sides)
            if far[at] <= 0:
                cut.append((corner, beyond))
            if (far[at] <= 0) != (far[following] <= 0):
                share = far[at] / (far[at] - far[following])
                end = sides[following][0]
                crossing = (corner[0] + share * (end[0] - corner[0]), corner[1] + share * (end[1] - corner[1]))
                cut.append((crossing, name if far[at] <= 0 else beyond))
        sides = cut
    return Cell(province, tuple(_on_map(corner) for corner, _ in sides), tuple(beyond for _, beyond in sides))
