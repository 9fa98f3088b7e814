"""Late delivery: letters that asked a player for something, and how long they took to arrive.

A clock starts when its letter is written. If the letter waits long in the outbox, because the other side is down or
defers it, the clock is stopped until delivery: the player is not at fault. `bounces` handles letters that were never
delivered. All notes are part of the desk's transaction. Implements protocol.md, "A match" (a failed delivery never
costs a player time).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pbem.desk.seats import SeatContext
from pbem.match.events import clocks
from pbem.match.step import Notice
from pbem.store.outbox import LATE

if TYPE_CHECKING:
    from datetime import datetime

    from pbem.desk.wiring import Desk
    from pbem.store.outbox import Watched

_AT_ONCE = 1000
"""The most letters that are looked at in one go."""


def due(desk: Desk, now: datetime) -> tuple[list[Watched], datetime | None]:
    """The letters that are late, or were, and when to look again. Changes nothing.

    The latter is when a waiting letter will be late if it is not delivered by then.
    """
    found = desk.outbox.watched(_AT_ONCE)
    waiting = [one for one in found if one.settled is None and not one.late]
    ripe = [one for one in waiting if one.created + LATE <= now]
    following = [one.created + LATE for one in waiting if one.created + LATE > now]
    settled = [one for one in found if one.settled is not None]
    return [*settled, *ripe], min(following, default=None)


def see_to(desk: Desk, found: Watched, now: datetime) -> None:
    """Stop the clock for a letter that waits, or let it run after one that was late."""
    if not (desk.outbox.delayed(found) if found.settled is None else desk.outbox.unwatch(found)):
        return  # another desk was first
    if found.settled and desk.outbox.is_late(found.match, found.seat, found.asked):
        return  # another one about the same is still under way, and the clock stands for both
    at = SeatContext(desk.seats, *desk.archive.known(found.match), found.seat)
    step = at.step(now)
    if found.settled is None:
        clocks.delay(step, found.seat, found.asked, found.created)
    elif clocks.arrive(step, found.seat, found.asked, found.created, found.settled):
        step.notices.append(Notice("moved", found.seat, step.match))
    if step.entries:
        at.commit(step)
