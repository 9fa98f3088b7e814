"""Marbles, a toy: each player hides one to nine in a fist, and in turn they guess how many the other has.

The answer to a guess is `more`, `fewer` or `right`, and who is right first wins. It is here to show that whoever
implements the interface of `pbem.games` plays by mail: a game with secrets and alternating turns, in a hundred lines.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from pbem.games import Fault, Refused, Result, faults
from pbem.games.audience import EVERYBODY, Shown, audience, cut
from pbem.phrase import Phrase

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pbem import games
    from pbem.games import Report

SHOWN: Shown = {"guess": {"seat": EVERYBODY, "kind": EVERYBODY, "number": EVERYBODY, "answer": EVERYBODY}}
"""Not in it, and so told to nobody: `hidden`, how many there were."""


@dataclass(frozen=True)
class Options:
    most: int = 9
    seats: int = 2

    @property
    def changed(self) -> Mapping[str, Any]:
        return {} if self.most == 9 else {"most": self.most}


@dataclass(frozen=True)
class Words:
    """A setup or orders: one number."""

    text: str
    number: int


@dataclass(frozen=True)
class State:
    options: Options
    hidden: tuple[int, int]
    turn: int = 1
    result: Result | None = None

    @property
    def seat(self) -> int:
        return 2 - self.turn % 2

    @property
    def due(self) -> Mapping[int, games.Orders | None]:
        return {} if self.result else {self.seat: None}

    @property
    def remaining(self) -> tuple[int, ...]:
        return 1, 2

    @property
    def scores(self) -> tuple[int, ...]:
        return self.result.scores if self.result else (0, 0)


class Marbles:
    name = "marbles"
    title = "Marbles"
    editions = (1,)
    seats = (2,)

    def options(self, raw: Mapping[str, Any], seats: int) -> Options:
        most = raw.get("most", 9)
        if seats != 2 or set(raw) - {"most"} or type(most) is not int or most < 1:
            raise Refused(
                Fault("most", None, Phrase("two players; `most` is the greatest number, and the only option"))
            )
        return Options(most)

    def setup(self, options: games.Options, seat: int, text: str) -> Words:  # noqa: ARG002 - alike for both
        return self._number(cast("Options", options), text, "hide")

    def begin(self, options: games.Options, setups: Sequence[games.Setup]) -> State:
        one, two = cast("Sequence[Words]", setups)
        return State(cast("Options", options), (one.number, two.number))

    def order(self, state: games.State, seat: int, text: str) -> Words:  # noqa: ARG002 - alike for both
        return self._number(cast("State", state).options, text, "guess")

    def ahead(self, state: games.State, seat: int, turn: int, text: str) -> tuple[Fault, ...]:
        own = (
            () if turn in (0, *range(seat, turn + 1, 2)) else (Fault("2", f"turn {turn}", Phrase("it is not yours")),)
        )
        return (*faults(self.order, state, seat, text), *own)

    def meant(self, text: str) -> str:
        return text.lower()

    def unused(self, state: games.State, seat: int, orders: games.Orders) -> tuple[Phrase, ...]:  # noqa: ARG002
        return ()

    def _number(self, options: Options, text: str, verb: str) -> Words:
        found = re.fullmatch(rf"\s*{verb}\s+([1-9][0-9]{{0,3}})\s*", text)
        if not found or int(found[1]) > options.most:
            message = Phrase("say `{verb}` and a number from 1 to {most}", verb=verb, most=options.most)
            raise Refused(Fault("1", text.strip(), message))
        return Words(f"{verb} {found[1]}", int(found[1]))

    def turn(self, state: games.State, orders: Mapping[int, games.Orders]) -> tuple[State, list[Report]]:
        position = cast("State", state)
        seat, guess = position.seat, cast("Words", orders[position.seat]).number
        hidden = position.hidden[2 - seat]
        answer = "right" if guess == hidden else "more" if hidden > guess else "fewer"
        result = Result(seat, (1, 0) if seat == 1 else (0, 1)) if answer == "right" else None
        after = State(position.options, position.hidden, position.turn + (result is None), result)
        return after, [{"seat": seat, "kind": "guess", "number": guess, "answer": answer, "hidden": hidden}]

    def without(self, state: games.State, seat: int, edition: int) -> State | None:  # noqa: ARG002 - of two
        return None

    def show(self, report: Report, seat: int | None) -> Report | None:
        return cut(report, SHOWN, audience(report.get("seat"), seat, range(1, 3)))

    def view(self, state: games.State, seat: int | None, turns: Sequence[Sequence[Report]]) -> dict[str, Any]:
        position = cast("State", state)
        own = position.hidden[seat - 1] if seat else None
        return {"most": position.options.most, "own": own, "guesses": [report for turn in turns for report in turn]}

    def recalled(self, view: Mapping[str, Any], seat: int) -> State:  # noqa: ARG002 - alike for both
        return State(Options(view["most"]), (0, 0), 1 + len(view["guesses"]))

    def carry(self, options: games.Options, result: Result) -> Options:  # noqa: ARG002 - win or lose
        return Options(cast("Options", options).most + 1)


RULES = Marbles()
