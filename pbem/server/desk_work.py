"""The work of a desk, in whichever process or thread it is: letter after letter, and the clock between them.

No logic: the desk decides what becomes of a letter. Trouble with the store or a letter ends nothing; the desk tries
again. Implements design.md, "The way of a letter".
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Protocol

import structlog

from pbem.server.desk_rest import Rest
from pbem.server.server_clock import ServerClock
from pbem.store.errors import StoreError

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from pbem.server.desk_opening import Supplies
    from pbem.store.database import Database
    from pbem.store.noted_time import Leap

TROUBLE_WAIT = 5.0  # seconds before the desk tries again after the store had trouble
STANDBY = 0.5  # seconds between two looks whether the server that decides is gone
LETTERS_PER_TICK = 16  # so that a full inbox stops neither the clock nor the answers

log = structlog.get_logger()


class DeskLike(Protocol):
    """The desk as its work sees it; called from one thread, one call at a time."""

    def handle_next(self, now: datetime) -> int:
        """Handle the next letters of the inbox; returns how many there were."""

    def may_decide(self) -> bool:
        """Return whether this server is the one that decides, or has just become it."""

    def tick(self, now: datetime) -> datetime | None:
        """Do what the clock demands; returns when to be called again, None if nothing is timed."""

    def stand_still(self, leap: Leap, now: datetime) -> None:
        """Tell the operator, once, that nothing is decided, because the clock leapt."""


class Work:
    """Letter after letter, and the clock between them; other threads may call it."""

    def __init__(self, desk: DeskLike, database: Database, supplies: Supplies, worked: Callable[[], None]) -> None:
        self._desk = desk
        self._database = database
        self._supplies = supplies
        self._now = ServerClock(supplies.machine, supplies.config)
        database.noting = partial(self._now.note, database)
        self._worked = worked
        self._reported = database.engine.changes
        self._woken = supplies.event()
        self._stopping = supplies.event()
        self._rest = Rest(self._now, supplies)

    def wake(self) -> None:
        """Look at the inbox and the clock now."""
        self._woken.set()

    def ease(self) -> None:
        """Rest more than work, for a moment: letters pour in."""
        self._rest.ease()

    def stop(self) -> None:
        """Begin no further letter."""
        self._stopping.set()
        self._woken.set()

    def __call__(self) -> None:
        """Work until `stop`."""
        while not self._stopping.is_set():
            self._woken.clear()
            wait = 0.0
            try:
                wait = self._handle_batch()
            except StoreError as error:
                log.error("store out of reach", trouble=type(error).__name__)
                wait = TROUBLE_WAIT
            except Exception:
                log.exception("desk trouble")
                wait = TROUBLE_WAIT
            self._report()
            if wait and not self._stopping.is_set():
                self._woken.wait(wait)

    def _handle_batch(self) -> float:
        """Handle some letters, and look at the clock after the last; returns the seconds until there is more work."""
        if not self._desk.may_decide():
            self._stopping.wait(STANDBY)
            return 0.0
        now = self._now.look(self._database)
        if self._now.leap is not None:
            self._desk.stand_still(self._now.leap, now)
            return self._rest.until(None)
        since_tick = handled = 0
        while since_tick < LETTERS_PER_TICK:
            began = self._supplies.clock()
            if not (handled := self._desk.handle_next(now)):
                break
            self._report()
            since_tick += handled
            self._rest.after_work(self._supplies.clock() - began, self._stopping)
            now = self._now()
            if self._stopping.is_set() or self._now.leap is not None:
                return 0.0
        following = self._desk.tick(now)
        return 0.0 if handled else self._rest.until(following)

    def _report(self) -> None:
        """Report that there may be something to send."""
        if self._reported != (changes := self._database.engine.changes):
            self._reported = changes
            self._worked()
