"""The server's outages, and the players' zones and vacations: what a match cannot know of time by itself.

A heartbeat is written while the desk works; if it is missing for long, the server was down, or its clock leapt.
Implements protocol.md, "A match", the clock, and reliability.md, case 30 (clock step).
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from pbem.match.events.clocks import OUTAGE
from pbem.match.seat_clock import VACATION, Calendar, Stop, zone_named
from pbem.store.database import from_db, to_db

if TYPE_CHECKING:
    from pbem.store.noted_time import Outages
    from pbem.store.players import Players

TIMEZONE = "timezone"
"""The setting that names a player's zone."""

_BEAT = timedelta(minutes=1)


@dataclass(eq=False, repr=False)
class OutagesAndZones:
    """Outages and zones, which move deadlines; `_outage` is how long the server must be down before they move."""

    _outages: Outages
    _players: Players
    _outage: timedelta

    def is_beat_due(self, now: datetime) -> bool:
        """True unless a heartbeat was recorded just now."""
        last = self._outages.heartbeat()
        return last is None or now - last >= _BEAT

    def beat(self, now: datetime, *, stood: bool) -> datetime | None:
        """Record that the server is at work, in the caller's transaction; after an outage, returns when it began.

        That time `stood` is one, too, however short.
        """
        last = self._outages.heartbeat()
        self._outages.beat(now)
        if last is None or now == last or (now - last < self._outage and not stood):
            return None
        self._outages.add(last, now)
        return last

    def outages(self, since: datetime) -> list[Stop]:
        """The outages that ended after a moment."""
        return [Stop(began, ended, OUTAGE) for began, ended in self._outages.since(since)]

    def ago(self, now: datetime, period: timedelta) -> datetime:
        """The time since when the server has been at work for this long: nothing grows old during an outage.

        Nor while one is not over yet, because the mailbox is not read.
        """
        last = self._outages.heartbeat()
        if last is not None and now - last >= self._outage:
            now = last
        for began, ended in reversed(self._outages.since(datetime.min.replace(tzinfo=UTC))):
            if now - ended >= period:
                break
            period -= now - ended
            now = began
        return now - period

    def zone(self, player: str) -> str:
        """The zone of the player's wall clock."""
        return zone_named(self._players.setting(player, TIMEZONE, "UTC")) or "UTC"

    def calendar(self, player: str, since: datetime) -> Calendar:
        """The player's zone, and the vacations that ended, or will end, after a moment."""
        rows = self._players.vacations(player, to_db(since))
        vacations = tuple(Stop(from_db(row.began), from_db(row.ended), VACATION) for row in rows)
        return Calendar(self.zone(player), vacations)
