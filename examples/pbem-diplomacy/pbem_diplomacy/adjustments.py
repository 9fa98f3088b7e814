"""Adjustments: each power has as many units as centres; new ones are built at home, and too many are removed."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from pbem_diplomacy.geography import ARMY, FLEET, Unit, province_of
from pbem_diplomacy.movement import Outcome
from pbem_diplomacy.orders import BUILD, DISBAND, WAIVE

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from pbem_diplomacy.geography import Geography
    from pbem_diplomacy.orders import Order


class Adjusted(NamedTuple):
    """The result of the adjustments."""

    outcomes: tuple[Outcome, ...]
    units: tuple[Unit, ...]
    """All units on the board."""
    civil_disorder: tuple[Unit, ...]
    """The units that were removed for want of orders."""


def due(units: Iterable[Unit], owned: Mapping[str, str]) -> dict[str, int]:
    """The adjustments of each power: builds above zero, removals below it. The sites of builds do not matter here."""
    counts: dict[str, int] = {}
    for power in owned.values():
        counts[power] = counts.get(power, 0) + 1
    for unit in units:
        counts[unit.power] = counts.get(unit.power, 0) - 1
    return {power: count for power, count in counts.items() if count}


def sites(geography: Geography, power: str, units: Iterable[Unit], owned: Mapping[str, str]) -> list[str]:
    """The home centres where a power could build: those that it still owns, and that are empty."""
    taken = {unit.province for unit in units}
    homes = [code for code, province in geography.provinces.items() if province.home == power]
    return sorted(code for code in homes if owned.get(code) == power and code not in taken)


def buildable(geography: Geography, order: Order) -> bool:
    """True if such a unit can stand in such a place: a fleet on a coast, named where there are two (4.B.7, 4.C.4)."""
    province = geography.provinces.get(order.province)
    if province is None:
        return False
    if order.kind == ARMY:
        return order.place == province.code and province.kind != "sea"
    return order.kind == FLEET and order.place in (
        province.coasts or ((province.code,) if province.kind == "coast" else ())
    )


def adjust(
    geography: Geography, units: Sequence[Unit], owned: Mapping[str, str], orders: Sequence[Order]
) -> Adjusted:
    """The adjustments: of too many orders, the first legal ones count (4.D.4, 4.D.6)."""
    board = list(units)
    left = due(units, owned)
    outcomes = []
    for order in orders:
        power, count = order.power, left.get(order.power, 0)
        unit = Unit(power, order.kind, order.place)
        if order.verb == BUILD:
            legal = order.province in sites(geography, power, board, owned) and buildable(geography, order)
            legal = legal and due(units, owned).get(power, 0) > 0
        elif order.verb == DISBAND:
            legal = unit in board and due(units, owned).get(power, 0) < 0
        else:
            legal = order.verb == WAIVE and due(units, owned).get(power, 0) > 0
        done = legal and (count < 0 if order.verb == DISBAND else count > 0)
        if done and order.verb == DISBAND:
            board.remove(unit)
            left[power] += 1
        elif done:
            board += [unit] if order.verb == BUILD else []
            left[power] -= 1
        outcomes.append(Outcome(order, "ok" if done else "excess" if legal else "illegal"))
    removed = []
    for power, count in left.items():
        for unit in farthest_first(geography, power, board, owned)[: max(0, -count)]:
            board.remove(unit)
            removed.append(unit)
    return Adjusted(tuple(outcomes), tuple(sorted(board)), tuple(sorted(removed)))


def farthest_first(geography: Geography, power: str, units: Iterable[Unit], owned: Mapping[str, str]) -> list[Unit]:
    """The units of a power in the order in which disorder removes them (2023 rules, 4.D.8).

    First those farthest from any centre that the power owns, each step over land or sea counting one; of these,
    fleets before armies; then by the English names of their provinces.
    """
    steps = geography.steps({centre for centre, owner in owned.items() if owner == power})

    def rank(unit: Unit) -> tuple[int, bool, str]:
        far = steps.get(unit.province, len(geography.provinces))
        return -far, unit.kind == ARMY, geography.provinces[province_of(unit.place)].name

    return sorted((unit for unit in units if unit.power == power), key=rank)
