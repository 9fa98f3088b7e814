"""The movement: every order is carried out or not, and why.

The answers are found by a fold. Four questions are asked of the orders: has a convoyed army a route, is a support
given, does a move succeed, is a unit dislodged? Each rule answers one of them, as soon as what is known already
suffices for it, whatever the rest will be: strengths are known as the least and the most that they can be. The fold
goes over all questions until nothing new is found. What then remains depends on itself: a circle of moves, which all
succeed, or a paradox of convoys, whose fleets then carry nobody (the rule of Szykman, DATC 4.A.2).

The terms are those of the DATC, chapter 5: hold, attack, defend and prevent strength.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from pbem_diplomacy.orders import CONVOY, HOLD, MOVE, SUPPORT, Order, Position, useful

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

    from pbem_diplomacy.geography import Geography, Unit

ROUTE = "route"
GIVEN = "given"
MOVES = "moves"
DISLODGED = "dislodged"

Question = tuple[str, str]
"""One of these four, and the province of the unit of which it is asked."""


class Answer(NamedTuple):
    """An answer, and the reason for it."""

    yes: bool
    why: str
    by: tuple[str, ...] = ()
    """The provinces of the units that were the reason."""


class Strength(NamedTuple):
    """A strength: the least and the most that it can be."""

    least: int
    most: int


NONE = Strength(0, 0)


class Outcome(NamedTuple):
    """The outcome of an order, by its code, and the provinces of the units that were the reason."""

    order: Order
    code: str
    by: tuple[str, ...] = ()


class Dislodged(NamedTuple):
    """A unit that must retreat."""

    unit: Unit
    origin: str
    """The province from which its attacker came."""
    by_convoy: bool
    """True if the attacker came by sea: then the unit may retreat to where it came from (4.A.5)."""


class Moved(NamedTuple):
    """The result of a movement."""

    outcomes: tuple[Outcome, ...]
    """The outcomes of the orders, in the order in which these were given."""
    units: tuple[Unit, ...]
    """The units that stand on the board, without the dislodged ones."""
    dislodged: tuple[Dislodged, ...]
    contested: frozenset[str]
    """The provinces that are empty after a standoff: nobody may retreat there."""


def move(geography: Geography, units: Iterable[Unit], orders: Sequence[Order]) -> Moved:
    """The movement of these units by these orders: an order that could never be valid is ignored."""
    position = Position.of(geography, units)
    return Movement(position, orders).result()


class Movement:
    """The fold of a movement: what is known of its questions so far."""

    def __init__(self, position: Position, orders: Sequence[Order]) -> None:
        self.given = orders
        self.position = position
        self.orders = {
            unit.province: Order(unit.power, unit.kind, unit.place, HOLD) for unit in position.units.values()
        }
        """The legal order of each unit; a unit without one holds."""
        self.orders |= {order.province: order for order in orders if position.legal(order)}
        self.moves = {at: order for at, order in self.orders.items() if order.verb == MOVE}
        self.by_sea = {at for at in self.moves if self._goes_by_sea(at)}
        self.carriers = {at: self._carriers(at) for at in self.by_sea}
        self.known: dict[Question, Answer] = {}
        self._asked: set[Question] = set()

    # What the orders say, whatever becomes of them.

    def _goes_by_sea(self, at: str) -> bool:
        """True if an army is carried: it cannot walk, says so, or a fleet of its own power is to carry it (4.A.3)."""
        order, unit = self.moves[at], self.position.units[at]
        if order.via or not self.position.destination(unit, order.to):
            return True
        return any(self.orders[fleet].power == unit.power for fleet in self._carriers(at))

    def _carriers(self, at: str) -> set[str]:
        """The fleets that are ordered to carry this army to where it goes."""
        to = self.moves[at].to_province
        return {
            fleet
            for fleet, order in self.orders.items()
            if order.verb == CONVOY and (order.of_province, order.to_province) == (at, to)
        }

    def attackers(self, province: str) -> list[str]:
        """The units that move there."""
        return [at for at, order in self.moves.items() if order.to_province == province]

    def matches(self, at: str) -> bool:
        """True if a support is for what the other unit was ordered to do."""
        order = self.orders[at]
        other = self.orders[order.of_province]
        if order.supports_hold or other.verb != MOVE:
            return order.supports_hold and other.verb != MOVE
        arrives = self.position.destination(self.position.units[other.province], other.to) or other.to_province
        return order.to in (arrives, other.to_province)

    def supporters(self, at: str) -> list[str]:
        """The units that support what this one does."""
        return [
            by
            for by, order in self.orders.items()
            if order.verb == SUPPORT and order.of_province == at and self.matches(by)
        ]

    def opponent(self, at: str) -> str:
        """The unit that this one meets head on, as each moves to where the other stands; empty if there is none."""
        to = self.moves[at].to_province
        meets = to in self.moves and self.moves[to].to_province == at and not {at, to} & self.by_sea
        return to if meets else ""

    # The fold.

    def ask(self, kind: str, at: str) -> bool | None:
        """The answer to a question, if it is known."""
        if answer := self.known.get((kind, at)):
            return answer.yes
        self._asked.add((kind, at))
        return None

    def fold(self) -> None:
        """Answer all questions."""
        rules: Mapping[str, Callable[[str], Answer | None]] = {
            ROUTE: self.route,
            GIVEN: self.support,
            MOVES: self.success,
            DISLODGED: self.dislodgement,
        }
        supports = [at for at, order in self.orders.items() if order.verb == SUPPORT]
        provinces = {ROUTE: self.by_sea, GIVEN: supports, MOVES: self.moves, DISLODGED: self.orders}
        open_questions = [(kind, at) for kind, all_of_these in provinces.items() for at in sorted(all_of_these)]
        while open_questions:
            rests_on: dict[Question, set[Question]] = {}
            for question in open_questions:
                self._asked = set()
                kind, at = question
                if answer := rules[kind](at):
                    self.known[question] = answer
                else:
                    rests_on[question] = self._asked
            if len(rests_on) == len(open_questions):
                self._untie(rests_on)
            open_questions = [question for question in open_questions if question not in self.known]

    def _untie(self, rests_on: Mapping[Question, set[Question]]) -> None:
        """Answer the questions of a knot: the fewest that rest on each other, and on nothing else that is open."""
        knot = min(
            (_all_below(question, rests_on) for question in rests_on), key=lambda found: (len(found), min(found))
        )
        if armies := [question for question in knot if question[0] == ROUTE]:
            self.known |= dict.fromkeys(armies, Answer(False, "paradox"))
        else:
            self.known |= dict.fromkeys(
                (question for question in knot if question[0] == MOVES), Answer(True, "circle")
            )

    # The rules, one for each question.

    def route(self, at: str) -> Answer | None:
        """A convoyed army has a route as long as one is left whose fleets all stay (4.A.1)."""
        order, fleets = self.moves[at], self.carriers[at]
        sea = self.position.geography
        if not useful(sea, at, order.to_province, fleets):
            return Answer(False, "no-route")
        lost = {fleet for fleet in fleets if self.ask(DISLODGED, fleet)}
        if not useful(sea, at, order.to_province, fleets - lost):
            return Answer(False, "disrupted", tuple(sorted(lost)))
        staying = {fleet for fleet in fleets if self.ask(DISLODGED, fleet) is False}
        return Answer(True, "carried") if useful(sea, at, order.to_province, staying) else None

    def support(self, at: str) -> Answer | None:
        """A support is cut if its unit is attacked, but not from where the support goes, or if it is dislodged."""
        order = self.orders[at]
        dislodged = self.ask(DISLODGED, at)
        if dislodged:
            return Answer(False, "cut", self.known[DISLODGED, at].by)
        cutting = [
            by
            for by in self.attackers(at)
            if self.moves[by].power != order.power and by != (order.to_province or order.of_province)
        ]
        arrive = {by: self.arrives(by) for by in cutting}
        if by := tuple(by for by in cutting if arrive[by]):
            return Answer(False, "cut", by)
        if dislodged is None or None in arrive.values():
            return None
        return Answer(True, "given")

    def success(self, at: str) -> Answer | None:
        """A move succeeds if it is stronger than what holds or comes against it, and than all that go there, too."""
        to = self.moves[at].to_province
        if self.arrives(at) is False:
            return self.known[ROUTE, at]
        attack = self.attack(at)
        against = {other: self.prevent(other) for other in self.attackers(to) if other != at}
        against[to] = self.defend(self.opponent(at)) if self.opponent(at) else self.hold(to)
        if by := tuple(sorted(other for other, strength in against.items() if strength.least >= attack.most)):
            return Answer(False, "bounced", by)
        if all(strength.most < attack.least for strength in against.values()):
            return Answer(True, "moved")
        return None

    def dislodgement(self, at: str) -> Answer | None:
        """A unit is dislodged if another moves to where it is, and it does not leave."""
        leaves = self.ask(MOVES, at) if at in self.moves else False
        if leaves:
            return Answer(False, "left")
        entered = {by: self.ask(MOVES, by) for by in self.attackers(at)}
        if leaves is False and (by := tuple(by for by, enters in entered.items() if enters)):
            return Answer(True, "dislodged", by)
        return Answer(False, "stayed") if all(enters is False for enters in entered.values()) else None

    # Strengths.

    def arrives(self, at: str) -> bool | None:
        """True if a unit on the move has a way; None if that is not known yet."""
        return self.ask(ROUTE, at) if at in self.by_sea else True

    def supported(self, at: str, but: str = "") -> Strength:
        """The strength of a unit with the support that it is given, but for that of one power."""
        votes = [self.ask(GIVEN, by) for by in self.supporters(at) if self.orders[by].power != but]
        return Strength(1 + votes.count(True), 1 + votes.count(True) + votes.count(None))

    def hold(self, province: str) -> Strength:
        """The strength with which a province holds: nothing if it is empty, or left."""
        if province not in self.orders:
            return NONE
        if province not in self.moves:
            return self.supported(province)
        leaves = self.ask(MOVES, province)
        return NONE if leaves else Strength(0 if leaves is None else 1, 1)

    def attack(self, at: str) -> Strength:
        """The strength of an attack. Nobody attacks an own unit that stays, nor helps to dislodge one."""
        if (arrives := self.arrives(at)) is False:
            return NONE
        to = self.moves[at].to_province
        free = self.supported(at)
        attacked = self.orders.get(to)
        if attacked is None:
            strength = free
        else:
            own = attacked.power == self.moves[at].power
            against = NONE if own else self.supported(at, but=attacked.power)
            leaves = self.ask(MOVES, to) if to in self.moves and not self.opponent(at) else False
            strength = free if leaves else against if leaves is False else Strength(against.least, free.most)
        return strength if arrives else Strength(0, strength.most)

    def defend(self, at: str) -> Strength:
        """The strength of a unit against the one that it meets head on."""
        return self.supported(at)

    def prevent(self, at: str) -> Strength:
        """The strength with which a unit keeps others out of where it goes: none if it was beaten head on (4.A.7)."""
        if (arrives := self.arrives(at)) is False:
            return NONE
        beaten = self.ask(MOVES, opponent) if (opponent := self.opponent(at)) else False
        if beaten:
            return NONE
        strength = self.supported(at)
        return strength if arrives and beaten is False else Strength(0, strength.most)

    # The result.

    def result(self) -> Moved:
        """The result, once all questions are answered."""
        self.fold()
        dislodged, stay = [], []
        for at, unit in self.position.units.items():
            if self.ask(DISLODGED, at):
                (attacker,) = self.known[DISLODGED, at].by
                dislodged.append(Dislodged(unit, attacker, attacker in self.by_sea))
            elif at in self.moves and self.ask(MOVES, at):
                to = self.moves[at].to
                stay.append(unit._replace(place=self.position.destination(unit, to) or self.moves[at].to_province))
            else:
                stay.append(unit)
        taken = {unit.province for unit in stay}
        contested = {
            order.to_province
            for at, order in self.moves.items()
            if order.to_province not in taken and self.prevent(at).least
        }
        outcomes = tuple(self.outcome(order) for order in self.given)
        return Moved(outcomes, tuple(sorted(stay)), tuple(sorted(dislodged)), frozenset(contested))

    def outcome(self, order: Order) -> Outcome:
        """The outcome of an order."""
        at = order.province
        if self.orders.get(at) is not order:
            return Outcome(order, "illegal")
        if order.verb == MOVE:
            answer = self.known[MOVES, at]
            if not answer.yes and at in self.by_sea and not self.known[ROUTE, at].yes:
                answer = self.known[ROUTE, at]
            code = "disrupted" if answer.why == "paradox" else answer.why
            return Outcome(order, "ok" if answer.yes else code, answer.by)
        if order.verb == SUPPORT:
            answer = self.known[GIVEN, at]
            if not self.matches(at):
                return Outcome(order, "unmatched")
            return Outcome(order, "ok" if answer.yes else "cut", answer.by)
        answer = self.known[DISLODGED, at]
        if answer.yes:
            return Outcome(order, "dislodged", answer.by)
        return Outcome(order, "ok") if order.verb == HOLD else self._carried(order)

    def _carried(self, order: Order) -> Outcome:
        """The outcome of a convoy whose fleet stayed."""
        army = self.moves.get(order.of_province)
        if army is None or army.to_province != order.to_province:
            return Outcome(order, "unmatched")
        carriers = self.carriers.get(army.province, set())
        if order.province not in useful(self.position.geography, army.province, army.to_province, carriers):
            return Outcome(order, "unused")
        route = self.known[ROUTE, army.province]
        return Outcome(order, "ok" if route.yes else route.why, route.by)


def _all_below(question: Question, rests_on: Mapping[Question, Collection[Question]]) -> set[Question]:
    """The open questions on which one rests, through others as well, and the question itself."""
    found, at = {question}, [question]
    while at:
        for other in rests_on.get(at.pop(), ()):
            if other not in found:
                found.add(other)
                at.append(other)
    return found
