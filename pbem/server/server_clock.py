"""The clock of a server: the machine's, or that of the database that servers share, as far as it can be believed.

It never runs backwards. If it leaps (`Noted.leapt`), somebody must vouch for it: the kernel, which says that a time
server keeps it; the configuration; or, of a database's clock, a machine whose own vouched clock agrees. Otherwise it
stops, and the desk decides nothing. Implements reliability.md, case 38, and docs/many-machines.md.
"""

from __future__ import annotations

import ctypes
import os
import time
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import structlog
from msgspec.structs import replace

from pbem.store import noted_time
from pbem.store.noted_time import ClockReading, Leap, Noted

if TYPE_CHECKING:
    from collections.abc import Callable

    from pbem.config.server import Config
    from pbem.store.database import Database

AGREES = timedelta(minutes=1)
"""The most by which a machine's clock differs from one that it vouches for."""

log = structlog.get_logger()


def now() -> datetime:
    """The time of this machine."""
    return datetime.now(UTC)


def uptime() -> tuple[str, float]:
    """The current boot of this machine, and the seconds since then, also those that it slept."""
    boot = _boot()
    return (boot, time.clock_gettime(time.CLOCK_BOOTTIME)) if boot else (_PROCESS, time.monotonic())


@cache
def _boot() -> str:
    """The current boot; empty where that cannot be known: then it is as if each process had one of its own."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text("ascii").strip()
    except OSError:
        return ""


def is_synchronised() -> bool:
    """True if the kernel says that a time server keeps this machine's clock."""
    try:
        # The kernel's `struct timex`, whose first word says that nothing is to be set.
        state = int(ctypes.CDLL(None).adjtimex(ctypes.create_string_buffer(512)))
    except (OSError, AttributeError):
        return False
    return 0 <= state < _TIME_ERROR


_TIME_ERROR = 5
_PROCESS = os.urandom(8).hex()


@dataclass(frozen=True)
class Machine:
    """The clocks of a machine."""

    now: Callable[[], datetime] = now
    uptime: Callable[[], tuple[str, float]] = uptime
    is_synchronised: Callable[[], bool] = is_synchronised


THIS_MACHINE = Machine()


class ServerClock:
    """The clock by which one process of a server goes; before the first look into the store, the machine's."""

    def __init__(self, machine: Machine, config: Config) -> None:
        self._machine = machine
        self._began = machine.uptime()[1]
        self._trusted = config.clock.trusted or bool(config.smarthost.maildirs)
        self._shared: tuple[datetime, float] | None = None
        """The clock of the database that servers share, and when it was looked at."""
        self._stored: Noted | None = None
        self._noted: Noted | None = None
        self._vouched = False
        """True if a leap was vouched for here, and others may not know it yet."""
        self.leap: Leap | None = None
        """The leap that nobody vouches for, while the clock stops."""
        self.stop: Leap | None = None
        """The same, or that because of which a desk stops whose machine knows more of it: one of another boot."""
        self.behind = timedelta()
        """The time by which the machine's clock, or the database's, is behind, while time stands still."""

    def look(self, database: Database) -> datetime:
        """The time, by what the store says that was noted; raises `BusyError`."""
        _, seconds = self._machine.uptime()
        here = self._machine.now()
        there = database.engine.time(here)
        self._shared = None if there is here else (there, seconds)  # a file has no clock of its own
        stored = noted_time.read(database)
        if stored is not None and stored != self._stored:
            if self._noted is None:
                self._noted = stored
            else:
                # As this machine would have noted it: others have boots of their own.
                reading = self.reading()
                last = stored.last if stored.last.boot == reading.boot else replace(reading, wall=stored.last.wall)
                self._noted = Noted(max(stored.time, self._noted.time), last)
        self._stored = stored
        now = self()
        elsewhere = stored is not None and stored.last.boot != self._machine.uptime()[0]
        self.stop = self.leap or (noted_time.stop(database) if elsewhere else None)
        if self._vouched:
            with database.transaction():
                self.note(database)
            self._vouched = False
        return now

    def __call__(self) -> datetime:
        """The time, by what is known since the last look."""
        reading, noted = self.reading(), self._noted
        if noted is None:
            self._noted = Noted(reading.wall, reading)
            return reading.wall
        by = noted.leapt(reading)
        if by and not self._agrees(reading):
            self.leap = Leap(by, noted.time, reading.wall)
            return noted.time + noted.elapsed(reading)
        if by:
            log.warning("the clock leapt, and is vouched for", seconds=int(by.total_seconds()))
            self._vouched = True
        self.leap = None
        self._noted = noted.believing(reading) if by else noted.followed_by(reading)
        self.behind = self._noted.time - reading.wall
        return self._noted.time

    def for_retries(self) -> datetime:
        """The time for what is tried again, which also goes on in a stop after a boot: with this process."""
        now = self()
        boot, seconds = self._machine.uptime()
        stands = self.leap is not None and self._noted is not None and self._noted.last.boot != boot
        return now + timedelta(seconds=seconds - self._began) if stands else now

    def reading(self) -> ClockReading:
        """A look at the clock, whether it is believed or not."""
        boot, seconds = self._machine.uptime()
        if self._shared is None:
            return ClockReading(self._machine.now(), boot, seconds)
        time, then = self._shared
        return ClockReading(time + timedelta(seconds=seconds - then), boot, seconds)

    def is_vouched(self) -> bool:
        """True if somebody vouches for the clock."""
        return self._agrees(self.reading())

    def _agrees(self, reading: ClockReading) -> bool:
        near = abs(self._machine.now() - reading.wall) < AGREES
        return self._trusted or (near and self._machine.is_synchronised())

    def stops(self) -> bool:
        """True while nothing is decided, because the clock leapt, and nobody vouches for it."""
        self()
        return self.leap is not None

    def note(self, database: Database) -> None:
        """Note the time, in the caller's transaction; nothing while the clock stops."""
        if self.leap is None and self._noted is not None:
            noted_time.note(database, self._noted)

    def accept(self, database: Database) -> None:
        """Believe the clock, because the operator says so."""
        assert self._noted is not None, "there is no leap in a new store"
        with database.transaction():
            noted_time.note(database, self._noted.believing(self.reading()))
