"""The match asks for the setups of the next game, or for orders, and the clocks of those who are asked begin to run.

Implements protocol.md, "A match", the clock.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

from pbem.grown import Grown
from pbem.match.changed import replace
from pbem.match.seat_clock import Clock
from pbem.match.state import PAUSE, UNREACHABLE

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from pbem.games import Options, State
    from pbem.match.sealed_game import Ending
    from pbem.match.step import Step


def ask_for_setups(step: Step, options: Options) -> None:
    """Ask everybody for a setup of the next game, of these options; a game without setups begins without."""
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
        sealed_game=None,
        turns=Grown(),
        left={},
        resolve_at=None,
        banks=banks(step),
        missed=frozenset(),
        too_late={},
        stood_in={},
        offers={},
        said={},
    )
    if not match.rules.secret_setups:
        step.match = replace(step.match, clocks={})
        return
    start_clocks(step, match.seats)
    step.notify("setup")


def ask_for_orders(step: Step, position: State) -> None:
    """Start the clocks of those who are asked in this position."""
    match = step.match
    stood_in = {**match.stood_in, **match.too_late}
    step.match = replace(match, banks=banks(step), missed=frozenset(), too_late={}, stood_in=stood_in, offers={})
    asked = [seat for seat, forced in position.due.items() if forced is None]
    start_clocks(step, asked if position.result is None else ())


def ask_for_steps(step: Step, by: int | None = None) -> None:
    """Ask those who owe a step of a sealed game; the clock of a seat that owed one before continues.

    `by` is the seat whose letter led here: its next step must cite the letters that are sent now.
    """
    match = step.match
    game = match.sealed_game
    assert game is not None
    asked = [seat for seat in match.seats if match.asked(seat)]
    before = {seat: heads for seat, heads in game.printed.items() if seat in asked and seat != by}
    printed = {seat: (*before.get(seat, ()), match.prev) for seat in asked}
    going = {seat: match.clocks[seat] for seat in asked if seat in game.printed and seat in match.clocks}
    step.match = replace(
        match,
        banks=banks(step),
        missed=match.missed & going.keys(),
        sealed_game=replace(game, printed=printed),
    )
    start_clocks(step, [seat for seat in asked if seat not in going], going)


def ask_for_reveals(step: Step, ending: Ending) -> None:
    """The sealed game is over by what was told: ask everybody to reveal what was kept secret."""
    match = step.match
    assert match.sealed_game is not None
    step.match = replace(
        match,
        prev=match.head,
        sealed_game=replace(match.sealed_game, ending=ending, printed={}),
        banks=banks(step),
        missed=frozenset(),
        offers={},
        said={},
    )
    start_clocks(step, match.seats)
    step.notify("reveals", ending=ending)


def banks(step: Step) -> dict[int, int]:
    """The rest of each bank once the request is over."""
    drawn = {
        seat: clock.left_in_bank(clock.answered or step.world.now)
        for seat, clock in step.match.clocks.items()
        if step.match.terms.bank
    }
    return {**step.match.banks, **drawn}


def start_clocks(step: Step, seats: Iterable[int], going: Mapping[int, Clock] = MappingProxyType({})) -> None:
    """Start the clocks of these seats now, beside those that continue; no other seat has a clock then."""
    terms = step.match.terms
    now, clocks = step.world.now, dict(going)
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
