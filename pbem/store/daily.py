"""How often something happened on a day (UTC): counts that nobody needs on another day.

A count of any other day is over, also of one that is still to come: the clock had been ahead. Every call is part of
the caller's transaction. Implements reliability.md, "Limits" and cases 36 and 38.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from datetime import datetime

    from pbem.store.database import Database

__all__ = ["Daily"]


class Daily:
    """The counts of the day, by a mark that says what is counted."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def count(self, mark: str, now: datetime) -> int:
        """Count once more, in the caller's transaction; returns how often it happened today, this time included."""
        day = now.date().isoformat()
        sql = (
            "INSERT INTO daily (mark, day, count) VALUES (?, ?, 1) ON CONFLICT (mark) DO UPDATE SET count ="
            " CASE WHEN daily.day = excluded.day THEN daily.count + 1 ELSE 1 END, day = excluded.day RETURNING count"
        )
        ((count,),) = self._database.write(sql, (mark, day)).fetchall()
        return int(count)
