"""A second adjudicator, to compare with the first: orders are resolved one by one, by guesses that are confirmed.

The algorithm is that of "The Math of Adjudication" by Lucas B. Kruijswijk: an order is resolved by resolving those on
which it depends. Where it depends on itself, both guesses are tried; if both or neither hold, a backup rule decides.
Only the judgement whether an order is legal is shared with the first.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pbem_diplomacy.geography import FLEET
from pbem_diplomacy.orders import CONVOY, HOLD, MOVE, SUPPORT, Order, Position

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


class SecondAdjudicator:
    """The resolution of the orders of one movement."""

    def __init__(self, position: Position, orders: Sequence[Order]) -> None:
        self.position = position
        self.orders = {at: Order(unit.power, unit.kind, unit.place, HOLD) for at, unit in position.units.items()}
        self.orders |= {order.province: order for order in orders if position.legal(order)}
        self.guesses: dict[str, bool] = {}
        self.resolved: dict[str, bool] = {}
        self.cycle: list[str] = []
        self.sea = {at for at, order in self.orders.items() if order.verb == MOVE and self.sails(order)}

    def moved(self) -> set[str]:
        """The provinces whose units move."""
        return {at for at, order in self.orders.items() if order.verb == MOVE and self.resolve(at)}

    def confirms(self, results: Mapping[str, bool]) -> bool:
        """True if each of these results follows from all the others."""
        self.resolved = dict(results)
        return all(self.adjudicate(at) == result for at, result in results.items())

    # Dependence.

    def resolve(self, at: str) -> bool:
        if at in self.resolved:
            return self.resolved[at]
        if at in self.guesses:
            if at not in self.cycle:
                self.cycle.append(at)
            return self.guesses[at]
        before = len(self.cycle)
        self.guesses[at] = False
        first = self.adjudicate(at)
        if len(self.cycle) == before:
            if at not in self.resolved:
                self.resolved[at] = first
            self.guesses.pop(at, None)
            return self.resolved[at]
        if self.cycle[before] != at:
            self.cycle.append(at)
            self.guesses[at] = first
            return first
        self.forget(before)
        self.guesses[at] = True
        if self.adjudicate(at) == first:
            self.forget(before)
            self.guesses.pop(at, None)
            self.resolved[at] = first
            return first
        knot = {at, *self.cycle[before:]}
        self.forget(before)
        self.guesses.pop(at, None)
        if convoys := [each for each in knot if self.orders[each].verb == CONVOY]:
            self.resolved |= dict.fromkeys(convoys, False)
        else:
            self.resolved |= {each: True for each in knot if self.orders[each].verb == MOVE}
        return self.resolve(at)

    def forget(self, before: int) -> None:
        while len(self.cycle) > before:
            self.guesses.pop(self.cycle.pop(), None)

    # The rules.

    def adjudicate(self, at: str) -> bool:
        order = self.orders[at]
        if order.verb == MOVE:
            return self.succeeds(at)
        entering = [by for by in self.attackers(at) if self.resolve(by)]
        if order.verb == SUPPORT:
            target = order.to_province or order.of_province
            cut = [by for by in self.attackers(at) if by != target and self.orders[by].power != order.power]
            return not entering and not any(self.arrives(by) for by in cut)
        return not entering

    def succeeds(self, at: str) -> bool:
        if not self.arrives(at):
            return False
        to = self.orders[at].to_province
        rivals = [self.prevents(by) for by in self.attackers(to) if by != at]
        facing = self.head_on(at)
        there = self.orders.get(to)
        if there is None:
            attack, against = self.strength(at), 0
        elif facing:
            attack, against = self.against(at, there.power), self.strength(to)
        elif there.verb == MOVE and self.resolve(to):
            attack, against = self.strength(at), 0
        else:
            attack, against = self.against(at, there.power), 1 if there.verb == MOVE else self.strength(to)
        return attack > max([against, *rivals])

    def against(self, at: str, power: str) -> int:
        return 0 if self.orders[at].power == power else self.strength(at, but=power)

    def prevents(self, at: str) -> int:
        if not self.arrives(at) or (self.head_on(at) and self.resolve(self.orders[at].to_province)):
            return 0
        return self.strength(at)

    def strength(self, at: str, but: str = "") -> int:
        helpers = [by for by, order in self.orders.items() if order.verb == SUPPORT and self.helps(by, at)]
        return 1 + sum(self.resolve(by) for by in helpers if self.orders[by].power != but)

    # Whom it concerns.

    def helps(self, by: str, at: str) -> bool:
        order, helped = self.orders[by], self.orders[at]
        if order.of_province != at:
            return False
        if helped.verb != MOVE:
            return not order.to
        arrival = self.position.destination(self.position.units[at], helped.to) or helped.to_province
        return order.to_province == helped.to_province and ("/" not in order.to or order.to == arrival)

    def attackers(self, province: str) -> list[str]:
        return [at for at, order in self.orders.items() if order.verb == MOVE and order.to_province == province]

    def head_on(self, at: str) -> bool:
        to = self.orders[at].to_province
        there = self.orders.get(to)
        return bool(there and there.verb == MOVE and there.to_province == at and not {at, to} & self.sea)

    def carriers(self, order: Order) -> list[str]:
        return [
            by
            for by, each in self.orders.items()
            if each.verb == CONVOY and each.of_province == order.province and each.to_province == order.to_province
        ]

    def sails(self, order: Order) -> bool:
        walks = self.position.destination(self.position.units[order.province], order.to)
        own = any(self.orders[fleet].power == order.power for fleet in self.carriers(order))
        return order.via or not walks or own

    def arrives(self, at: str) -> bool:
        if at not in self.sea:
            return True
        order, geography = self.orders[at], self.position.geography
        reached, ends = {at}, geography.seas_beside(order.to_province)
        while True:  # every fleet is asked, for which one decides is not known beforehand
            near = {
                fleet
                for fleet in self.carriers(order)
                if fleet not in reached
                and (
                    fleet in geography.seas_beside(at)
                    or any(fleet in geography.borders[FLEET].get(sea, ()) for sea in reached)
                )
                and self.resolve(fleet)
            }
            if not near:
                return bool(ends & reached)
            reached |= near
