"""Housekeeping: what is old goes, a little at a time, and the operator hears in time that the disk fills up.

How much room is kept for the work on letters that are already here is the intake's: it takes no more in. Implements
reliability.md, case 36.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import structlog

from pbem.desk.out import Out
from pbem.phrase import Phrase
from pbem.store.database import stamp
from pbem.store.retention import prune

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from pbem.config import Config
    from pbem.desk.clerk import Clerk
    from pbem.store.database import Database

__all__ = ["Housekeeping"]

_AT_ONCE = 100
"""How many rows of a kind go in one transaction: others want to write, too."""

_WARNED = 3
"""The operator is told when less than so many times the reserve is left."""


class Housekeeping:
    """Keeps the store small; `room` says how many octets are free where it lies."""

    def __init__(  # noqa: PLR0913, PLR0917 - the desk's own parts
        self,
        config: Config,
        database: Database,
        decide: Callable[[Callable[[], None]], None],
        clerk: Clerk,
        today: Callable[[str, datetime], int],
        room: Callable[[], int],
    ) -> None:
        self._config = config
        self._database = database
        self._decide = decide
        self._clerk = clerk
        self._today = today
        self._room = room
        self._done_on = ""
        self._told_on = ""
        self._log: Any = structlog.get_logger("housekeeping")

    def look(self, now: datetime) -> datetime | None:
        """Do some of what is to be done; when to look again, if soon."""
        today = now.date().isoformat()
        if self._told_on != today and self._room() < _WARNED * self._config.limits.reserve_bytes:
            self._told_on = today
            self._decide(partial(self._tell, now))
        if self._done_on != today:
            with self._database.transaction():
                pruned = prune(self._database, stamp(now - self._config.limits.letters_kept), _AT_ONCE)
            if pruned:
                self._log.info("forgotten", rows=pruned)
                return now
            self._done_on = today
        return None

    def _tell(self, now: datetime) -> None:
        """Tell the operator that room is running out, once a day also across restarts."""
        left, reserve = self._room() // 2**20, self._config.limits.reserve_bytes // 2**20
        self._log.warning("little room", mebibytes=left)
        if self._config.operator and self._today("little room", now) == 1:
            text = self._clerk.draft("letters/room.txt", left=left, reserve=reserve)
            self._clerk.send(self._config.operator, Out(Phrase("[pbem] The disk fills up"), text), now)
