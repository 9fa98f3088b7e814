"""The match asks: for the setups of the next game, or for orders; and the clocks of those who are asked begin to run.

Implements protocol.md, "A match", the clock.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pbem.match.changed import replace
from pbem.match.clock import Clock
from pbem.match.state import PAUSE, UNREACHABLE
from pbem.match.turns import Turns

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pbem.games import Options, State
    from pbem.match.step import Step

__all__ = ["ask_for_orders", "ask_for_setups", "banks", "start_clocks"]


def ask_for_setups(step: Step, options: Options) -> None:
    """Ask everybody for a setup of the next game, of these options."""
    match = step.match
    step.match = replace(
        match,
        phase="setup",
        prev=match.head,
        game=match.game + 1,
        options=options,
        setups={},
        orders={},
        stored={},
        position=None,
        turns=Turns(),
        left={},
        resolve_at=None,
        banks=banks(step),
        missed=frozenset(),
        offers={},
        said={},
    )
    start_clocks(step, match.seats)
    step.notify("setup")


def ask_for_orders(step: Step, position: State) -> None:
    """Set the clocks going of those who are asked in this position."""
    step.match = replace(step.match, banks=banks(step), missed=frozenset(), offers={})
    asked = [seat for seat, forced in position.due.items() if forced is None]
    start_clocks(step, asked if position.result is None else ())


def banks(step: Step) -> dict[int, int]:
    """What is left in each bank when what was asked for is over."""
    drawn = {
        seat: clock.left_in_bank(clock.answered or step.world.now)
        for seat, clock in step.match.clocks.items()
        if step.match.terms.bank
    }
    return {**step.match.banks, **drawn}


def start_clocks(step: Step, seats: Iterable[int]) -> None:
    """Set the clocks of these seats going, from now on; all others stand."""
    terms = step.match.terms
    now, clocks = step.now, {}
    for seat in seats if terms.pace else ():
        calendar = step.world.calendar(step.match.name(seat))
        bank = step.match.banks.get(seat, terms.bank)
        clocks[seat] = Clock(
            since=now,
            time=terms.pace + bank,
            grace=terms.grace,
            bank=bank,
            zone=calendar.zone,
            weekends=terms.weekends == "count",
            stops=calendar.vacations,
        )
        if step.match.paused:
            clocks[seat] = clocks[seat].halted(PAUSE, now)
        if seat in step.match.unreachable:
            clocks[seat] = clocks[seat].halted(UNREACHABLE, now)
    step.match = replace(step.match, clocks=clocks)
