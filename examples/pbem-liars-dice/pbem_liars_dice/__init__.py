"""Liar's Dice: everybody rolls dice under a cup, and bids on what all of them show together, or calls a bid a lie.

This is a game by the interface of `pbem.games`: text in, new positions and reports out; no clock, no files, and no
dice but those of the chance that a turn is handed. The rulings whose numbers the faults name are in `rules.txt`,
among the templates.
"""

from __future__ import annotations

import re
from itertools import product
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from pbem.games import Fault, Game, NoSetup, Refused, Result, faults, refuse
from pbem.games.audience import ANY, Shown, audience, cut, everybody, owner
from pbem.games.player_text import one_of, plain, read_options
from pbem.phrase import Phrase

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pbem.games import Report
    from pbem.games.draws import Draws

INTERFACE = 1
"""The number of the interface for which this is written."""

SHOWN: Shown = {
    "hand": owner("seat", "kind", "dice"),
    "bid": everybody("seat", "kind", "number", "face"),
    "liar": {
        **everybody("seat", "kind", "bidder", "number", "face", "found", "loser", "faces"),
        "dice": everybody(ANY),
    },
    "begins": everybody("seat", "kind"),
}
"""The readers of each field of a report. A hand is its owner's secret until somebody says `liar`."""

Hands = tuple[tuple[int, ...], ...]
"""The dice under each seat's cup; none for a seat that is out."""


class Options(NamedTuple):
    """The options on which the players agreed."""

    dice: int = 5
    """The number of dice with which each begins."""
    ones: str = "wild"
    """The value of ones: any face (`wild`), or one (`plain`)."""
    seats: int = 2

    @property
    def changed(self) -> Mapping[str, object]:
        """The options that differ from the default; the number of seats is agreed on otherwise."""
        agreed = {"dice": self.dice, "ones": self.ones}
        return {key: value for key, value in agreed.items() if value != self._field_defaults[key]}


class Bid(NamedTuple):
    """A bid: at least so many dice show this face."""

    seat: int
    number: int
    face: int


class Call(NamedTuple):
    """The orders of a turn: `shake` with a word, a bid, or `liar`."""

    text: str
    number: int = 0
    face: int = 0


class State(NamedTuple):
    """A position. It never changes: a turn makes a new one."""

    options: Options
    hands: Hands
    seat: int = 0
    """The seat that bids or says `liar`; 0 before the first roll, which takes all."""
    bid: Bid | None = None
    turn: int = 1
    result: Result | None = None

    @property
    def due(self) -> Mapping[int, None]:
        """The seats that are asked for orders."""
        return {} if self.result else dict.fromkeys([self.seat] if self.seat else self.remaining)

    @property
    def remaining(self) -> tuple[int, ...]:
        """The seats that have dice."""
        return tuple(seat for seat, hand in enumerate(self.hands, start=1) if hand)

    @property
    def entitled(self) -> tuple[str, ...]:
        """The words with which orders may begin."""
        return ("bid", "liar") if self.bid else ("bid",) if self.seat else ("shake",)

    @property
    def scores(self) -> tuple[int, ...]:
        """The number of each seat's dice."""
        return tuple(map(len, self.hands))

    def with_hand(self, seat: int, hand: tuple[int, ...]) -> State:
        """The same with another hand of this seat."""
        return self._replace(hands=(*self.hands[: seat - 1], hand, *self.hands[seat:]))

    def after(self, seat: int) -> int:
        """The seat whose turn it is after this one."""
        return min(self.remaining, key=lambda other: (other <= seat, other))


class LiarsDice(Game[Options, NoSetup, Call, State]):
    """The rules."""

    name = "liars-dice"
    title = "Liar's Dice"
    editions = (1,)
    """The editions of the rulings. One never changes: later rulings make a new one."""
    seats = (2, 3, 4, 5, 6)
    empty_orders = False
    secret_setups = False
    chance = True
    secret_chance = True
    """Each hand is for its owner alone."""

    def options(self, raw: Mapping[str, object], seats: int) -> Options:
        """The options of a proposal."""
        readers = {
            "dice": one_of(range(1, 7), Phrase("a number from 1 to 6")),
            "ones": one_of(("wild", "plain"), Phrase("`wild` or `plain`")),
        }
        agreed, found = read_options(raw, readers, seats, self.seats, Phrase("Liar's Dice is for two to six"))
        refuse(found)
        return Options(**agreed, seats=seats)

    def setup(self, options: Options, seat: int, text: str) -> NoSetup:
        """None: the dice are rolled in the first turn."""
        del options, seat
        return NoSetup.judge(text)

    def begin(self, options: Options, setups: Sequence[NoSetup]) -> State:
        """The position before the first roll."""
        del setups
        return State(options, ((0,) * options.dice,) * options.seats)

    def order(self, state: State, seat: int, text: str) -> Call:
        """The orders of a seat: `shake WORD` in the first turn, then `bid 3 5` (three fives) or `liar`."""
        del seat  # alike for all
        call = read(text)
        if call.text.startswith("shake ") != (state.seat == 0):
            says = Phrase("everybody shakes in the first turn, and nobody later")
            raise Refused(Fault("1", text.strip()[:80], says))
        if call.text == "liar" and not state.bid:
            raise Refused(Fault("5", call.text, Phrase("there is no bid yet")))
        if call.number:
            total = sum(state.scores)
            if call.number > total:
                raise Refused(Fault("3", call.text, Phrase("there are only {count} dice", count=total)))
            if call.face == 1 and state.options.ones == "wild":
                raise Refused(Fault("4", call.text, Phrase("ones are wild: bid on twos to sixes")))
            if state.bid and (call.number, call.face) <= state.bid[1:]:
                raise Refused(Fault("3", call.text, Phrase("that is no more than the last bid")))
        return call

    def turn(self, state: State, orders: Mapping[int, Call], chance: Draws) -> tuple[State, list[Report]]:
        """Resolve a turn, and roll all dice once more if its hands are shown."""
        if not state.seat:
            return roll(state, chance.die(state.options.seats), chance)
        ((seat, call),) = orders.items()
        if call.number:
            bid = Bid(seat, call.number, call.face)
            report = {"seat": seat, "kind": "bid", "number": bid.number, "face": bid.face}
            return state._replace(seat=state.after(seat), bid=bid, turn=state.turn + 1), [report]
        assert state.bid is not None  # `order` demands one
        bid, faces = state.bid, [*([1] if state.options.ones == "wild" else []), state.bid.face]
        found = sum(die in faces for hand in state.hands for die in hand)
        loser = bid.seat if found < bid.number else seat
        shown = {str(owner): list(state.hands[owner - 1]) for owner in state.remaining}
        told = {"bidder": bid.seat, "number": bid.number, "face": bid.face, "found": found, "loser": loser}
        after = state.with_hand(loser, state.hands[loser - 1][1:])._replace(bid=None)
        reports: list[Report] = [{"seat": seat, "kind": "liar", **told, "faces": faces, "dice": shown}]
        if len(after.remaining) == 1:
            return after._replace(result=Result.of(after.scores)), reports
        after, rolled = roll(after, loser if loser in after.remaining else after.after(loser), chance)
        return after, reports + rolled

    def show(self, report: Report, seat: int | None) -> Report | None:
        """The part of a report that a seat, or the public, may read."""
        return cut(report, SHOWN, audience(report.get("seat"), seat, range(1, max(self.seats) + 1)))


def roll(state: State, seat: int, chance: Draws) -> tuple[State, list[Report]]:
    """All dice rolled once more, and the reports of it; this seat begins."""
    hands = tuple(tuple(sorted(chance.die(6) for _ in hand)) for hand in state.hands)
    after = state._replace(hands=hands, seat=seat, turn=state.turn + 1)
    told = [{"seat": owner, "kind": "hand", "dice": list(hands[owner - 1])} for owner in after.remaining]
    return after, [*told, {"seat": seat, "kind": "begins"}]


def read(text: str) -> Call:
    """The orders in a text; raises `Refused`."""
    match text.lower().split():
        case ["liar"]:
            return Call("liar")
        case ["shake", word] if re.fullmatch("[a-z0-9]{1,20}", word):
            return Call(f"shake {word}")
        case ["bid", count, face] if re.fullmatch("[1-9][0-9]?", count) and re.fullmatch("[1-6]", face):
            return Call(f"bid {count} {face}", int(count), int(face))
    says = Phrase("say `bid 3 5` for three fives, or `liar`; at first `shake` with a word of your own")
    raise Refused(Fault("2", text.strip()[:80], says))


RULES: Final = LiarsDice()


def ahead(state: State, seat: int, turn: int, text: str) -> tuple[Fault, ...]:
    """The faults of orders for a later turn, whatever happens until then."""
    del state, seat, turn
    return faults(read, text)


def slips(text: str) -> str:
    """The orders that were probably meant: the player is asked."""
    return plain(text).lower()


def offers(view: Mapping[str, Any]) -> list[str]:
    """Orders to choose from: all bids that are higher than the last, the lowest first, and `liar`."""
    if view["entitled"] == ["shake"]:
        return ["shake "]
    last = (view["bid"]["number"], view["bid"]["face"]) if view["bid"] else (0, 0)
    bids = product(range(1, sum(view["counts"].values()) + 1), range(2 if view["ones"] == "wild" else 1, 7))
    return [
        *(f"bid {number} {face}" for number, face in bids if (number, face) > last),
        *(["liar"] if last[0] else []),
    ]


def without(state: State, seat: int, edition: int) -> State | None:
    """The position once a seat has resigned: its dice are gone, and the bids of this round do not count."""
    del edition
    after = state.with_hand(seat, ())._replace(bid=None)
    if len(after.remaining) < 2:
        return None
    return after._replace(seat=after.after(seat)) if state.seat == seat else after
