"""A march: in each turn each walks up to three steps, or rests; whoever has twenty first has won. For three to seven.

A game of many with empty orders, in which the others walk on without whoever leaves.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from pbem.games import Fault, Game, NoSetup, Refused, Result
from pbem.games.audience import audience, cut, everybody
from pbem.phrase import Phrase

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pbem.games import Report

INTERFACE = 1
FAR = 20
SHOWN = {"walk": everybody("seat", "kind", "steps")}


class Options(NamedTuple):
    seats: int = 3

    @property
    def changed(self) -> Mapping[str, object]:
        return {}


class Walk(NamedTuple):
    text: str


class State(NamedTuple):
    options: Options
    scores: tuple[int, ...]
    gone: tuple[int, ...] = ()
    turn: int = 1
    result: Result | None = None

    @property
    def due(self) -> Mapping[int, None]:
        return {} if self.result else dict.fromkeys(self.remaining)

    @property
    def remaining(self) -> tuple[int, ...]:
        return tuple(seat for seat in range(1, self.options.seats + 1) if seat not in self.gone)


class March(Game[Options, NoSetup, Walk, State]):
    name = "march"
    title = "March"
    editions = (1,)
    seats = (3, 4, 5, 6, 7)
    empty_orders = True
    secret_setups = False

    def options(self, raw: Mapping[str, object], seats: int) -> Options:
        if seats not in self.seats or raw:
            raise Refused(Fault("seats", None, Phrase("three to seven players, and no options")))
        return Options(seats)

    def setup(self, options: Options, seat: int, text: str) -> NoSetup:
        del options, seat
        return NoSetup.judge(text)

    def begin(self, options: Options, setups: Sequence[NoSetup]) -> State:
        del setups
        return State(options, (0,) * options.seats)

    def order(self, state: State, seat: int, text: str) -> Walk:
        del state, seat
        found = re.fullmatch(r"\s*(?:walk\s+([1-3])\s*)?", text)
        if not found:
            raise Refused(Fault("1", text.strip(), Phrase("say `walk 1`, `walk 2` or `walk 3`, or nothing")))
        return Walk(f"walk {found[1]}" if found[1] else "")

    def turn(self, state: State, orders: Mapping[int, Walk]) -> tuple[State, list[Report]]:
        steps = {seat: int(walk.text[-1:] or 0) for seat, walk in orders.items()}
        scores = tuple(score + steps.get(seat, 0) for seat, score in enumerate(state.scores, start=1))
        over = max(scores) >= FAR or state.turn >= FAR
        reports: list[Report] = [{"seat": seat, "kind": "walk", "steps": count} for seat, count in steps.items()]
        after = state._replace(scores=scores, result=Result.of(scores) if over else None)
        return after._replace(turn=state.turn + (not over)), reports

    def show(self, report: Report, seat: int | None) -> Report | None:
        return cut(report, SHOWN, audience(report.get("seat"), seat, range(1, 8)))


RULES = March()


def without(state: State, seat: int, edition: int) -> State | None:
    del edition
    return state._replace(gone=(*state.gone, seat)) if len(state.remaining) > 2 else None
