"""Orders, and which of them could ever be carried out in a position: the others are ignored (2023 rules, DATC 4.E.1).

What an order does is decided in `movement`, `retreats` and `adjustments`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from pbem_diplomacy.geography import ARMY, FLEET, Unit, province_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from pbem_diplomacy.geography import Geography

HOLD = "H"
MOVE = "-"
SUPPORT = "S"
CONVOY = "C"
RETREAT = "R"
DISBAND = "D"
BUILD = "B"
WAIVE = "W"


class Order(NamedTuple):
    """An order of a power to one of its units."""

    power: str
    kind: str
    place: str
    """The place of the unit, as it was ordered; for a build, that of the new one."""
    verb: str
    to: str = ""
    """The place to which it moves or retreats; in a support or a convoy, that of the other unit."""
    of_kind: str = ""
    of_place: str = ""
    """The place of the unit that is supported or carried."""
    via: bool = False
    """True if an army is to go by sea though it could walk."""

    @property
    def province(self) -> str:
        """The province of the unit."""
        return province_of(self.place)

    @property
    def to_province(self) -> str:
        """The province of `to`."""
        return province_of(self.to)

    @property
    def of_province(self) -> str:
        """The province of the unit that is supported or carried."""
        return province_of(self.of_place)

    @property
    def supports_hold(self) -> bool:
        """True of a support to hold."""
        return self.verb == SUPPORT and not self.to

    def __str__(self) -> str:
        other = f"{self.of_kind} {self.of_place}"
        tail = {
            MOVE: f"- {self.to}{' VIA' if self.via else ''}",
            SUPPORT: f"S {other} - {self.to}" if self.to else f"S {other}",
            CONVOY: f"C {other} - {self.to}",
            RETREAT: f"R {self.to}",
        }.get(self.verb, self.verb)
        return f"{self.kind} {self.place} {tail}"


class Position(NamedTuple):
    """The units on the board, by province, and what can be said of orders in it."""

    geography: Geography
    units: Mapping[str, Unit]

    @classmethod
    def of(cls, geography: Geography, units: Iterable[Unit]) -> Position:
        """The position with these units."""
        return cls(geography, {unit.province: unit for unit in units})

    def ordered(self, order: Order) -> Unit | None:
        """The unit that an order of a movement is for, if the power has it and knows what it is."""
        unit = self.units.get(order.province)
        return unit if unit and (unit.power, unit.kind) == (order.power, order.kind) else None

    def destination(self, unit: Unit, to: str) -> str:
        """The place where a unit would arrive without a convoy; empty if it cannot go there.

        An army has no coast (4.B.6). A fleet whose order leaves out the coast goes to the only one that it can
        reach; if it can reach two, or not the one that is named, the order is illegal (4.B.1 to 4.B.3).
        """
        if unit.kind == ARMY:
            place = province_of(to)
            return place if place in self.geography.reached(unit) else ""
        near = self.geography.reached(unit)
        places = [place for place in near if to in (place, province_of(place))]
        return places[0] if len(places) == 1 else ""

    def may_reach(self, unit: Unit, to: str, without: str = "") -> bool:
        """True if a unit could ever come there: a support need not name the coast (4.B.4).

        `without` names a fleet that does not carry it, as it gives support.
        """
        near = self.geography.reached(unit)
        if unit.kind == FLEET:
            return any(to in (place, province_of(place)) for place in near)
        return province_of(to) in near or self.can_be_carried(unit, province_of(to), without)

    def can_be_carried(self, army: Unit, to: str, without: str = "") -> bool:
        """True if the fleets at sea could carry an army there."""
        fleets = {province for province in self.at_sea if province != without}
        return self.sails(army, to) and bool(useful(self.geography, army.province, to, fleets))

    def sails(self, army: Unit, to: str) -> bool:
        """True if an army goes from a coast to another."""
        coasts = self.geography.has_coast(army.province) and self.geography.has_coast(to)
        return army.kind == ARMY and army.province != to and coasts

    @property
    def at_sea(self) -> set[str]:
        """The seas in which a fleet is."""
        return {province for province, unit in self.units.items() if self.geography.is_sea(unit.place)}

    def legal(self, order: Order) -> bool:
        """True if an order of a movement could be carried out here, whatever the others order."""
        unit = self.ordered(order)
        if unit is None:
            return False
        if order.verb == HOLD:
            return True
        if order.verb == MOVE:
            walks = bool(self.destination(unit, order.to)) and not order.via
            return walks or self.can_be_carried(unit, order.to_province)
        other = self.units.get(order.of_province)
        if other is None or other.kind != order.of_kind or other is unit:
            return False
        if order.verb == SUPPORT:
            target = order.to_province or other.province
            able = target != unit.province and target in self.geography.provinces_reached(unit)
            if not able or not order.to:
                return able
            return target != other.province and self.may_reach(other, order.to, without=unit.province)
        if order.verb != CONVOY or unit.kind != FLEET or not self.sails(other, order.to_province):
            return False
        routes = useful(self.geography, other.province, order.to_province, self.at_sea)
        return unit.province in routes


def useful(geography: Geography, origin: str, to: str, seas: set[str]) -> set[str]:
    """The seas, of these, that are on some route of a convoy; on a route, no sea can be left out.

    So a fleet from which the army would only be handed back and forth carries nothing (DATC 6.G.7, 6.G.19).
    """
    first = geography.seas_beside(origin) & seas
    last = geography.seas_beside(to) & seas
    borders = geography.borders[FLEET]
    found: set[str] = set()

    def follow(route: tuple[str, ...], shunned: set[str]) -> None:
        at = route[-1]
        if at in last:
            found.update(route)
            return  # whatever comes behind could be left out
        for sea in (borders[at] & seas) - shunned:
            follow((*route, sea), shunned | borders[at] | {at})

    for sea in first:
        follow((sea,), first)
    return found
