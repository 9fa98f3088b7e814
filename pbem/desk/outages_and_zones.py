"""The server's outages, and the players' zones and vacations: what a match cannot know of time by itself.

A heartbeat is written while the
daemon runs; if it is missing for long, the server was down, or its clock was set. Implements protocol.md, "A match",
the clock, and reliability.md, case 30 (clock step).
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from pbem.match.events.moved import OUTAGE
from pbem.match.seat_clock import VACATION, Calendar, Stop, zone_named
from pbem.store.database import from_db, to_db

if TYPE_CHECKING:
    from pbem.store.matches import Matches
    from pbem.store.outages import Outages
    from pbem.store.players import Players

TIMEZONE = "timezone"
"""The setting that names a player's zone."""

_BEAT = timedelta(minutes=1)
_STEP_BACK = timedelta(minutes=5)
"""Smaller backward steps of the clock are ignored."""


@dataclass(eq=False, repr=False)
class OutagesAndZones:
    """Outages and zones, which move deadlines; `_outage` is how long the server must be down before they move."""

    _outages: Outages
    _players: Players
    _matches: Matches
    _outage: timedelta

    def is_beat_due(self, heard: datetime, now: datetime) -> bool:
        """True unless a heartbeat was recorded just now, and what the clock shows; `heard` is as for `beat`."""
        times = zip((heard, now), self._outages.times(), strict=True)
        return any(last is None or not -_STEP_BACK < time - last < _BEAT for time, last in times)

    def note_clock(self, now: datetime) -> None:
        """Record what the clock shows, in the caller's transaction, though perhaps nothing is heard.

        If it had been ahead, whatever waits for a time set by it waits as long as planned.
        """
        _, shown = self._outages.times()
        step = (shown or now) - now
        self._outages.note_clock(now)
        if step >= _STEP_BACK:
            self._outages.draw_in(step, now)
        if step >= self._outage:
            self._matches.look_at_later_than(to_db(now), to_db(now))

    def beat(self, now: datetime) -> datetime | None:
        """Record that the server is at work, in the caller's transaction; after an outage, returns when it began.

        A last heartbeat in the future means that the clock had been ahead: then it is returned as well.
        """
        last = self._outages.heartbeat()
        self._outages.beat(now)
        gap = now - last if last is not None else timedelta()
        if gap <= -_STEP_BACK:
            self._outages.cut(now)
        elif last is not None and gap >= self._outage:
            self._outages.add(last, now)
        else:
            return None
        return last

    def outages(self, since: datetime) -> list[Stop]:
        """The outages that ended after a moment."""
        return [Stop(began, ended, OUTAGE) for began, ended in self._outages.since(since)]

    def ago(self, now: datetime, period: timedelta) -> datetime:
        """The time since when the server has been at work for this long: nothing grows old during an outage.

        A clock that was set looks like an outage, too: what a year ahead would be old is not forgotten for that. Nor
        is anything while one is not over yet, because the mailbox is not read.
        """
        last = self._outages.heartbeat()
        if last is not None and now - last >= self._outage:
            now = last
        for began, ended in reversed(self._outages.since(datetime.min.replace(tzinfo=UTC))):
            if now - ended >= period:
                break
            period -= max(now - ended, timedelta())
            now = min(now, began)
        return now - period

    def zone(self, player: str) -> str:
        """The zone of the player's wall clock."""
        return zone_named(self._players.setting(player, TIMEZONE, "UTC")) or "UTC"

    def calendar(self, player: str, since: datetime) -> Calendar:
        """The player's zone, and the vacations that ended, or will end, after a moment."""
        rows = self._players.vacations(player, to_db(since))
        vacations = tuple(Stop(from_db(row.began), from_db(row.ended), VACATION) for row in rows)
        return Calendar(self.zone(player), vacations)
