"""What the store keeps for a time only: counts of the day, marks of letters that were vouched for, and old letters.

Evidence stays for ever: transcripts, papers, the letters in them, the words that were signed, keys, and the list of
people who want no mail. So do letters that wait or may still show a delay. Rows that only say what holds now are
deleted where that ends, by the modules of their tables. Implements reliability.md, "Limits" and cases 35 and 36.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection
    from datetime import datetime

    from pbem.store.database import Database

_INBOX = "SELECT id FROM inbox WHERE state = 'done' AND received < ? LIMIT ?"
_ASIDE = "SELECT id FROM inbox WHERE state = 'aside' AND received < ? LIMIT ?"
_OUTBOX = (
    "SELECT id FROM outbox WHERE (state = 'delivered' OR state = 'failed' AND told = 1) AND settled < ?"
    " AND id NOT IN (SELECT outbox FROM watched) AND id NOT IN (SELECT letter FROM unreachable) LIMIT ?"
)
_CHALLENGES = "DELETE FROM challenges WHERE rowid IN (SELECT rowid FROM challenges WHERE created < ? LIMIT ?)"
_TOKENS = (
    "DELETE FROM reply_tokens WHERE hash IN"
    " (SELECT hash FROM reply_tokens WHERE name NOT IN (SELECT name FROM players) AND created < ? LIMIT ?)"
)
_VOUCHED = "DELETE FROM vouched WHERE mark IN (SELECT mark FROM vouched WHERE time < ? LIMIT ?)"
_CHECKPOINTS = (
    "DELETE FROM checkpoints WHERE size IN (SELECT size FROM checkpoints AS old WHERE time < ? AND size <"
    " (SELECT max(size) FROM checkpoints WHERE cosigned = 1) AND (cosigned = 0 OR EXISTS (SELECT 1 FROM checkpoints"
    " AS later WHERE later.cosigned = 1 AND later.time > old.time AND later.time < substr(old.time, 1, 10) || 'U'))"
    " LIMIT ?)"
)
"""Checkpoints before the last cosigned one; but the last cosigned one of each day stays, for pages of old matches."""


def prune(database: Database, before: str, today: str, most: int) -> int:
    """Forget what is from before a time, up to so many rows of a kind; how many in all, 0 when nothing is left.

    The counts of other days go without being counted.
    """
    received = [row["id"] for query in (_INBOX, _ASIDE) for row in database.rows(query, (before, most))]
    sent = [row["id"] for row in database.rows(_OUTBOX, (before, most))]
    for row in received:
        database.write("DELETE FROM bounces WHERE inbox = ?", (row,))
        database.write("DELETE FROM inbox WHERE id = ?", (row,))
    for row in sent:
        database.write("DELETE FROM bounces WHERE outbox = ?", (row,))
        database.write("DELETE FROM outbox WHERE id = ?", (row,))
    left = sum(database.write(sql, (before, most)).rowcount for sql in (_CHALLENGES, _TOKENS, _VOUCHED, _CHECKPOINTS))
    for other in "<>":  # <> would walk all, as both in one sentence do
        database.write(f"DELETE FROM daily WHERE day {other} ?", (today,))
    return len(received) + len(sent) + left


def count_today(database: Database, mark: str, now: datetime) -> int:
    """Count once more under a mark, in the caller's transaction; returns today's count, this time included."""
    sql = (
        "INSERT INTO daily (mark, day, count) VALUES (?, ?, 1) ON CONFLICT (mark) DO UPDATE SET count ="
        " CASE WHEN daily.day = excluded.day THEN daily.count + 1 ELSE 1 END, day = excluded.day RETURNING count"
    )
    ((count,),) = database.write(sql, (mark, now.date().isoformat())).fetchall()
    return int(count)


def note_marks(database: Database, marks: Collection[str], time: str) -> bool:
    """Note the marks of a letter; returns True if none of them was noted before."""
    noted = [database.add("vouched", mark=mark, time=time) for mark in marks]
    return all(noted)
