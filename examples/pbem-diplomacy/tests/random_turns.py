"""Random turns on the standard board: crowded positions, whose orders get in each other's way."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pbem_diplomacy.geography import ARMY, FLEET, Unit, province_of, standard
from pbem_diplomacy.orders import CONVOY, HOLD, MOVE, SUPPORT, Order, Position

if TYPE_CHECKING:
    from collections.abc import Sequence
    from random import Random


def random_turn(random: Random) -> tuple[list[Unit], list[Order]]:
    """Units and their orders: about half of all orders help or carry another unit."""
    geography = standard()
    # A part of the board, so that units meet.
    seas = [code for code, province in geography.provinces.items() if province.kind == "sea"]
    near = {random.choice(seas)}
    for _ in range(random.randint(4, 24)):
        beside = {other for province in near for other in geography.neighbours[province]} - near
        near.add(random.choice(sorted(beside)))
    powers = random.sample(geography.powers, random.randint(2, 4))
    units = []
    for province in sorted(near):
        if random.random() < 0.25:
            continue
        kind = geography.provinces[province].kind
        fleet = kind == "sea" or (kind == "coast" and random.random() < 0.3)
        place = random.choice(geography.provinces[province].coasts or (province,)) if fleet else province
        units.append(Unit(random.choice(powers), FLEET if fleet else ARMY, place))
    position = Position.of(geography, units)
    orders: list[Order] = []
    armies_first = random.random() < 0.5  # so that there is something to carry
    for unit in sorted(random.sample(units, len(units)), key=lambda unit: armies_first and unit.kind == FLEET):
        orders.append(_order(random, position, unit, orders))
    return units, orders


def _order(random: Random, position: Position, unit: Unit, others: Sequence[Order]) -> Order:
    """An order that fits what was ordered before, or a move."""
    own = unit.power, unit.kind, unit.place
    moves = [order for order in others if order.verb == MOVE]
    helping = [
        *(Order(*own, SUPPORT, move.to, move.kind, move.place) for move in moves),
        *(Order(*own, SUPPORT, "", order.kind, order.place) for order in others if order.verb != MOVE),
        *(Order(*own, CONVOY, move.to, move.kind, move.place) for move in moves),
    ]
    legal = [order for order in helping if position.legal(order)]
    if legal and random.random() < 0.6:
        return random.choice(legal)
    places = sorted(position.geography.reached(unit))
    walks = [Order(*own, MOVE, place) for place in places]
    sails = [
        Order(*own, MOVE, other, via=random.random() < 0.5)
        for other in position.units
        if unit.kind == ARMY and other != unit.province and position.can_be_carried(unit, other)
    ]
    shores = {
        province
        for sea in position.at_sea
        for province in map(province_of, position.geography.borders[FLEET][sea])
        if unit.kind == ARMY and province != unit.province and position.can_be_carried(unit, province)
    }
    sails += [Order(*own, MOVE, province) for province in sorted(shores)]
    attacks = [order for order in walks if order.to_province in position.units]
    choice = random.random()
    for orders, share in ((sails, 0.5), (attacks, 0.8), (walks, 0.95)):
        if orders and choice < share:
            return random.choice(orders)
    return Order(*own, HOLD)


def changed_turn(random: Random, units: Sequence[Unit], orders: Sequence[Order]) -> tuple[list[Unit], list[Order]]:
    """A turn like this one: some units come to it, and some get other orders."""
    position = Position.of(standard(), units)
    near = {other for province in position.units for other in position.geography.neighbours[province]}
    more = []
    for province in random.sample(
        sorted(near - position.units.keys()), random.randint(0, min(3, len(near - position.units.keys())))
    ):
        kind = position.geography.provinces[province].kind
        fleet = kind == "sea" or (kind == "coast" and random.random() < 0.5)
        place = random.choice(position.geography.provinces[province].coasts or (province,)) if fleet else province
        more.append(Unit(random.choice(units).power, FLEET if fleet else ARMY, place))
    position = Position.of(position.geography, [*units, *more])
    kept = [order for order in orders if random.random() < 0.85]
    left = {order.province for order in kept}
    for unit in position.units.values():
        if unit.province not in left:
            kept.append(_order(random, position, unit, kept))
    return list(position.units.values()), random.sample(kept, len(kept))
