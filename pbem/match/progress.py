"""The progress of a match: reminders are sent, misses noted, games begun, turns resolved as they become due.

Implements protocol.md, "A match".
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pbem.match.events.clocks import catch_up
from pbem.match.events.silence import forfeit, miss
from pbem.match.state import losing_seats, standing
from pbem.match.step import Notice

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pbem.match.step import Step


def tick(step: Step) -> None:
    """Do what is due by now: make up for outages, remind, record misses, and advance the match."""
    catch_up(step)
    if step.match.paused:
        return
    now = step.world.now
    for seat, clock in sorted(step.match.clocks.items()):
        if not step.match.asked(seat) or seat in step.match.missed:
            continue
        grace_ends = clock.grace_ends
        if grace_ends is not None and grace_ends <= now:
            # A letter that came before the grace ended, and is still unhandled, may hold what is due.
            oldest = step.world.oldest_unhandled
            if oldest is None or grace_ends < oldest:
                miss(step, seat)
        elif kind := clock.reminder(now):
            step.set_clock(seat, clock.reminded_by(now))
            step.notices.append(Notice("reminder", seat, step.match, {"reminder": kind}))
    advance(step)


def advance(step: Step) -> None:
    """Do what is due by now in the match's phase, if it is under way."""
    proceed = _PHASES.get(step.match.phase)
    if proceed and not step.match.paused:
        proceed(step)


def _setup(step: Step) -> None:
    """Begin the game when all setups are in; else, once every other seat's time is over, the terms say who loses."""
    match = step.match
    if not step.world.begins(match):
        return
    missing = [seat for seat in match.seats if not standing(match.setups, seat)]
    if match.begins_by_itself or not missing:
        match.play.begin(step)
    elif all(match.silent_by_now(seat) for seat in missing):
        forfeit(step, [seat for seat in losing_seats(match) if seat in missing])


_PHASES: Mapping[str, Callable[[Step], None]] = {
    "setup": _setup,
    "playing": lambda step: step.match.play.proceed(step),
}
"""The work of each phase that waits for players."""
