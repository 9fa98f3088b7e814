"""The board: provinces and their coasts, which of them border on which for armies and fleets, and the start.

The facts are in `standard_map`. A place is where a unit stands: a province, `PAR`, or a coast, `SPA/NC`.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Final, NamedTuple

from pbem_diplomacy import standard_map

if TYPE_CHECKING:
    from collections.abc import Mapping

ARMY: Final = "A"
FLEET: Final = "F"


def province_of(place: str) -> str:
    """The province in which a place is: `SPA` for `SPA/NC`."""
    return place.partition("/")[0]


class Unit(NamedTuple):
    """A unit: whose it is, army or fleet, and where it stands."""

    power: str
    kind: str
    place: str

    @property
    def province(self) -> str:
        """The province in which it stands."""
        return province_of(self.place)

    def __str__(self) -> str:
        return f"{self.power} {self.kind} {self.place}"

    @classmethod
    def read(cls, text: str) -> Unit:
        """The unit of a text such as `RUSSIA F STP/SC`."""
        return cls(*text.split())


class Province(NamedTuple):
    """A province: its code, its name, and what may stand in it."""

    code: str
    name: str
    kind: str
    """`sea`, `coast` or `land`."""
    coasts: tuple[str, ...] = ()
    """The places of a fleet in it, where its coast is split."""
    centre: bool = False
    home: str = ""
    """The power whose home centre it is."""


class Geography(NamedTuple):
    """A board, as far as it never changes."""

    powers: tuple[str, ...]
    provinces: Mapping[str, Province]
    borders: Mapping[str, Mapping[str, frozenset[str]]]
    """The places to which a unit could move, by its kind and the place where it stands."""
    neighbours: Mapping[str, frozenset[str]]
    """The provinces beside each one, over land or sea."""
    start: tuple[Unit, ...]
    owned: Mapping[str, str]
    """The owner of each centre that has one at the start."""
    year: int

    def reached(self, unit: Unit) -> frozenset[str]:
        """The places to which a unit could move from where it stands, without a convoy."""
        return self.borders[unit.kind].get(unit.place, frozenset())

    def provinces_reached(self, unit: Unit) -> set[str]:
        """The provinces to which a unit could move from where it stands, without a convoy."""
        return {province_of(place) for place in self.reached(unit)}

    def is_sea(self, place: str) -> bool:
        """True in open water, where fleets may carry armies."""
        return self.provinces[province_of(place)].kind == "sea"

    def has_coast(self, place: str) -> bool:
        """True if an army can be put ashore here."""
        return self.provinces[province_of(place)].kind == "coast"

    def seas_beside(self, province: str) -> set[str]:
        """The seas on which a coast borders."""
        places = self.provinces[province].coasts or (province,)
        return {sea for place in places for sea in self.borders[FLEET][place] if self.is_sea(sea)}

    def steps(self, origins: set[str]) -> dict[str, int]:
        """The number of steps from the nearest of some provinces to each one, over land or sea alike."""
        found, at, count = dict.fromkeys(origins, 0), set(origins), 0
        while at:
            count += 1
            at = {near for province in at for near in self.neighbours[province]} - found.keys()
            found |= dict.fromkeys(at, count)
        return found


@cache
def standard() -> Geography:
    """The standard board."""
    rows = [[*map(str.strip, line.split(";")), "", ""][:5] for line in standard_map.PROVINCES.split("\n") if line]
    provinces = {
        code: Province(
            code, name, kind, tuple(f"{code}/{coast}" for coast in coasts.split()), bool(centre), centre[1:]
        )
        for code, kind, name, coasts, centre in rows
    }
    borders = {
        kind: {place: frozenset(others.split()) for place, others in _rows(facts)}
        for kind, facts in ((ARMY, standard_map.ARMY), (FLEET, standard_map.FLEET))
    }
    pairs = {
        (province_of(place), province_of(other))
        for places in borders.values()
        for place, others in places.items()
        for other in others
    }
    start = _rows(standard_map.UNITS)
    return Geography(
        powers=tuple(power for power, _ in start),
        provinces=provinces,
        borders=borders,
        neighbours={code: frozenset(other for one, other in pairs if one == code) for code in provinces},
        start=tuple(Unit.read(f"{power} {unit}") for power, units in start for unit in units.split(", ")),
        owned={code: province.home for code, province in provinces.items() if province.home},
        year=standard_map.YEAR,
    )


def _rows(facts: str) -> list[tuple[str, str]]:
    """The lines of facts, as what stands before and behind the colon."""
    return [(head, tail.strip()) for head, _, tail in (line.partition(":") for line in facts.split("\n") if line)]
