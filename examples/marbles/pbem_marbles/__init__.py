"""Marbles: each player hides one to nine stones in a fist, and in turn they guess how many the other has.

The answer to a guess is `more`, `fewer` or `right`, and who is right first wins. This is a game by the interface of
`pbem.games`: text in, new positions and reports out; no clock, no randomness, no files. The rulings whose numbers the
faults name are in `rules.txt`, among the templates.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pbem.games import Fault, Game, Refused, Result
from pbem.games.audience import Shown, audience, cut, everybody
from pbem.phrase import Phrase

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pbem.games import Report

INTERFACE = 1
"""The number of the interface for which this is written."""

SHOWN: Shown = {"guess": everybody("seat", "kind", "number", "answer")}
"""The readers of each field of a report. Not in it, and so told to nobody: `hidden`."""


@dataclass(frozen=True)
class Options:
    """The options on which the players agreed."""

    most: int = 9
    seats: int = 2

    @property
    def changed(self) -> Mapping[str, object]:
        """The options that differ from the default."""
        return {} if self.most == 9 else {"most": self.most}


@dataclass(frozen=True)
class Words:
    """A setup, or the orders of a turn: one number."""

    text: str
    """The canonical text, from which the game is played again."""
    number: int


@dataclass(frozen=True)
class State:
    """A position. It never changes: a turn makes a new one."""

    options: Options
    hidden: tuple[int, int]
    turn: int = 1
    result: Result | None = None

    @property
    def seat(self) -> int:
        """The seat whose turn it is."""
        return 2 - self.turn % 2

    @property
    def due(self) -> Mapping[int, None]:
        """The seats that are asked for orders."""
        return {} if self.result else {self.seat: None}

    @property
    def remaining(self) -> tuple[int, ...]:
        """The seats that are still in the game."""
        return 1, 2

    @property
    def scores(self) -> tuple[int, ...]:
        """The scores of seats 1 and 2."""
        return self.result.scores if self.result else (0, 0)


class Rules(Game[Options, Words, Words, State]):
    """The rules: seven methods."""

    name = "marbles"
    title = "Marbles"
    editions = (1,)
    """The editions of the rulings. One never changes: later rulings make a new one."""
    seats = (2,)
    empty_orders = False
    """No seat may order nothing at all."""

    def options(self, raw: Mapping[str, object], seats: int) -> Options:
        """The options of a proposal."""
        most = raw.get("most", 9)
        if seats != 2 or set(raw) - {"most"} or type(most) is not int or not 1 <= most <= 999:
            says = Phrase("two players; `most` is the greatest number, 999 at most, and the only option")
            raise Refused(Fault("most", None, says))
        return Options(most)

    def setup(self, options: Options, seat: int, text: str) -> Words:
        """The setup of a seat, such as `hide 5`."""
        del seat  # alike for both
        return _number(options, text, "hide")

    def begin(self, options: Options, setups: Sequence[Words]) -> State:
        """The position before the first turn."""
        one, two = setups
        return State(options, (one.number, two.number))

    def order(self, state: State, seat: int, text: str) -> Words:
        """The orders of a seat, such as `guess 5`."""
        del seat
        return _number(state.options, text, "guess")

    def turn(self, state: State, orders: Mapping[int, Words]) -> tuple[State, list[Report]]:
        """Resolve a turn."""
        seat, guess = state.seat, orders[state.seat].number
        hidden = state.hidden[2 - seat]
        answer = "right" if guess == hidden else "more" if hidden > guess else "fewer"
        result = Result.of((1, 0) if seat == 1 else (0, 1)) if answer == "right" else None
        after = State(state.options, state.hidden, state.turn + (result is None), result)
        return after, [{"seat": seat, "kind": "guess", "number": guess, "answer": answer, "hidden": hidden}]

    def show(self, report: Report, seat: int | None) -> Report | None:
        """The part of a report that a seat, or the public, may read."""
        return cut(report, SHOWN, audience(report.get("seat"), seat, range(1, 3)))

    def carry(self, options: Options, result: Result) -> Options:
        """The options of the next game of a continued match."""
        del result
        return Options(min(options.most + 1, 999))


def _number(options: Options, text: str, verb: str) -> Words:
    """A verb and a number."""
    found = re.fullmatch(rf"\s*{verb}\s+([1-9][0-9]{{0,2}})\s*", text)
    if not found or int(found[1]) > options.most:
        says = Phrase("say `{verb}` and a number from 1 to {most}", verb=verb, most=options.most)
        raise Refused(Fault("1", text.strip(), says))
    return Words(f"{verb} {found[1]}", int(found[1]))


RULES = Rules()
