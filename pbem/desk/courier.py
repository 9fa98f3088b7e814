"""The courier: letters that asked somebody for something, and how long they were under way.

A clock begins when its letter is written. Where the letter waits in the outbox for long, because the other side is
away or asks to come again, the clock stands until it was delivered: that is nobody's fault who plays. What was never
delivered is the postmaster's business. What is noted is part of the desk's transaction. Implements protocol.md, "A
match" (a failed delivery never costs a player time).
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from pbem.desk.table import commit
from pbem.match.events import halted, moved
from pbem.match.step import Notice, Step

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import datetime

    from pbem.desk.archive import Archive
    from pbem.desk.clerk import Clerk
    from pbem.match.step import World
    from pbem.store.outbox import Outbox, Watched

__all__ = ["LATE", "Courier"]

LATE = timedelta(hours=1)
"""So long a letter may be under way before the clock stands for it: mail takes its time, and reminders are due."""

_AT_ONCE = 1000
"""How many letters are looked at in one go."""


class Courier:
    """Sees to the clocks of those whose letters are late."""

    def __init__(self, outbox: Outbox, archive: Archive, clerk: Clerk, world: Callable[[datetime], World]) -> None:
        self._outbox = outbox
        self._archive = archive
        self._clerk = clerk
        self._world = world

    def due(self, now: datetime) -> tuple[list[Watched], list[Watched], datetime | None]:
        """The letters that arrived in time and can be forgotten, those that are to be seen to, and when the next is.

        The last is the time of one that waits, should it not be delivered until then. Only looks.
        """
        found = self._outbox.watched(_AT_ONCE)
        in_time = [one for one in found if not one.late and one.settled and one.settled - one.created < LATE]
        waiting = [one for one in found if one.settled is None and not one.late]
        ripe = [one for one in waiting if one.created + LATE <= now]
        following = [one.created + LATE for one in waiting if one.created + LATE > now]
        settled = [one for one in found if one.settled is not None and one not in in_time]
        return in_time, [*settled, *ripe], min(following, default=None)

    def forget(self, in_time: Sequence[Watched]) -> None:
        """Watch letters no longer that arrived in time."""
        for one in in_time:
            self._outbox.unwatch(one)

    def see_to(self, found: Watched, now: datetime) -> None:
        """Let the clock stand for a letter that waits, or run on after one that was late."""
        loaded = self._archive.load(found.match)
        assert loaded is not None
        match, row = loaded
        step = Step(match, self._world(now))
        if found.settled is None:
            self._outbox.delayed(found)
            halted.delay(step, found.seat, found.asked, found.created)
        else:
            self._outbox.unwatch(found)
            if moved.arrive(step, found.seat, found.asked, found.created, found.settled):
                step.notices.append(Notice("moved", found.seat, step.match))
        if step.entries:
            commit(self._archive, self._clerk, match, row, step)
