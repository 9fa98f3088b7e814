"""Orders and setups judged before they leave, by the games' own rules, on what letters brought.

The server may have sent anything: what cannot be read is said, and nothing is signed on it.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

import msgspec

from pbem.games import Fault, Refused, faults, part_of, parts, refuse, rules
from pbem.games.conditional_orders import branch_said
from pbem.match import submissions
from pbem.phrase import Phrase
from pbem.player import forms
from pbem.player.correspondence.standings import Impossible, demand_playing
from pbem.requests import DEFAULT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from pbem.games import Options, Orders, Rules, Setup, State
    from pbem.games.conditional_orders import Branch
    from pbem.player.correspondence.standings import OwnMatches


_POSITION = Phrase("The position of {match} cannot be read; write `report {match}` for it.")
_SETUP = Phrase("What is asked for as the setup of {match} cannot be read.")


class Judged(msgspec.Struct, frozen=True):
    """Legal orders or a legal setup: the canonical text, and what it leaves unused."""

    text: str
    unused: tuple[Phrase, ...] = ()
    example: bool = False
    """True if a setup is the example in the letters, which everybody has read."""
    faults: tuple[Fault, ...] = ()
    """The faults that orders for a later turn would have now."""
    branches: tuple[Branch, ...] = ()
    """The branches of conditional orders."""
    doubts: tuple[Phrase, ...] = ()
    """The conditions that ask in vain, as far as it is known here."""
    as_written: bool = False
    """True if the text is as it was written: it is not legal now, or stands for other orders by then."""


@contextmanager
def _readable(fault: Phrase, match: str) -> Iterator[None]:
    """Raise `Impossible` with this fault if what the server sent cannot be read, whatever that is."""
    try:
        yield
    except Refused:
        raise
    except Exception as error:
        raise Impossible(fault.given(match=match)) from error


class Judge:
    """Judges what a player writes in a match, as the server will."""

    def __init__(self, matches: OwnMatches) -> None:
        self._matches = matches

    def orders(self, match: str, text: str) -> Judged:
        """Judge orders for the turn that is due; raises `Refused`, or `Impossible` if none are due."""
        position = self._matches.position_asked(match)
        with _readable(_POSITION, match):
            judge, seat = rules(position["rules"]), position["seat"]
            state = parts.recalled(judge, position["view"], seat)
            if state is None:
                return Judged(text, as_written=True)
            orders: Orders = judge.order(state, seat, text)
            return Judged(orders.text, parts.unused(judge, state, seat, orders))

    def ahead(self, match: str, turn: int, text: str) -> Judged:
        """Judge orders for a later turn, or default orders, by what no position could mend.

        Raises `Refused`, or `Impossible` if there is no such turn.
        """
        standing, position = self._matches.standing(match), self._matches.position(match)
        demand_playing(standing)
        if 0 < turn < standing.turn:
            raise Impossible(
                "Turn {turn} of {match} is over; turn {present} is being played.",
                turn=turn,
                match=match,
                present=standing.turn,
            )
        if position is None or position["game"] != standing.game:
            raise Impossible("The letter that brings the position of {match} has not come.", match=match)
        # The own orders of the turn before, as far as they were sent from here.
        last = turn - 1
        sent = self._matches.pending(match) if last == standing.turn else self._matches.stored(match).get(last)
        with _readable(_POSITION, match):
            before = forms.text_of(sent.form) if sent is not None and turn != DEFAULT else None
            judge, seat = rules(position["rules"]), position["seat"]
            state = parts.recalled(judge, position["view"], seat)
            return judged_ahead(judge, state, seat, turn, text, standing.miss, before)

    def setup(self, match: str, text: str) -> Judged:
        """Judge the setup of the next game; raises `Refused`, or `Impossible`."""
        asked, options = self._matches.setup_asked(match), self.options(match)
        with _readable(_SETUP, match):
            setup: Setup = rules(asked["rules"]).setup(options, asked["seat"], text)
        return Judged(
            setup.text, example=parts.is_the_example(rules(asked["rules"]), options, asked["seat"], setup.text)
        )

    def options(self, match: str) -> Options:
        """The options of the game whose setup is due; raises `Impossible`."""
        asked, standing = self._matches.setup_asked(match), self._matches.standing(match)
        with _readable(_SETUP, match):
            return rules(asked["rules"]).options(asked["options"], len(standing.players))


def judged_ahead(
    judge: Rules, state: State | None, seat: int, turn: int, text: str, miss: str, before: str | None
) -> Judged:
    """Judge orders for a later turn, or default orders, by what no position could mend; raises `Refused`.

    `before` are the orders of the turn before it, if they are known.
    """
    if state is None:
        return Judged(text, as_written=True)
    refuse(submissions.faults_in_advance(judge, state, seat, turn, text, miss))
    if parts.depends(judge, text):
        doubts = parts.unasked(judge, state, seat, text, before) if before is not None else ()
        return Judged(text, branches=parts.branches(judge, state, seat, text), doubts=doubts, as_written=True)
    if now := faults(judge.order, state, seat, text):
        return Judged(text, faults=now, as_written=True)
    return Judged(judge.order(state, seat, text).text)


def in_words(game: str, judged: Judged) -> Sequence[Phrase | str]:
    """Judged orders in the game's own words, if it has any; as written, if not legal yet or others by then.

    Conditional orders are said branch by branch, each with what would be illegal in it now.
    """
    if judged.branches:
        words, wrong = list[Phrase](), Phrase("branch {number} would not be legal now: {reason}")
        for branch in judged.branches:
            words.append(branch_said(game, branch))
            words += [wrong.given(number=branch.number, reason=fault.message) for fault in branch.faults]
        return words
    said: Callable[[str], Sequence[Phrase]] | None = getattr(part_of(game, "words"), "said", None)
    return judged.text.splitlines() if said is None or judged.as_written else said(judged.text)


def meant(game: str, judge: Callable[[str], object], text: str) -> str | None:
    """The probable meaning of refused orders or a refused setup; None if that is refused, too."""
    found = parts.meant(rules(game), text)
    try:
        judge(found)
    except Refused:
        return None
    return found if found.strip() != text.strip() else None
