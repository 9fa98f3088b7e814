"""Deadlines moved, by the server's word: an outage, a letter that was late, a player who can be reached again.

Implements protocol.md, "A match", the clock.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pbem.match.changed import replace, without
from pbem.match.entry_forms import mapping, one_of, seats, time
from pbem.match.entry_type import EntryType
from pbem.match.events.halted import DELIVERY, remake
from pbem.match.seat_clock import Stop
from pbem.match.state import RUNNING, UNREACHABLE
from pbem.match.transcript import written

if TYPE_CHECKING:
    from datetime import datetime

    from pbem.match.seat_clock import Clock
    from pbem.match.step import Step


OUTAGE = "outage"


def catch_up(step: Step) -> None:
    """Exclude from the clocks the times in which the server was out of reach."""
    moved: dict[int, Clock] = {}
    for seat, clock in sorted(step.match.clocks.items()):
        outages = [Stop(stop.began, stop.ended, OUTAGE) for stop in step.world.outages(clock.since)]
        if outages != [stop for stop in clock.stops if stop.reason == OUTAGE]:
            moved[seat] = clock.with_stops(OUTAGE, outages)
    if moved:
        step.match = replace(step.match, clocks={**step.match.clocks, **moved})
        ends = [
            stop.ended for clock in moved.values() for stop in clock.stops if stop.reason == OUTAGE and stop.ended
        ]
        until = max(ends, default=step.world.now)
        step.append_entry("moved", {"seats": sorted(moved), "reason": OUTAGE, "until": written(until)})


def arrive(step: Step, seat: int, asked: datetime, since: datetime, until: datetime) -> bool:
    """The letter that asked a seat was late, and the clock stood meanwhile; returns whether that still matters."""
    clock = step.match.clocks.get(seat)
    if clock is None or clock.since != asked or seat in step.match.missed:
        return False
    # Another letter about the same may have been late before: that a match goes on after a pause.
    stops = [stop for stop in clock.stops if stop.reason == DELIVERY]
    earlier = [stop for stop in stops if stop.ended is not None]
    began = min([since, *(stop.began for stop in stops if stop.ended is None)])
    step.set_clock(seat, clock.with_stops(DELIVERY, [*earlier, Stop(began, until, DELIVERY)]))
    step.append_entry("moved", {"seats": [seat], "reason": DELIVERY, "until": written(until)})
    return True


def find(step: Step, seat: int) -> None:
    """A seat's player can be reached again: the clock continues."""
    match = step.match
    if seat not in match.unreachable or match.phase not in RUNNING:
        return
    if clock := match.clocks.get(seat):
        step.set_clock(seat, clock.released(UNREACHABLE, step.world.now))
    step.match = replace(step.match, unreachable=without(match.unreachable, seat))
    step.append_entry("moved", {"seats": [seat], "reason": UNREACHABLE, "until": step.world.time})


ENTRY = EntryType(
    "moved",
    mapping({"seats": seats, "reason": one_of(OUTAGE, DELIVERY, UNREACHABLE), "until": time}),
    remake=remake,
    says="deadlines of seats {seats} moved: {reason} (the server's word)",
    between=True,
)
