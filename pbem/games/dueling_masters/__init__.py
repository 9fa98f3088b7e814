"""Dueling Masters of Space-Time as one object of rules: `RULES`, edition 1 of the rulings.

Here the parts are put together behind the interface of `pbem.games`: `board` (squares and moves), `notation` (text
and options), `transit` (resolution), `knowledge` (what is shown); and
the conditions of orders. Implements rules/dueling-masters.md.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pbem.games import Fault, Game, beyond, faults
from pbem.games.conditional_orders import Conditional
from pbem.games.dueling_masters import knowledge, notation, transit
from pbem.games.dueling_masters.board import ASTEROID, SQUARES
from pbem.games.dueling_masters.notation import Options, Orders, Setup
from pbem.games.dueling_masters.transit import State
from pbem.phrase import Phrase

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pbem.games import Report
    from pbem.games.conditional_orders import Atom

__all__ = ["RULES", "DuelingMasters", "Options", "Orders", "Setup", "State"]

_ANY: Final = "any"
"""The word for whichever piece, in a condition."""


class Conditions(Conditional[State, Orders]):
    """The conditions of orders: which atoms there are, and when they hold (rulings 38 and 39)."""

    form, choice = "38", "39"
    asked_about = 2

    show = staticmethod(knowledge.show)

    def plain(self, state: State, seat: int, text: str) -> Orders:
        """Parse and judge one seat's order; raises `Refused` with all faults."""
        return notation.read_orders(state.options, state.sides[seat - 1], text)

    def lasting(self, state: State, seat: int, text: str) -> tuple[Fault, ...]:
        """The faults in one seat's order, wherever the pieces will stand then."""
        return tuple(fault for fault in faults(self.plain, state, seat, text) if fault.rule in notation.WRITING)

    def no_atom(self, state: State, seat: int, atom: Atom) -> Phrase | None:
        """The reason why these words are no atom; None if they are one (ruling 38)."""
        verb, *words = atom
        word = " ".join(words)
        if verb == "can" and words:
            found = faults(self.plain, state, seat, word)
            return found[0].message if found and found[0].rule in notation.FORM else None
        if verb in {"lost", "took"}:
            if word in {_ANY, ASTEROID} or notation.slot_of(state.options, word) >= 0:
                return None
            return Phrase("behind `{verb}`, one piece is named, `*` or `any`, not `{word}`", verb=verb, word=word)
        if verb in {"met", "left"}:
            if word in SQUARES:
                return None
            return Phrase("behind `{verb}`, one square is named, not `{word}`", verb=verb, word=word)
        return Phrase(
            "`{words}` is no condition; write for example `lost Z2`, `took any`, `met C3`, `left G7` or"
            " `can Z2 A1-C3`",
            words=" ".join(atom),
        )

    def holds(self, state: State, seat: int, atom: Atom, told: Sequence[Report]) -> bool:
        """True if an atom holds, by what the seat was told since its last turn, and by what it may order."""
        verb, *words = atom
        if verb == "can":
            return self.may(state, seat, words)
        (word,) = words
        collisions = [report for report in told if report["kind"] == "collision"]
        if verb == "met":
            return any(report["square"] == word for report in collisions)
        if verb == "left":
            return any(
                report["kind"] == "departure" and report["seat"] != seat and report["square"] == word
                for report in told
            )
        of = str(seat if verb == "lost" else 3 - seat)
        gone = [report["pieces"][of] for report in collisions if report["destroyed"][of]]
        if word == _ANY:
            return bool(gone)
        options = state.options
        return (ASTEROID if word == ASTEROID else options.pieces[notation.slot_of(options, word)]) in gone

    def ahead(self, state: State, seat: int, turn: int, text: str) -> tuple[Fault, ...]:
        """The faults in one seat's order for a later turn, wherever the pieces will stand then."""
        found = [*super().ahead(state, seat, turn, text)]
        if turn and transit.moves(turn) != seat:
            found.append(Fault("8", f"turn {turn}", Phrase("players move in turn, and that turn is your opponent's")))
        return (*found, *beyond(state.options.max_turns, turn, "28"))


# The optional parts.
recall = knowledge
slips = notation.meant
conditions: Final = Conditions()
ahead = conditions.ahead


class DuelingMasters(Game[Options, Setup, Orders, State]):
    """The rules of Dueling Masters of Space-Time; stateless."""

    name = "dueling-masters"
    title = "Dueling Masters of Space-Time"
    editions = (1,)
    seats = (2,)
    empty_orders = False

    options = staticmethod(notation.options)
    setup = staticmethod(notation.read_setup)
    begin = staticmethod(transit.begin)
    order = staticmethod(conditions.order)
    turn = staticmethod(transit.resolve)
    show = staticmethod(knowledge.show)


RULES: Final = DuelingMasters()
