"""The time that a server noted last, and what its clock may show next: a clock that leaps is not believed by itself.

A server's time never runs backwards: it is what the clock shows, or the time noted last, if that is later. Whoever
writes a decision notes the time with it. Only the rule and its row; `pbem.server.server_clock` reads clocks by it.
Implements reliability.md, case 38.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from pbem.store.database import Database

HOUR, DAY = timedelta(hours=1), timedelta(days=1)
_NAME = "clock"
_STOP = "clock stop"


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
