"""The heartbeat of the server, and the times without one, for which the clocks of matches make up.

Only storage; the desk decides what an outage is. Every call is part of the caller's transaction. Implements
protocol.md, "A match": an outage of the server never costs a player time.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from pbem.store.database import from_db, to_db
from pbem.store.rows import Rows

if TYPE_CHECKING:
    from datetime import datetime

_BEAT, _CLOCK = "heartbeat", "clock"


class Outages(Rows):
    """The outages of a server, as recorded in its store."""

    def heartbeat(self) -> datetime | None:
        """The last time at which the server was known to work."""
        return self._database.moment("SELECT value FROM meta WHERE name = ?", (_BEAT,))

    def times(self) -> tuple[datetime | None, datetime | None]:
        """The heartbeat, and the last time that the server's clock showed, as far as is known, heard or not."""
        query = "SELECT name, value FROM meta WHERE name IN (?, ?)"
        found = {name: from_db(value) for name, value in self._database.execute(query, (_BEAT, _CLOCK))}
        return found.get(_BEAT), max(found.values(), default=None)

    def beat(self, now: datetime) -> None:
        """Record that the server works."""
        self._database.set_meta(_BEAT, to_db(now))

    def note_clock(self, now: datetime) -> None:
        """Record what the server's clock shows."""
        self._database.set_meta(_CLOCK, to_db(now))

    def add(self, began: datetime, ended: datetime) -> None:
        """Note an outage."""
        self._database.put("outages", "began", began=to_db(began), ended=to_db(ended))

    def cut(self, now: datetime) -> None:
        """Cut outages at the present: the clock had been ahead."""
        self._database.write("DELETE FROM outages WHERE began >= ?", (to_db(now),))
        self._database.write("UPDATE outages SET ended = ? WHERE ended > ?", (to_db(now), to_db(now)))

    def draw_in(self, step: timedelta, now: datetime) -> None:
        """The clock was set back by a `step`: whatever waits for a time set by it will wait as long as planned.

        Deadlines stay as they are: players were told the day and hour. A digest also keeps its hour, and comes
        whole days earlier, as does the letter about strangers' proposals.
        """
        for table, key, waits, by in (
            ("outbox", ("id",), "state IN ('waiting', 'leased') AND", step),
            ("lookups", ("inbox", "name"), "settled IS NULL AND", step),
            ("witness_requests", ("witness",), "status IS NULL AND", step),
            ("notifications", ("player",), "", step),
            ("tournaments", ("number",), "", step),
            ("held", ("id",), "", timedelta(days=step.days)),
            ("unasked", ("player", "match"), "", timedelta(days=step.days)),
        ):
            query = f"SELECT due, {', '.join(key)} FROM {table} WHERE {waits} due > ?"
            sql = f"UPDATE {table} SET due = ? WHERE {' AND '.join(f'{column} = ?' for column in key)}"
            for due, *row in self._database.execute(query, (to_db(now),)).fetchall():
                self._database.write(sql, (to_db(max(now, from_db(due) - by)), *row))
        self._database.write("UPDATE inbox SET tried = NULL WHERE tried > ?", (to_db(now),))
        sql = "UPDATE meta SET value = ? WHERE name LIKE 'look %' AND value > ?"  # a mailbox, see `Inbox.note_look`
        self._database.write(sql, (to_db(now), to_db(now)))

    def since(self, time: datetime) -> list[tuple[datetime, datetime]]:
        """The outages that ended after a moment, oldest first."""
        query = "SELECT began, ended FROM outages WHERE ended > ? ORDER BY began"
        rows = self._database.execute(query, (to_db(time),))
        return [(from_db(began), from_db(ended)) for began, ended in rows]
