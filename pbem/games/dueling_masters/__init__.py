"""Dueling Masters of Space-Time as one object of rules: `RULES`, edition 1 of the rulings.

Here the parts are put together behind the interface of `pbem.games`: `board` (squares and moves), `notation` (text
and options), `transit` (resolution), `knowledge` (what is shown). Implements rules/dueling-masters.md.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, cast

from pbem.games import Fault, faults
from pbem.games.dueling_masters import knowledge, notation, transit
from pbem.games.dueling_masters.notation import Options, Orders, Setup
from pbem.games.dueling_masters.transit import State
from pbem.phrase import Phrase

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pbem import games
    from pbem.games import Report, Result
    from pbem.games.dueling_masters.view import View

__all__ = ["RULES", "DuelingMasters", "Options", "Orders", "Setup", "State"]


class DuelingMasters:
    """The rules of Dueling Masters of Space-Time; stateless."""

    name: str = "dueling-masters"
    title: str = "Dueling Masters of Space-Time"
    editions: tuple[int, ...] = (1,)
    seats: tuple[int, ...] = (2,)
    empty_orders: bool = False

    def options(self, raw: Mapping[str, object], seats: int) -> Options:
        """Fill in defaults; raises `Refused` on unknown keys, wrong values or other than two seats."""
        return notation.options(raw, seats)

    def setup(self, options: games.Options, seat: int, text: str) -> Setup:
        """Parse and judge one setup, by pieces or by kinds; raises `Refused` with all faults."""
        return notation.read_setup(cast("Options", options), seat, text)

    def begin(self, options: games.Options, setups: Sequence[games.Setup]) -> State:
        """The position before turn 1."""
        one, two = cast("Sequence[Setup]", setups)
        return transit.begin(cast("Options", options), (one, two))

    def order(self, state: games.State, seat: int, text: str) -> Orders:
        """Parse and judge one seat's order; raises `Refused` with all faults."""
        position = cast("State", state)
        return notation.read_orders(position.options, position.sides[seat - 1].standing, text)

    def ahead(self, state: games.State, seat: int, turn: int, text: str) -> tuple[Fault, ...]:
        """What is wrong with one seat's order for a later turn, wherever the pieces will stand then."""
        position = cast("State", state)
        found = [fault for fault in faults(self.order, state, seat, text) if fault.rule in notation.WRITING]
        if turn and transit.moves(turn) != seat:
            found.append(Fault("8", f"turn {turn}", Phrase("players move in turn, and that turn is your opponent's")))
        if turn > position.options.max_turns:
            found.append(
                Fault(
                    "28",
                    f"turn {turn}",
                    Phrase("the game has at most {max_turns} turns", max_turns=position.options.max_turns),
                )
            )
        return tuple(found)

    def meant(self, text: str) -> str:
        """What a text was probably meant to say, in capitals, dashes and commas."""
        return notation.meant(text)

    def unused(self, state: games.State, seat: int, orders: games.Orders) -> tuple[Phrase, ...]:
        """Nothing: a turn is one move."""
        del state, seat, orders
        return ()

    def turn(self, state: games.State, orders: Mapping[int, games.Orders]) -> tuple[State, list[Report]]:
        """Resolve a turn; total on the judged order of the seat that moves."""
        position = cast("State", state)
        return transit.resolve(position, cast("Orders", orders[position.seat]))

    def without(self, state: games.State, seat: int, edition: int) -> None:
        """None: the other player has won."""

    def show(self, report: Report, seat: int | None) -> Report | None:
        """What a seat (None: the public) may read of a report: all but the destinations of the other side."""
        return knowledge.show(report, seat)

    def view(self, state: games.State, seat: int | None, turns: Sequence[Sequence[Report]]) -> View:
        """All that a seat (None: the public) knows of the position."""
        return knowledge.view(cast("State", state), seat, turns)

    def recalled(self, view: Mapping[str, object], seat: int) -> State:
        """The position with this seat's pieces as its view shows them, and none of the other's."""
        return knowledge.recalled(cast("View", view), seat)

    def carry(self, options: games.Options, result: Result) -> Options:
        """The next game of a continued match is played under the same options: nothing is carried over."""
        del result
        return cast("Options", options)


RULES: Final = DuelingMasters()
