"""A race: in turn each throws a die, and whoever has thirty first has won. Each throw also draws a card, in secret.

A game with chance, to show that the interface has room for it.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from pbem.games import Fault, Game, NoSetup, Refused, Result
from pbem.games.audience import audience, cut, everybody, owner
from pbem.phrase import Phrase

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pbem.games import Report
    from pbem.games.draws import Draws

INTERFACE = 1

SHOWN = {
    "die": everybody("seat", "kind", "number"),
    "card": owner("seat", "kind", "number"),
}


class Options(NamedTuple):
    seats: int = 2

    @property
    def changed(self) -> Mapping[str, object]:
        return {}


class Throw(NamedTuple):
    text: str


class State(NamedTuple):
    options: Options = Options()
    scores: tuple[int, ...] = (0, 0)
    cards: tuple[int, ...] = ()
    turn: int = 1
    result: Result | None = None

    @property
    def seat(self) -> int:
        return 2 - self.turn % 2

    @property
    def due(self) -> Mapping[int, None]:
        return {} if self.result else {self.seat: None}

    @property
    def remaining(self) -> tuple[int, ...]:
        return (1, 2)


class Race(Game[Options, NoSetup, Throw, State]):
    name = "race"
    title = "Race"
    editions = (1,)
    seats = (2,)
    empty_orders = False
    secret_setups = False
    chance = True
    secret_chance = True

    def options(self, raw: Mapping[str, object], seats: int) -> Options:
        if seats != 2 or raw:
            raise Refused(Fault("seats", None, Phrase("two players, and no options")))
        return Options()

    def setup(self, options: Options, seat: int, text: str) -> NoSetup:
        del options, seat
        return NoSetup.judge(text)

    def begin(self, options: Options, setups: Sequence[NoSetup]) -> State:
        del options, setups
        return State()

    def order(self, state: State, seat: int, text: str) -> Throw:
        del state, seat
        found = re.fullmatch(r"\s*throw\s+([a-z]{1,12})\s*", text)
        if not found:
            raise Refused(Fault("1", text.strip(), Phrase("say `throw` and a word")))
        return Throw(f"throw {found[1]}")

    def turn(self, state: State, orders: Mapping[int, Throw], chance: Draws) -> tuple[State, list[Report]]:
        (seat,) = orders
        number, card = chance.die(6), chance.shuffled(52)[0]
        scores = tuple(score + number * (seat == at) for at, score in enumerate(state.scores, start=1))
        result = Result.of(scores) if max(scores) >= 30 else None
        cards = (*state.cards, card)
        reports = [{"seat": seat, "kind": "die", "number": number}, {"seat": seat, "kind": "card", "number": card}]
        return State(state.options, scores, cards, state.turn + (result is None), result), reports

    def show(self, report: Report, seat: int | None) -> Report | None:
        return cut(report, SHOWN, audience(report.get("seat"), seat, range(1, 3)))


def offers(view: Mapping[str, object]) -> Sequence[str]:
    """Some words for the die, and room for another."""
    del view
    return ["throw luck", "throw seven", "throw please", "throw "]


RULES = Race()
