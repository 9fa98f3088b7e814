"""Sticks: there are twenty, in turn each takes one to three, and whoever takes the last has won.

A game without setups and secrets, to show that the interface has room for it.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from pbem.games import Fault, Game, NoSetup, Refused, Result, faults
from pbem.games.audience import audience, cut, everybody
from pbem.phrase import Phrase

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pbem.games import Report

INTERFACE = 1

SHOWN = {"take": everybody("seat", "kind", "number")}


class Options(NamedTuple):
    sticks: int = 20
    seats: int = 2

    @property
    def changed(self) -> Mapping[str, object]:
        return {} if self.sticks == 20 else {"sticks": self.sticks}


class Take(NamedTuple):
    text: str
    number: int


class State(NamedTuple):
    options: Options
    left: int
    turn: int = 1
    result: Result | None = None

    @property
    def seat(self) -> int:
        return (self.turn - 1) % self.options.seats + 1

    @property
    def due(self) -> Mapping[int, None]:
        return {} if self.result else {self.seat: None}

    @property
    def remaining(self) -> tuple[int, ...]:
        return tuple(range(1, self.options.seats + 1))

    @property
    def scores(self) -> tuple[int, ...]:
        return self.result.scores if self.result else (0,) * self.options.seats


class Sticks(Game[Options, NoSetup, Take, State]):
    name = "sticks"
    title = "Sticks"
    editions = (1,)
    seats = (2, 3)
    empty_orders = False
    secret_setups = False

    def options(self, raw: Mapping[str, object], seats: int) -> Options:
        sticks = raw.get("sticks", 20)
        if seats not in self.seats or set(raw) - {"sticks"} or type(sticks) is not int or not 1 <= sticks <= 99:
            raise Refused(Fault("sticks", None, Phrase("two or three players; `sticks` is from 1 to 99")))
        return Options(sticks, seats)

    def setup(self, options: Options, seat: int, text: str) -> NoSetup:
        del options, seat
        return NoSetup.judge(text)

    def begin(self, options: Options, setups: Sequence[NoSetup]) -> State:
        del setups
        return State(options, options.sticks)

    def order(self, state: State, seat: int, text: str) -> Take:
        del seat
        found = re.fullmatch(r"\s*take\s+([123])\s*", text)
        if not found or int(found[1]) > state.left:
            raise Refused(Fault("1", text.strip(), Phrase("say `take` and a number from 1 to 3")))
        return Take(f"take {found[1]}", int(found[1]))

    def turn(self, state: State, orders: Mapping[int, Take]) -> tuple[State, list[Report]]:
        seat, number = state.seat, orders[state.seat].number
        left = state.left - number
        scores = tuple(int(one == seat) for one in state.remaining)
        result = None if left else Result.of(scores)
        report = {"seat": seat, "kind": "take", "number": number}
        return State(state.options, left, state.turn + (result is None), result), [report]

    def show(self, report: Report, seat: int | None) -> Report | None:
        return cut(report, SHOWN, audience(report.get("seat"), seat, range(1, 4)))


RULES = Sticks()


def ahead(state: State, seat: int, turn: int, text: str) -> tuple[Fault, ...]:
    del turn
    return faults(RULES.order, state._replace(left=99), seat, text)
