"""A desk at work: what whoever has a desk asks of it, from one thread, one call at a time.

Each call leads to the module that does it. Implements design.md, "The way of a letter".
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import structlog

from pbem.desk import due_tasks, instructions, letter_handling
from pbem.desk.decisions import forget

if TYPE_CHECKING:
    from datetime import datetime

    from structlog.typing import FilteringBoundLogger

    from pbem.desk.wiring import Desk
    from pbem.store.noted_time import Leap

_LOG: FilteringBoundLogger = structlog.get_logger("desk")


class WorkingDesk:
    """A desk at work."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._takes_over = False
        """True until the letters that another one had leased are given back."""

    def may_decide(self) -> bool:
        """True if this server is the one that decides, or has just become it."""
        desk = self._desk
        if not desk.database.engine.decides:
            if not desk.database.try_to_decide():
                return False
            forget(desk)  # others decided meanwhile
            self._takes_over = True
        if self._takes_over:
            # Raises on a full disk, and is asked again. Who has died meanwhile, too, blames no letter this once.
            _LOG.info("decides", letters=desk.inbox.release_all(blame=not desk.in_doubt))
            self._takes_over = False
        return True

    def handle_next(self, now: datetime) -> int:
        """Handle the next letters of the inbox; returns how many. Raises only if the store or the reader fails."""
        return letter_handling.handle_next(self._desk, now)

    def tick(self, now: datetime) -> datetime | None:
        """Do what is due; returns when to be called again."""
        return due_tasks.tick(self._desk, now)

    def stand_still(self, leap: Leap, now: datetime) -> None:
        """Decide nothing because the clock leapt, and tell the operator once."""
        due_tasks.stand_still(self._desk, leap, now)

    def obey(self, now: datetime) -> None:
        """Carry out the operator's instructions."""
        instructions.obey(self._desk, now)
