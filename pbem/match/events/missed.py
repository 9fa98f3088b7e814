"""A seat missed its deadline: pace and grace are over.

Only `progress.tick` calls `miss`, for the desk's clock (`_advance` in `pbem/desk/due_tasks.py`): once the grace is
over, and every letter that came before its end is handled. Commands never do; `remake` calls it to check the past.
Implements protocol.md, "A match", the clock.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from pbem.match.asking import start_clocks
from pbem.match.changed import replace, without
from pbem.match.entry_forms import mapping, number, seat_number
from pbem.match.entry_forms import time as time_form
from pbem.match.entry_type import EntryType
from pbem.match.state import PAUSE
from pbem.match.transcript import utc, written

if TYPE_CHECKING:
    from datetime import datetime

    from pbem.match.remaking import Remaking
    from pbem.match.seat_clock import Clock
    from pbem.match.state import Match
    from pbem.match.step import Step


def miss(step: Step, seat: int) -> None:
    """A seat's time and grace are over; the terms say what follows. All players are told."""
    match = step.match
    deadline = match.clocks[seat].deadline
    assert deadline is not None, "who has no deadline cannot miss it"
    body = {"game": match.game, "turn": match.turn, "seat": seat, "deadline": written(deadline)}
    entry = step.append_entry("missed", body)
    too_late = min(utc(entry.body["deadline"]) + timedelta(seconds=match.clocks[seat].grace), utc(entry.time))
    times = match.silent.get(seat, 0) + 1
    again = match.phase == "setup" and match.terms.miss == "pass" and times < 2
    silent = {**match.silent, seat: times}
    step.match = replace(step.match, silent=silent, too_late={**match.too_late, seat: too_late})
    if again:  # there is no empty setup: it is asked for once more
        start_clocks(step, [seat], without(match.clocks, seat))
    else:
        step.match = replace(step.match, missed=match.missed | {seat})
    step.notify("missed", seat=seat, silent=times, again=again)


def came(match: Match, seat: int, received: datetime, *, default: bool = False) -> datetime:
    """The time at which this seat's submission or withdrawal counts as received.

    What is handled after a miss came too late for what was missed, because all that had come in time was handled by
    then. `default` orders are for any turn. No proof asks when a step of a sealed game came.
    """
    if match.sealed_game is not None:
        return received
    stood_in = match.stood_in.get(seat, received) if default else received
    return max(received, match.too_late.get(seat, received), stood_in)


def remake(remaking: Remaking) -> Step:
    """A miss: no earlier than pace and grace allow, whatever the player's zone, which only the server knows."""
    remaking.goes_on()
    step = remaking.at_work()
    seat = remaking.seat()
    clock = remaking.match.clocks[seat]
    deadline = utc(remaking.entry.body["deadline"])
    pauses = tuple(stop for stop in clock.stops if stop.reason == PAUSE)
    late = replace(clock, since=deadline, time=0, bank=0, stops=pauses, weekends=True)
    if _before(deadline, late, clock.since, clock.time - clock.bank):
        raise remaking.untrue(None, "the deadline is earlier than what was agreed")
    if _before(step.world.now, late, deadline, clock.grace):
        raise remaking.untrue(None, "the grace after the deadline was not over")
    if not remaking.match.asked(seat):  # which the transcript shows of a reveal
        raise remaking.untrue(None, "nothing was due from this seat")
    if seat in remaking.match.missed:
        raise remaking.untrue(None, "this seat had missed its time before")
    step.match = replace(step.match, clocks={**remaking.match.clocks, seat: late})
    miss(step, seat)
    return step


def _before(moment: datetime, clock: Clock, start: datetime, seconds: int) -> bool:
    """True if the clock cannot have run so long in any zone."""
    floor = clock.floor(start, seconds)
    return floor is None or moment < floor


ENTRY = EntryType(
    "missed",
    mapping({"game": number, "turn": number, "seat": seat_number, "deadline": time_form}),
    remake=remake,
    says="seat {seat} missed turn {turn} of game {game}: pace and grace were over",
    between=True,
)
