"""Counts of the day (UTC), which nobody needs on another day.

Every call is part of the caller's transaction. Implements reliability.md, "Limits" and case 36.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from datetime import datetime

    from pbem.store.database import Database


def count_today(database: Database, mark: str, now: datetime) -> int:
    """Count once more under a mark, in the caller's transaction; returns today's count, this time included."""
    sql = (
        "INSERT INTO daily (mark, day, count) VALUES (?, ?, 1) ON CONFLICT (mark) DO UPDATE SET count ="
        " CASE WHEN daily.day = excluded.day THEN daily.count + 1 ELSE 1 END, day = excluded.day RETURNING count"
    )
    ((count,),) = database.write(sql, (mark, now.date().isoformat())).fetchall()
    return int(count)
