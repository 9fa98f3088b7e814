"""The heartbeat of the server, and the times without one, for which the clocks of matches make up.

Only storage; the desk decides what an outage is. Every call is part of the caller's transaction. Implements
protocol.md, "A match": an outage of the server never costs a player time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pbem.store.database import from_db, to_db
from pbem.store.rows import Rows

if TYPE_CHECKING:
    from datetime import datetime

_BEAT = "heartbeat"


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
