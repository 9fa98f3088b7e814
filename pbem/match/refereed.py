"""Refereed play: the server knows all secrets, judges setups and orders, and reports what happened.

A turn is resolved once all orders are in, or a seat's silence counts as an answer. Implements protocol.md, "A match".
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from pbem.match.events import begun
from pbem.match.events.ended import conclude, record_of
from pbem.match.events.silence import lose
from pbem.match.events.turn import play_on, resolve
from pbem.match.play import Play
from pbem.match.progress import advance
from pbem.match.record import Turn
from pbem.match.state import losing_seats, standing

if TYPE_CHECKING:
    from pbem.games import Result
    from pbem.match.events.ended import Closing
    from pbem.match.step import Step


class RefereedMode(Play, frozen=True):
    """The play of a match whose referee knows all."""

    entries = frozenset({"commitments"})

    def begin(self, step: Step) -> None:
        begun.begin(step)

    def proceed(self, step: Step) -> None:
        """Resolve the turn when all orders are in."""
        match = step.match
        # Wait for each seat that is asked, until its silence counts as an answer.
        waiting = {seat: standing(match.orders, seat) for seat in match.choosing}
        if not all(orders or match.silent_by_now(seat) for seat, orders in waiting.items()):
            return
        # Orders that are not final may still be replaced, for the agreed time.
        settled = match.resolve_at or step.world.now + match.terms.settling
        if settled > step.world.now and not all(orders is None or orders.final for orders in waiting.values()):
            step.match = replace(match, resolve_at=settled)
        elif gone := [seat for seat in losing_seats(match) if not waiting.get(seat)]:
            lose(step, gone)
            if step.match.phase == "playing":
                advance(step)  # those who are left may all have ordered
        else:
            resolve(step)
            play_on(step)
            advance(step)  # the next turn's orders may all be here already

    def end(self, step: Step, result: Result, closes: Closing | None, by: str, resignation: str) -> None:
        match = step.match
        setups = {seat: match.setup_text(seat) for seat in match.seats}
        turns = [Turn(dict(turn.orders), chance=turn.chance) for turn in match.turns]
        record = record_of(match, result, setups, turns)
        conclude(step, result, record, step.file_trace("end", match.game), closes=closes, by=by)
