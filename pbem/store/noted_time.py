"""The time as the store has it: the time noted last, the server's heartbeat, and outages, for which clocks make up.

A server's time never runs backwards: it is what the clock shows, or the time noted last, if that is later; a clock
that leaps is not believed by itself. `pbem.server.server_clock` reads clocks by this rule. Every call is part of the
caller's transaction. Implements reliability.md, case 38; protocol.md, "A match": an outage never costs a player time.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING

import msgspec

from pbem.store.database import from_db, to_db
from pbem.store.rows import Rows

if TYPE_CHECKING:
    from pbem.store.database import Database

HOUR, DAY = timedelta(hours=1), timedelta(days=1)
_NAME = "clock"
_STOP = "clock stop"
_BEAT = "heartbeat"


class ClockReading(msgspec.Struct, frozen=True):
    """A look at a clock: what it shows, and how long the machine has been up since which boot, asleep or not."""

    wall: datetime
    boot: str
    seconds: float


class Noted(msgspec.Struct, frozen=True):
    """The latest time by which a server went, and the last reading that was believed."""

    time: datetime
    last: ClockReading

    def elapsed(self, reading: ClockReading) -> timedelta:
        """The time that went by until then, as far as the machine can tell: across a boot, none.

        Nor if fewer seconds went by since the boot than before: then it is an earlier snapshot of the machine.
        """
        same = reading.boot == self.last.boot
        return timedelta(seconds=max(reading.seconds - self.last.seconds, 0.0)) if same else timedelta()

    def leapt(self, reading: ClockReading) -> timedelta:
        """The time by which a clock leapt ahead, or, negative, back; zero for what any clock does.

        That is an hour ahead of what the machine says, or, across a boot, a day; and an hour behind what was noted.
        """
        ahead = reading.wall - self.last.wall - self.elapsed(reading)
        most = HOUR if reading.boot == self.last.boot else DAY
        behind = reading.wall < self.last.wall - HOUR
        return ahead if ahead > most or behind else timedelta()

    def followed_by(self, reading: ClockReading) -> Noted:
        """The same after a reading within bounds: if it is behind, time stands still."""
        wall = max(reading.wall, self.last.wall)
        return Noted(max(self.time, wall), msgspec.structs.replace(reading, wall=wall))

    def believing(self, reading: ClockReading) -> Noted:
        """The same after a leap that is believed; after one back, time stands still until it is reached again."""
        return Noted(max(self.time + self.elapsed(reading), reading.wall), reading)


class Leap(msgspec.Struct, frozen=True):
    """A leap that nobody vouches for: `by` how much, what was noted before, and what the clock shows."""

    by: timedelta
    noted: datetime
    wall: datetime

    def __str__(self) -> str:
        by = abs(timedelta(seconds=round(self.by.total_seconds())))
        way = "ahead" if self.by > timedelta() else "back"
        return (
            f"it shows {self.wall:%Y-%m-%d %H:%M} UTC, and leapt {way} by {by}; {self.noted:%Y-%m-%d %H:%M} UTC was"
            " noted last. Nobody vouches for it: set it right, or see `pbem clock accept`"
        )


def read(database: Database) -> Noted | None:
    """The last note; None in a new store."""
    text = database.meta(_NAME)
    return None if text is None else msgspec.json.decode(text, type=Noted)


def note(database: Database, noted: Noted) -> None:
    """Note it, in the caller's transaction."""
    database.set_meta(_NAME, msgspec.json.encode(noted).decode())


def stop(database: Database) -> Leap | None:
    """The leap because of which the desk decides nothing, or has not decided since."""
    text = database.meta(_STOP)
    return None if text is None else msgspec.json.decode(text, type=Leap)


def note_stop(database: Database, leap: Leap) -> None:
    """Note that the desk decides nothing, in the caller's transaction."""
    database.set_meta(_STOP, msgspec.json.encode(leap).decode())


def note_end(database: Database) -> bool:
    """Note that the desk decides, in the caller's transaction; returns whether it did not."""
    return database.write("DELETE FROM meta WHERE name = ?", (_STOP,)).rowcount > 0


class Outages(Rows):
    """The outages of a server, as recorded in its store."""

    def heartbeat(self) -> datetime | None:
        """The last time at which the server was known to work."""
        return self._database.moment("SELECT value FROM meta WHERE name = ?", (_BEAT,))

    def beat(self, now: datetime) -> None:
        """Record that the server works."""
        self._database.set_meta(_BEAT, to_db(now))

    def add(self, began: datetime, ended: datetime) -> None:
        """Note an outage."""
        self._database.put("outages", "began", began=to_db(began), ended=to_db(ended))

    def since(self, time: datetime) -> list[tuple[datetime, datetime]]:
        """The outages that ended after a moment, oldest first."""
        query = "SELECT began, ended FROM outages WHERE ended > ? ORDER BY began"
        rows = self._database.execute(query, (to_db(time),))
        return [(from_db(began), from_db(ended)) for began, ended in rows]
