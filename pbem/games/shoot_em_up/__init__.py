"""Shoot 'em up Spaceships as one object of rules: `RULES`, editions 1 and 2 of the rulings.

Here the parts are put together behind the interface of `pbem.games`: `board` (squares, options), `notation` (text),
`action` (resolution), `knowledge` (what is shown). Implements rules/shoot-em-up.md.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, cast

from pbem.games import Fault, faults
from pbem.games.shoot_em_up import action, board, knowledge, notation
from pbem.games.shoot_em_up.action import State
from pbem.games.shoot_em_up.board import SEATS, Options
from pbem.games.shoot_em_up.notation import Orders, Setup
from pbem.phrase import Phrase

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pbem import games
    from pbem.games import Report, Result
    from pbem.games.shoot_em_up.view import View

__all__ = ["RULES", "Options", "Orders", "Setup", "ShootEmUp", "State"]


class ShootEmUp:
    """The rules of Shoot 'em up Spaceships; stateless."""

    name: str = "shoot-em-up"
    title: str = "Shoot 'em up Spaceships"
    editions: tuple[int, ...] = (1, 2)
    seats: tuple[int, ...] = SEATS
    empty_orders: bool = False

    def options(self, raw: Mapping[str, object], seats: int) -> Options:
        """Fill in defaults; raises `Refused` on unknown keys, wrong values or a wrong number of seats."""
        return board.options(raw, seats)

    def setup(self, options: games.Options, seat: int, text: str) -> Setup:
        """Parse and judge one setup; raises `Refused` with all faults."""
        return notation.read_setup(cast("Options", options), seat, text)

    def begin(self, options: games.Options, setups: Sequence[games.Setup]) -> State:
        """The position before turn 1."""
        return action.begin(cast("Options", options), cast("Sequence[Setup]", setups))

    def order(self, state: games.State, seat: int, text: str) -> Orders:
        """Parse and judge one seat's orders; raises `Refused` with all faults."""
        return notation.read_orders(cast("State", state).ships, seat, text)

    def ahead(self, state: games.State, seat: int, turn: int, text: str) -> tuple[Fault, ...]:
        """What is wrong with one seat's orders for a later turn, whichever ships will be left then."""
        position = cast("State", state)
        found = [fault for fault in faults(self.order, state, seat, text) if fault.rule in notation.WRITING]
        if turn > position.options.max_turns:
            found.append(
                Fault(
                    "26",
                    f"turn {turn}",
                    Phrase("the game has at most {max_turns} turns", max_turns=position.options.max_turns),
                )
            )
        return tuple(found)

    def meant(self, text: str) -> str:
        """What a text was probably meant to say, in capitals, commas and lines."""
        return notation.meant(text)

    def unused(self, state: games.State, seat: int, orders: games.Orders) -> tuple[Phrase, ...]:
        """Nothing: every ship has its three actions."""
        del state, seat, orders
        return ()

    def turn(self, state: games.State, orders: Mapping[int, games.Orders]) -> tuple[State, list[Report]]:
        """Resolve a turn; total on judged orders of all seats with ships left."""
        return action.resolve(cast("State", state), cast("Mapping[int, Orders]", orders))

    def without(self, state: games.State, seat: int, edition: int) -> State | None:
        """The position without a seat's ships, from edition 2 on and among three or four; else None (ruling 29)."""
        return action.without(cast("State", state), seat) if edition > 1 else None

    def show(self, report: Report, seat: int | None) -> Report | None:
        """What a seat (None: the public) may read of a report: all of it."""
        return knowledge.show(report, seat)

    def view(self, state: games.State, seat: int | None, turns: Sequence[Sequence[Report]]) -> View:
        """Everything that a seat (None: the public) knows about the position; `knowledge.view` describes it."""
        return knowledge.view(cast("State", state), seat, turns)

    def recalled(self, view: Mapping[str, object], seat: int) -> State:
        """The position: the board is open, so that a view shows all of it."""
        del seat
        return knowledge.recalled(cast("View", view))

    def carry(self, options: games.Options, result: Result) -> Options:
        """The next game of a continued match: the same, for each game has three ships a seat."""
        del result
        return cast("Options", options)


RULES: Final = ShootEmUp()
