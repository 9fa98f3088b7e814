"""Diplomacy: seven powers, whose orders are written in secret and carried out all at once.

This is a game by the interface of `pbem.games`: text in, new positions and reports out; no clock, no files, and no
chance but that which deals the powers. The board is in `geography`, the notation in `notation`; what orders do is in
`movement`, `retreats` and `adjustments`, the year in `state`. The rulings whose numbers the faults name are in
`rules.txt`, among the templates.
"""

from __future__ import annotations

import re
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final

from pbem.games import Fault, Game, NoSetup, Refused, beyond, faults, refuse
from pbem.games.audience import Shown, audience, cut, everybody
from pbem.games.player_text import Text, plain, read_options
from pbem.phrase import Phrase, either
from pbem_diplomacy import adjustments, choices
from pbem_diplomacy.geography import FLEET, standard
from pbem_diplomacy.notation import Reader, corrected, written
from pbem_diplomacy.orders import BUILD, CONVOY, DISBAND, HOLD, MOVE, RETREAT, SUPPORT, WAIVE, Position
from pbem_diplomacy.recall import recalled
from pbem_diplomacy.state import ADJUSTMENT, DEALING, DEALT, MOVEMENT, PACES, RETREATS, Options, State, Written

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from pbem.games import Report
    from pbem.games.draws import Draws
    from pbem_diplomacy.geography import Unit
    from pbem_diplomacy.orders import Order

INTERFACE = 1
"""The number of the interface for which this is written."""

SHOWN: Shown = {
    "dealt": everybody("seat", "kind", "power", "word"),
    "order": everybody("seat", "kind", "power", "phase", "order", "outcome", "by"),
    "dislodged": everybody("seat", "kind", "power", "unit", "from", "open"),
    "disbanded": everybody("seat", "kind", "power", "unit"),
    "removed": everybody("seat", "kind", "power", "unit"),
    "centres": everybody("seat", "kind", "power", "year", "count", "places", "due"),
}
"""The readers of each field of a report: everybody. What is secret are the orders of the turn that is due."""

_VERBS: Final = {
    MOVEMENT: {HOLD, MOVE, SUPPORT, CONVOY},
    RETREATS: {RETREAT, DISBAND},
    ADJUSTMENT: {BUILD, DISBAND, WAIVE},
}
"""The verbs of orders, by the kind of phase."""


SIDES: Final[Mapping[str, tuple[str, ...]]] = {
    "AUSTRIA": ("austria", "aus", "a", "austria-hungary", "oesterreich", "oesterreich-ungarn"),
    "ENGLAND": ("england", "eng", "e"),
    "FRANCE": ("france", "fra", "f", "frankreich"),
    "GERMANY": ("germany", "ger", "g", "deutschland"),
    "ITALY": ("italy", "ita", "i", "italien"),
    "RUSSIA": ("russia", "rus", "r", "russland"),
    "TURKEY": ("turkey", "tur", "t", "tuerkei"),
}
"""The words by which each power is written to."""


class Diplomacy(Game[Options, NoSetup, Written, State]):
    """The rules."""

    name = "diplomacy"
    title = "Diplomacy"
    editions = (1,)
    """The editions of the rulings. One never changes: later rulings make a new one."""
    seats = (2, 3, 4, 5, 6, 7)
    empty_orders = True
    secret_setups = False
    chance = True

    def options(self, raw: Mapping[str, object], seats: int) -> Options:
        """The options of a proposal."""
        readers = {"powers": _powers(seats), "until": _year}
        agreed, found = read_options(raw, readers, seats, self.seats, Phrase("Diplomacy is for two to seven"))
        refuse(found)
        return Options(**agreed, seats=seats)

    def setup(self, options: Options, seat: int, text: str) -> NoSetup:
        """None: all begin on their home centres."""
        del options, seat
        return NoSetup.judge(text)

    def begin(self, options: Options, setups: Sequence[NoSetup]) -> State:
        """The position before turn 1: spring 1901, or the dealing of the powers."""
        del setups
        return State.begin(options)

    def order(self, state: State, seat: int, text: str) -> Written:
        """The orders of a seat; raises `Refused`."""
        found = Text(text)
        if state.phase == DEALING:
            return _word(text)
        orders = _Judge(state, seat, found).orders()
        found.refuse_faults()
        return Written("\n".join(map(written, orders)), tuple(orders))

    def turn(self, state: State, orders: Mapping[int, Written], chance: Draws) -> tuple[State, list[Report]]:
        """Resolve a turn, and what follows of which nobody is asked."""
        if state.phase == DEALING:
            words = {seat: orders[seat].text for seat in orders}
            return state.dealt(chance.shuffled(len(standard().powers)), words)
        given = [order for seat in sorted(orders) for order in orders[seat].orders]
        return state.played(given)

    def show(self, report: Report, seat: int | None) -> Report | None:
        """The part of a report that a seat, or the public, may read."""
        return cut(report, SHOWN, audience(report.get("seat"), seat, range(1, max(self.seats) + 1)))


class _Judge:
    """The judgement of a seat's orders in the phase that is due."""

    def __init__(self, state: State, seat: int, text: Text) -> None:
        self.state = state
        self.power = state.powers[seat - 1]
        self.text = text
        self.kind = state.kind
        self.position = Position.of(standard(), state.orderable)

    def orders(self) -> list[Order]:
        """The orders that are legal, with what their writer left out."""
        read = Reader(self.text).orders()
        found: list[Order] = []
        for at, short in read:
            order = self.filled(short)
            message = self.fault(order, found)
            if message:
                rule, says = message
                self.text.blame(rule, written(order) if order.place else None, says, at)
            else:
                found.append(order)
        return found

    def filled(self, order: Order) -> Order:
        """An order with its power, and the kind and the coast of each unit; what is dislodged retreats by a move."""
        order = order._replace(power=self.power)
        if (self.kind, order.verb) == (RETREATS, MOVE):
            order = order._replace(verb=RETREAT, via=False)
        unit = None if order.verb == BUILD else self.position.units.get(order.province)
        if unit and order.kind in {"", unit.kind}:
            order = order._replace(kind=unit.kind, place=unit.place)
        other = self.position.units.get(order.of_province)
        if other and order.of_kind in {"", other.kind}:
            order = order._replace(of_kind=other.kind, of_place=other.place)
        return order

    def fault(self, order: Order, before: Sequence[Order]) -> tuple[str, Phrase] | None:
        """The ruling that an order breaks, and a sentence."""
        if order.verb not in _VERBS[self.kind]:
            return "5", Phrase("that is no order for this phase: {phase}", phase=self.state.title)
        if order.verb in {WAIVE, BUILD}:
            return self.build_fault(order, before)
        unit = self.position.units.get(order.province)
        if unit is None or unit.power != self.power:
            return "4", Phrase("you have no unit there that could be ordered")
        if order.kind != unit.kind:
            return "4", Phrase("the unit there is {unit}", unit=f"{unit.kind} {unit.place}")
        if any(each.province == order.province for each in before):
            return "3", Phrase("this unit has an order already")
        if self.kind == RETREATS:
            return self.retreat_fault(unit, order)
        if self.kind == ADJUSTMENT:
            return self.removal_fault(before)
        return None if self.position.legal(order) else ("6", _why_illegal(self.position, unit, order))

    def retreat_fault(self, unit: Unit, order: Order) -> tuple[str, Phrase] | None:
        """The fault of a retreat."""
        places = self.state.open_to(unit)
        if order.verb == DISBAND or self.position.destination(unit, order.to) in places:
            return None
        if not places:
            return "7", Phrase("it can retreat nowhere, and is disbanded")
        return "7", Phrase("it may retreat to {places}", places=either(places))

    def build_fault(self, order: Order, before: Sequence[Order]) -> tuple[str, Phrase] | None:
        """The fault of a build, or of one that is waived."""
        due = self.state.adjustments.get(self.power, 0)
        if len(before) >= due:
            return "8", Phrase("you have {count} builds", count=max(0, due))
        if order.verb == WAIVE:
            return None
        free = adjustments.sites(standard(), self.power, self.state.units, self.state.owned)
        free = [place for place in free if place not in {each.province for each in before}]
        if order.province not in free:
            return "8", Phrase("you can build in {places}", places=either(free) if free else Phrase("no centre"))
        if not adjustments.buildable(standard(), order):
            coasts = standard().provinces[order.province].coasts if order.kind == FLEET else ()
            says = Phrase("name the coast: {places}", places=either(coasts)) if coasts else None
            return "8", says or Phrase("write whether it is an army or a fleet that can stand there")
        return None

    def removal_fault(self, before: Sequence[Order]) -> tuple[str, Phrase] | None:
        """The fault of a removal."""
        due = max(0, -self.state.adjustments.get(self.power, 0))
        return ("9", Phrase("you have to remove {count} units", count=due)) if len(before) >= due else None


def _why_illegal(position: Position, unit: Unit, order: Order) -> Phrase:
    """The reason why an order could never be carried out."""
    if order.verb == MOVE:
        near = {each for each in position.geography.reached(unit) if order.to == each.partition("/")[0]}
        if len(near) > 1:
            return Phrase("name the coast: {places}", places=either(sorted(near)))
        if order.via:
            return Phrase("no fleets at sea could carry it there")
        return Phrase(
            "it cannot go there: it borders on {places}", places=either(sorted(position.geography.reached(unit)))
        )
    other = position.units.get(order.of_province)
    if other is None or other.kind != order.of_kind:
        return Phrase("there is no such unit: {unit}", unit=f"{order.of_kind} {order.of_place}".strip())
    if order.verb == SUPPORT:
        target = order.to_province or other.province
        if target not in position.geography.provinces_reached(unit):
            return Phrase("it cannot go to {place} itself, and so cannot support there", place=target)
        return Phrase("the other unit could never do that")
    if not position.geography.is_sea(unit.place):
        return Phrase("only fleets at sea carry armies")
    return Phrase("it is on no way by which that army could sail there")


def _word(text: str) -> Written:
    """The order before the powers are dealt: a word of one's own, or nothing, as for a player who is silent."""
    match text.lower().split():
        case []:
            return Written("", ())
        case [word] | ["deal", word] if re.fullmatch("[a-z0-9]{1,20}", word):
            return Written(f"deal {word}", ())
    says = Phrase("before the powers are dealt, write `deal` with a word of your own")
    raise Refused(Fault("1", text.strip()[:80], says))


def _powers(seats: int) -> Callable[[object], str]:
    """The reader of the option `powers`."""

    def read(value: object) -> str:
        words = str(value).upper().replace(",", " ").split()
        if words == [DEALT.upper()]:
            return DEALT
        known = standard().powers
        names = [next((power for power in known if power.startswith(word)), "") for word in words]
        if len(names) != seats or "" in names or len(set(names)) != len(names):
            raise ValueError(Phrase("`dealt`, or the power of each seat in order"))
        return " ".join(power.capitalize() for power in names)

    return read


def _year(value: object) -> int:
    """The reader of the option `until`."""
    if type(value) is not int or not 1901 <= value <= 1950:
        raise ValueError(Phrase("a year from 1901 to 1950"))
    return value


RULES: Final = Diplomacy()


def ahead(state: State, seat: int, turn: int, text: str) -> tuple[Fault, ...]:
    """The faults of orders for a later turn, whatever happens until then: their form."""
    del seat
    if late := beyond(state.options.turns, turn, "10"):
        return late
    return faults(_form, turn, text)


def _form(turn: int, text: str) -> None:
    if turn > 1 or not re.fullmatch(r"\s*(?:deal\s+)?[a-zA-Z0-9]{1,20}\s*", text):
        found = Text(text)
        Reader(found).orders()
        found.refuse_faults()


def slips(text: str) -> str:
    """The orders that were probably meant: the player is asked."""
    return corrected(plain(text))


def pace(state: State) -> Fraction:
    """Retreats and adjustments take a part of the pace."""
    return PACES.get(state.kind, Fraction(1))


def period(state: State) -> Phrase:
    """The season and the year."""
    return state.title


def side(state: State, seat: int) -> tuple[str, ...]:
    """The power of a seat once it is dealt: its name, also short as judges write it, and in German."""
    return SIDES[state.powers[seat - 1]] if state.powers else ()


def offers(view: Mapping[str, Any]) -> list[str]:
    """The lines to choose from: all legal orders of the reader's units, by unit."""
    if view["entitled"] == DEALING:
        return ["deal "]
    return [written(order) for order in choices.legal(recalled(view, view["seat"]), view["seat"])]


def without(state: State, seat: int, edition: int) -> State | None:
    """The position once a seat has resigned: its power is in disorder, and its units hold."""
    del edition
    return state.without(seat)
