"""The work of a desk, in whichever process or thread it is: letter after letter, and the clock between them.

No logic: the desk decides what becomes of a letter. Trouble with the store or a letter ends nothing; the desk tries
again. Implements design.md, "The way of a letter".
"""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Protocol

import structlog

from pbem.server.desk_rest import LONGEST_WAIT, Rest
from pbem.server.roles import ALL, Role
from pbem.store.errors import StoreError

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from pbem.server.desk_rest import Event
    from pbem.store.database import Database

__all__ = ["DeskLike", "Work"]

TROUBLE_WAIT = 5.0  # seconds before the desk tries again after the store had trouble
LETTERS_PER_TICK = 16  # so that a full inbox stops neither the clock nor the answers

log = structlog.get_logger()


class DeskLike(Protocol):
    """The desk as its work sees it; called from one thread, one call at a time."""

    def handle_next(self, now: datetime) -> int:
        """Handle the next letters of the inbox; returns how many there were."""

    def held_up(self) -> bool:
        """Whether letters wait only because another desk has one of their sender, or for their match, in hand."""

    def tick(self, now: datetime) -> datetime | None:
        """Do what the clock demands; returns when to be called again, None if nothing is timed."""


class Work:
    """Letter after letter, and the clock between them; other threads may call it."""

    def __init__(  # noqa: PLR0913 - the outside world, handed in piece by piece
        self,
        desk: DeskLike,
        database: Database,
        now: Callable[[], datetime],
        worked: Callable[[], None],
        rests: Callable[[], None],
        begins: Callable[[bool], None] = lambda _: None,
        *,
        roles: frozenset[Role] = ALL,
        event: Callable[[], Event] = threading.Event,
        clock: Callable[[], float] = time.monotonic,
        longest_wait: float = LONGEST_WAIT,
    ) -> None:
        self._desk = desk
        self._roles = roles
        self._clock = clock
        self._database = database
        self._now = now
        self._worked = worked
        self._rests = rests
        self._begins = begins
        """Told at the beginning of each look whether it was woken for it."""
        self._told = database.changes
        self._woken = event()
        self._stopping = event()
        self._rest = Rest(now, clock, longest_wait)

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
            if woken := self._woken.is_set():
                self._woken.clear()
            self._begins(woken)
            wait = 0.0
            try:
                wait = self._some()
            except StoreError as error:
                log.error("store out of reach", trouble=type(error).__name__)
                wait = TROUBLE_WAIT
            except Exception:
                log.exception("desk trouble")
                wait = TROUBLE_WAIT
            self._tell()
            if wait and not self._stopping.is_set():
                self._rests()
                self._woken.wait(wait)

    def _some(self) -> float:
        """Handle some letters, and look at the clock after the last; returns the seconds until there is more work."""
        since_tick = handled = 0
        looked = 0.0
        while Role.DESK in self._roles and since_tick < LETTERS_PER_TICK:
            began = self._clock()
            if not (handled := self._desk.handle_next(self._now())):
                looked = self._clock() - began
                break
            self._tell()
            since_tick += handled
            self._rest.after_work(self._clock() - began, self._stopping)
            if self._stopping.is_set():
                return 0.0
        following = self._desk.tick(self._now()) if Role.CLOCK in self._roles else None
        if handled:
            return 0.0
        held_up = Role.DESK in self._roles and self._desk.held_up()
        return self._rest.until(following, looked=looked if held_up else None)

    def _tell(self) -> None:
        """Report that there may be something to send."""
        if self._told != (changes := self._database.changes):
            self._told = changes
            self._worked()
