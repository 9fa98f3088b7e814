"""Spaceships 2.6.1 as one object of rules: `RULES`, edition 1 of the rulings.

Here the parts are put together behind the interface of `pbem.games`: `space` (cells and lines), `ships` (types
and shapes), `fleet` (options and fleets), `notation` (text), `turn` (resolution), `knowledge` (what is shown).
Implements rules/spaceships.md.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, cast

from pbem.games import faults
from pbem.games.spaceships import fleet, knowledge, notation, turn
from pbem.games.spaceships.fleet import Options, Setup, spendable
from pbem.games.spaceships.notation import Orders
from pbem.games.spaceships.turn import State

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pbem import games
    from pbem.games import Fault, Report, Result
    from pbem.games.spaceships.view import View
    from pbem.phrase import Phrase

__all__ = ["RULES", "Options", "Orders", "Setup", "Spaceships", "State"]


class Spaceships:
    """The rules of Spaceships; stateless."""

    name: str = "spaceships"
    title: str = "Spaceships"
    editions: tuple[int, ...] = (1,)
    seats: tuple[int, ...] = (2,)
    empty_orders: bool = True

    def options(self, raw: Mapping[str, object], seats: int) -> Options:
        """Fill in defaults; raises `Refused` on unknown keys, wrong values or other than two seats."""
        return fleet.options(raw, seats)

    def setup(self, options: games.Options, seat: int, text: str) -> Setup:
        """Parse and judge one setup, as a list or as grids; raises `Refused` with all faults."""
        return notation.read_setup(cast("Options", options), seat, text)

    def begin(self, options: games.Options, setups: Sequence[games.Setup]) -> State:
        """The position before turn 1."""
        one, two = cast("Sequence[Setup]", setups)
        return turn.begin(cast("Options", options), (one, two))

    def order(self, state: games.State, seat: int, text: str) -> Orders:
        """Parse and judge one seat's orders; raises `Refused` with all faults."""
        side = cast("State", state).sides[seat - 1]
        return notation.read_orders(side.setup, side.entitled, text)

    def ahead(self, state: games.State, seat: int, turn: int, text: str) -> tuple[Fault, ...]:
        """What is wrong with one seat's orders for a later turn, whatever it will be entitled to then."""
        del turn
        found = faults(self.order, state, seat, text)
        return tuple(fault for fault in found if fault.rule in notation.WRITING)

    def meant(self, text: str) -> str:
        """What a text was probably meant to say, in capitals, dashes and commas."""
        return notation.meant(text)

    def unused(self, state: games.State, seat: int, orders: games.Orders) -> tuple[Phrase, ...]:
        """The conventional strikes, beams and scans that a seat leaves unused; missiles are kept for later."""
        return notation.unused(cast("State", state).sides[seat - 1].entitled, cast("Orders", orders))

    def turn(self, state: games.State, orders: Mapping[int, games.Orders]) -> tuple[State, list[Report]]:
        """Resolve a turn; total on judged orders of both seats."""
        return turn.resolve(cast("State", state), cast("Mapping[int, Orders]", orders))

    def without(self, state: games.State, seat: int, edition: int) -> None:
        """None: the other player has won."""

    def show(self, report: Report, seat: int | None) -> Report | None:
        """What a seat (None: the public) may read of a report: all that the rules make known."""
        return knowledge.show(report, seat)

    def view(self, state: games.State, seat: int | None, turns: Sequence[Sequence[Report]]) -> View:
        """All that a seat (None: the public) knows of the position."""
        return knowledge.view(cast("State", state), seat, turns)

    def recalled(self, view: Mapping[str, object], seat: int) -> State:
        """The position with this seat's side as its view shows it, and nothing on the other."""
        return knowledge.recalled(cast("View", view), seat)

    def carry(self, options: games.Options, result: Result) -> Options:
        """The next game of a continued match: each seat's remaining materiel buys additional ships."""
        agreed = cast("Options", options)
        return agreed._replace(additional=tuple(spendable(agreed, score) for score in result.scores))


RULES: Final = Spaceships()
