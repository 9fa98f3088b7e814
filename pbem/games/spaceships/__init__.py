"""Spaceships 2.6.1 as one object of rules: `RULES`, edition 1 of the rulings.

Here the parts are put together behind the interface of `pbem.games`: `space` (cells and lines), `ships` (types
and shapes), `fleet` (options and fleets), `notation` (text), `turn` (resolution), `knowledge` (what is shown).
Implements rules/spaceships.md.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pbem.games import Game, faults
from pbem.games.spaceships import fleet, knowledge, notation, turn
from pbem.games.spaceships.fleet import Options, Setup, spendable
from pbem.games.spaceships.notation import Orders
from pbem.games.spaceships.turn import State
from pbem.games.spaceships.view import View

if TYPE_CHECKING:
    from pbem.games import Fault, Result
    from pbem.phrase import Phrase

__all__ = ["RULES", "Options", "Orders", "Setup", "Spaceships", "State"]


class Spaceships(Game[Options, Setup, Orders, State, View]):
    """The rules of Spaceships; stateless."""

    name = "spaceships"
    title = "Spaceships"
    editions = (1,)
    seats = (2,)
    empty_orders = True

    options = staticmethod(fleet.options)
    setup = staticmethod(notation.read_setup)
    begin = staticmethod(turn.begin)
    meant = staticmethod(notation.meant)
    turn = staticmethod(turn.resolve)
    show = staticmethod(knowledge.show)
    view = staticmethod(knowledge.view)
    recalled = staticmethod(knowledge.recalled)

    def order(self, state: State, seat: int, text: str) -> Orders:
        """Parse and judge one seat's orders; raises `Refused` with all faults."""
        side, other = state.sides[seat - 1], state.sides[2 - seat]
        known = None if other.empty is None else other.destroyed | other.empty
        return notation.read_orders(side.setup, side.entitled, text, known)

    def ahead(self, state: State, seat: int, turn: int, text: str) -> tuple[Fault, ...]:
        """The faults in one seat's orders for a later turn, whatever it will be entitled to then."""
        del turn
        found = faults(self.order, state, seat, text)
        return tuple(fault for fault in found if fault.rule in notation.WRITING)

    def depends(self, text: str) -> bool:
        """True if there is a target list in these orders."""
        return notation.has_target_list(text)

    def unused(self, state: State, seat: int, orders: Orders) -> tuple[Phrase, ...]:
        """The conventional strikes, beams and scans that a seat leaves unused; missiles are kept for later."""
        return notation.unused(state.sides[seat - 1].entitled, orders)

    def carry(self, options: Options, result: Result) -> Options:
        """The next game of a continued match: each seat's remaining materiel buys additional ships."""
        return options._replace(additional=tuple(spendable(options, score) for score in result.scores))


RULES: Final = Spaceships()
