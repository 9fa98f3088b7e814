"""Retreats: where a dislodged unit may go, and who meets there."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from pbem_diplomacy.geography import Unit, province_of
from pbem_diplomacy.movement import Outcome
from pbem_diplomacy.orders import DISBAND, RETREAT, Position

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from pbem_diplomacy.geography import Geography
    from pbem_diplomacy.movement import Dislodged
    from pbem_diplomacy.orders import Order


class Retreated(NamedTuple):
    """The result of the retreats."""

    outcomes: tuple[Outcome, ...]
    units: tuple[Unit, ...]
    """All units on the board."""
    disbanded: tuple[Unit, ...]


def open_to(
    geography: Geography, dislodged: Dislodged, units: Iterable[Unit], contested: Collection[str]
) -> tuple[str, ...]:
    """The places to which a unit may retreat.

    None that is taken, where a standoff left nobody, or from where its attacker came by land.
    """
    closed = {unit.province for unit in units} | {*contested}
    if not dislodged.by_convoy:
        closed.add(dislodged.origin)
    return tuple(sorted(place for place in geography.reached(dislodged.unit) if province_of(place) not in closed))


def retreat(
    geography: Geography,
    units: Sequence[Unit],
    dislodged: Sequence[Dislodged],
    contested: Collection[str],
    orders: Sequence[Order],
) -> Retreated:
    """The retreats: who has no legal order, or meets another, is disbanded."""
    lost = {each.unit.province: each for each in dislodged}
    position = Position.of(geography, [each.unit for each in dislodged])
    places: dict[str, str] = {}
    disbands: set[str] = set()
    for order in orders:
        unit = position.ordered(order)
        if unit is None or unit.province in places.keys() | disbands:
            continue
        if order.verb == DISBAND:
            disbands.add(unit.province)
        elif order.verb == RETREAT:
            place = position.destination(unit, order.to)
            if place in open_to(geography, lost[unit.province], units, contested):
                places[unit.province] = place
    met = Counter(map(province_of, places.values()))
    stay = {at: place for at, place in places.items() if met[province_of(place)] == 1}

    def outcome(order: Order) -> Outcome:
        at = order.province
        if position.ordered(order) is None:
            return Outcome(order, "illegal")
        if order.verb == DISBAND and at in disbands:
            return Outcome(order, "ok")
        if order.verb != RETREAT or position.destination(position.units[at], order.to) != places.get(at):
            return Outcome(order, "illegal")
        others = (by for by, place in places.items() if by != at and province_of(place) == province_of(places[at]))
        return Outcome(order, "ok" if at in stay else "bounced", tuple(sorted(others)))

    moved = [position.units[at]._replace(place=place) for at, place in stay.items()]
    gone = tuple(sorted(each.unit for at, each in lost.items() if at not in stay))
    return Retreated(tuple(map(outcome, orders)), tuple(sorted([*units, *moved])), gone)
