"""Powers: two to six players march the armies of seven powers, tell each other secrets, and retreat within a day.

A game of many, to show that the interface has room for it: chance deals the powers, or the players agree on them;
powers without a player stay, in disorder; a whisper is for the seats that it names; a retreat has less time.
"""

from __future__ import annotations

import re
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

from pbem.games import Fault, Game, NoSetup, Refused, Result, refuse
from pbem.games.audience import audience, cut, everybody, named
from pbem.games.player_text import one_of, read_options
from pbem.phrase import Phrase

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pbem.games import Report
    from pbem.games.draws import Draws

INTERFACE = 1

POWERS = 7
ARMIES = 9

SHOWN = {
    "draws": everybody("seat", "kind", "word"),
    "powers": everybody("kind", "seats"),
    "whisper": named("seat", "kind", "to", "word"),
    "march": everybody("seat", "kind", "power"),
    "retreat": everybody("seat", "kind", "stands"),
}


class Options(NamedTuple):
    powers: tuple[int, ...] = ()
    """The power of each seat; none: they are dealt."""
    rounds: int = 6
    seats: int = 2

    @property
    def changed(self) -> Mapping[str, object]:
        agreed: dict[str, object] = {"powers": list(self.powers)} if self.powers else {}
        return agreed if self.rounds == 6 else {**agreed, "rounds": self.rounds}


class Move(NamedTuple):
    text: str


class State(NamedTuple):
    options: Options
    powers: tuple[int, ...] = ()
    """The power of each seat; none before they are dealt."""
    armies: tuple[int, ...] = (ARMIES,) * POWERS
    """The armies of each power, in disorder or not."""
    left: frozenset[int] = frozenset()
    """The seats that resigned: their powers are in disorder, as are those that nobody got."""
    beaten: tuple[int, ...] = ()
    """The seats that retreat; none in a turn of marches."""
    rounds: int = 0
    turn: int = 1
    result: Result | None = None

    @property
    def due(self) -> Mapping[int, None]:
        asked = self.beaten or self.remaining
        return {} if self.result else {seat: None for seat in asked if seat in self.remaining}

    @property
    def remaining(self) -> tuple[int, ...]:
        return tuple(seat for seat in range(1, self.options.seats + 1) if self.has(seat) and seat not in self.left)

    def has(self, seat: int) -> int:
        """The armies of the power of a seat."""
        return self.armies[self.powers[seat - 1] - 1] if self.powers else ARMIES

    @property
    def scores(self) -> tuple[int, ...]:
        return tuple(self.has(seat) for seat in range(1, self.options.seats + 1))

    def less(self, powers: Sequence[int]) -> State:
        """The position after each of these powers has lost an army for each time that it is there."""
        armies = [max(0, one - powers.count(power)) for power, one in enumerate(self.armies, start=1)]
        return self._replace(armies=tuple(armies))

    def ended(self) -> State:
        """The next turn, unless the game is over."""
        over = self.rounds >= self.options.rounds or len(self.remaining) < 2
        if over and not self.beaten:
            return self._replace(result=Result.of(self.scores))
        return self._replace(turn=self.turn + 1)


class Powers(Game[Options, NoSetup, Move, State]):
    name = "powers"
    title = "Powers"
    editions = (1,)
    seats = (2, 3, 4, 5, 6)
    empty_orders = False
    secret_setups = False
    chance = True

    def options(self, raw: Mapping[str, object], seats: int) -> Options:
        def powers(value: object) -> tuple[int, ...]:
            """The powers agreed on, one for each seat."""
            right = isinstance(value, list) and all(type(one) is int and 1 <= one <= POWERS for one in value)
            if not right or not isinstance(value, list) or len({*value}) != len(value) or len(value) != seats:
                raise ValueError(Phrase("another power for each player, such as [3, 1, 5]"))
            return tuple(value)

        readers = {"powers": powers, "rounds": one_of(range(1, 31), Phrase("a number from 1 to 30"))}
        agreed, found = read_options(raw, readers, seats, self.seats, Phrase("Powers is for two to six"))
        refuse(found)
        return Options(**agreed, seats=seats)

    def setup(self, options: Options, seat: int, text: str) -> NoSetup:
        del options, seat
        return NoSetup.judge(text)

    def begin(self, options: Options, setups: Sequence[NoSetup]) -> State:
        del setups
        return State(options, options.powers)

    def order(self, state: State, seat: int, text: str) -> Move:
        del seat
        found = re.fullmatch(_FORM[_phase(state)], " ".join(text.split()))
        if not found:
            raise Refused(Fault("1", text.strip()[:40], _SAYS[_phase(state)]))
        to = re.findall("[1-9]", found[0].partition("tell")[2])
        if any(int(one) > state.options.seats for one in to) or to != sorted({*to}):
            raise Refused(Fault("2", found[0], Phrase("tell seats of the game, in their order")))
        return Move(found[0])

    def turn(self, state: State, orders: Mapping[int, Move], chance: Draws) -> tuple[State, list[Report]]:
        words = {seat: move.text.split() for seat, move in orders.items()}
        if not state.powers:
            powers = tuple(power + 1 for power in chance.shuffled(POWERS)[: state.options.seats])
            told: list[Report] = [{"kind": "draws", "seat": seat, "word": said[1]} for seat, said in words.items()]
            return state._replace(powers=powers).ended(), [*told, {"kind": "powers", "seats": list(powers)}]
        if state.beaten:
            told = [
                {"kind": "retreat", "seat": seat, "stands": int(said == ["stand"])} for seat, said in words.items()
            ]
            lost = [state.powers[report["seat"] - 1] for report in told if report["stands"]]
            return state.less(lost)._replace(beaten=()).ended(), told
        told, marches = [], []
        for seat, said in words.items():
            if said[0] == "march":
                marches.append(int(said[1]))
                told.append({"kind": "march", "seat": seat, "power": int(said[1])})
            if "tell" in said:
                to = [int(one) for one in said[said.index("tell") + 1 : -1]]
                told.append({"kind": "whisper", "seat": seat, "to": to, "word": said[-1]})
        after = state.less(marches)
        beaten = tuple(seat for seat in after.remaining if after.powers[seat - 1] in marches)
        return after._replace(beaten=beaten, rounds=state.rounds + 1).ended(), told

    def show(self, report: Report, seat: int | None) -> Report | None:
        reader = audience(report.get("seat"), seat, range(1, max(self.seats) + 1), report.get("to", ()))
        return cut(report, SHOWN, reader)


def _phase(state: State) -> str:
    return "retreat" if state.beaten else "march" if state.powers else "draw"


_FORM = {
    "draw": "draw [a-z]{1,12}",
    "march": "(?:hold|march [1-7])(?: tell(?: [1-9]){1,6} [a-z]{1,12})?",
    "retreat": "retreat|stand",
}
_SAYS = {
    "draw": Phrase("say `draw` and a word"),
    "march": Phrase("say `hold` or `march 3`, and perhaps `tell 2 5 north`"),
    "retreat": Phrase("say `retreat` or `stand`"),
}

RULES = Powers()


def without(state: State, seat: int, edition: int) -> State | None:
    """The position once a seat has resigned: its power stays, in disorder."""
    del edition
    after = state._replace(left=state.left | {seat})
    return after if len(after.remaining) > 1 else None


def pace(state: State) -> Fraction:
    """A retreat takes a day where a turn takes a week."""
    return Fraction(1, 7) if state.beaten else Fraction(1)


def period(state: State) -> Phrase | None:
    """Retreats are named so; no year is counted."""
    return Phrase("retreats") if state.beaten else None


def side(state: State, seat: int) -> tuple[str, ...]:
    """The power of a seat, by two words."""
    return (f"power-{state.powers[seat - 1]}", f"p{state.powers[seat - 1]}") if state.powers else ()
