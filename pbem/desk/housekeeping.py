"""Housekeeping: old rows are deleted, a little at a time, and the operator is warned before the disk is full.

When only the reserve is left, the intake stops accepting letters: the reserve is for letters that are already here.
Implements reliability.md, case 36.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import structlog

from pbem.desk.alarms import tell_operator
from pbem.desk.daily_limits import LITTLE_ROOM
from pbem.desk.decisions import decide
from pbem.phrase import Phrase
from pbem.store.database import to_db
from pbem.store.retention import prune

if TYPE_CHECKING:
    from datetime import datetime

    from structlog.typing import FilteringBoundLogger

    from pbem.desk.wiring import Desk

_AT_ONCE = 100
"""The most rows of a kind that one transaction deletes: others want to write, too."""

_WARNED = 3
"""The operator is told when less than so many times the reserve is left."""

_LOG: FilteringBoundLogger = structlog.get_logger("housekeeping")


def look(desk: Desk, now: datetime) -> datetime | None:
    """Do some of the work; returns when to continue, if soon."""
    today = now.date().isoformat()
    if desk.warned_on != today:
        room = desk.database.engine.room()
        if room is not None and room < _WARNED * desk.config.limits.reserve_bytes:
            decide(desk, partial(_tell, desk, room, now))
            desk.warned_on = today
    if desk.pruned_on != today:
        with desk.database.transaction():
            before = to_db(desk.time.ago(now, desk.config.limits.letters_kept))
            pruned = prune(desk.database, before, today, _AT_ONCE)
        if pruned:
            _LOG.info("forgotten", rows=pruned)
            return now
        desk.pruned_on = today
    return None


def _tell(desk: Desk, room: int, now: datetime) -> None:
    """Tell the operator that room is running out, once a day even across restarts."""
    left, reserve = room // 2**20, desk.config.limits.reserve_bytes // 2**20
    _LOG.warning("little room", mebibytes=left)
    subject = Phrase("[pbem] The disk is filling up")
    tell_operator(desk, LITTLE_ROOM, now, subject, {"left": left, "reserve": reserve})
