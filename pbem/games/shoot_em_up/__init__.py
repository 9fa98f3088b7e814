"""Shoot 'em up Spaceships as one object of rules: `RULES`, edition 1 of the rulings.

Here the parts are put together behind the interface of `pbem.games`: `board` (squares, options), `notation` (text),
`action` (resolution), `knowledge` (what is shown). Implements rules/shoot-em-up.md.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pbem.games import Game, beyond, faults
from pbem.games.shoot_em_up import action, board, knowledge, notation
from pbem.games.shoot_em_up.action import State, without
from pbem.games.shoot_em_up.board import SEATS, Options
from pbem.games.shoot_em_up.notation import Orders, Setup

if TYPE_CHECKING:
    from pbem.games import Fault

__all__ = ["RULES", "Options", "Orders", "Setup", "ShootEmUp", "State", "ahead", "recall", "slips", "without"]

# The optional parts, with `without`.
recall = knowledge
slips = notation.meant


def ahead(state: State, seat: int, turn: int, text: str) -> tuple[Fault, ...]:
    """The faults in one seat's orders for a later turn, whichever ships will be left then."""
    found = [fault for fault in faults(RULES.order, state, seat, text) if fault.rule in notation.WRITING]
    return (*found, *beyond(state.options.max_turns, turn, "26"))


class ShootEmUp(Game[Options, Setup, Orders, State]):
    """The rules of Shoot 'em up Spaceships; stateless."""

    name = "shoot-em-up"
    title = "Shoot 'em up Spaceships"
    editions = (1,)
    seats = SEATS
    empty_orders = False

    options = staticmethod(board.options)
    setup = staticmethod(notation.read_setup)
    begin = staticmethod(action.begin)
    turn = staticmethod(action.resolve)
    show = staticmethod(knowledge.show)

    def order(self, state: State, seat: int, text: str) -> Orders:
        """Parse and judge one seat's orders; raises `Refused` with all faults."""
        return notation.read_orders(state.ships, seat, text)


RULES: Final = ShootEmUp()
