"""The legal orders of a seat, to choose from."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING

from pbem_diplomacy import adjustments
from pbem_diplomacy.geography import ARMY, FLEET, standard
from pbem_diplomacy.orders import BUILD, CONVOY, DISBAND, HOLD, MOVE, RETREAT, SUPPORT, WAIVE, Order, Position, useful
from pbem_diplomacy.state import ADJUSTMENT, RETREATS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pbem_diplomacy.geography import Unit
    from pbem_diplomacy.state import State


def legal(state: State, seat: int) -> Iterator[Order]:
    """The legal orders of a seat in the phase that is due, unit by unit."""
    power = state.powers[seat - 1]
    own = [unit for unit in state.orderable if unit.power == power]
    if state.kind == RETREATS:
        return chain.from_iterable(_retreats(state, unit) for unit in own)
    if state.kind == ADJUSTMENT and state.adjustments.get(power, 0) > 0:
        return _builds(state, power)
    if state.kind == ADJUSTMENT:
        return (Order(power, unit.kind, unit.place, DISBAND) for unit in own)
    position = Position.of(standard(), state.units)
    return chain.from_iterable(_movements(position, unit) for unit in own)


def _movements(position: Position, unit: Unit) -> Iterator[Order]:
    """The orders of a unit in spring or fall."""
    order = Order(unit.power, unit.kind, unit.place, HOLD)
    yield order
    ways = _ways(position, unit)
    yield from (order._replace(verb=MOVE, to=place) for place in ways)
    near = position.geography.reached(unit)
    yield from (order._replace(verb=MOVE, to=place, via=True) for place in _carried(position, unit) if place in near)
    targets = position.geography.provinces_reached(unit)
    others = [other for other in position.units.values() if other != unit]
    for other in others:
        support = order._replace(verb=SUPPORT, of_kind=other.kind, of_place=other.place)
        places = ["", *(place for place in _ways(position, other) if place.partition("/")[0] in targets)]
        yield from filter(position.legal, (support._replace(to=place) for place in places))
    if position.geography.is_sea(unit.place):
        for other in others:
            convoy = order._replace(verb=CONVOY, of_kind=other.kind, of_place=other.place)
            places = _carried(position, other)
            yield from filter(position.legal, (convoy._replace(to=place) for place in places))


def _ways(position: Position, unit: Unit) -> list[str]:
    """The places to which a unit may move, over land or sea."""
    return sorted({*position.geography.reached(unit), *_carried(position, unit)})


def _carried(position: Position, unit: Unit) -> list[str]:
    """The provinces to which fleets could carry an army."""
    geography, seas = position.geography, position.at_sea
    if not seas:
        return []
    coasts = (place for place in sorted(geography.provinces) if position.sails(unit, place))
    return [place for place in coasts if useful(geography, unit.province, place, seas)]


def _retreats(state: State, unit: Unit) -> Iterator[Order]:
    order = Order(unit.power, unit.kind, unit.place, DISBAND)
    yield from (order._replace(verb=RETREAT, to=place) for place in state.open_to(unit))
    yield order


def _builds(state: State, power: str) -> Iterator[Order]:
    for site in adjustments.sites(standard(), power, state.units, state.owned):
        for kind in (ARMY, FLEET):
            for place in (site, *standard().provinces[site].coasts):
                order = Order(power, kind, place, BUILD)
                if adjustments.buildable(standard(), order):
                    yield order
    yield Order(power, "", "", WAIVE)
