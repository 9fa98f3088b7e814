"""Letters that wait for their player's digest: written, not yet in the outbox.

Only storage: what may wait, and how a digest reads, is decided at the desk. Contents are sealed by the vault, because
reports carry what only one player may know. Every call is part of the caller's transaction. Implements protocol.md,
"Commands" (`set mail`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from pbem.store.database import to_db
from pbem.store.rows import SealedRows

if TYPE_CHECKING:
    from datetime import datetime


class WaitingLetter(msgspec.Struct, frozen=True):
    """A waiting letter: its number, the match that it is about, and its content as it was given."""

    id: int
    match: int
    content: bytes


class DigestQueue(SealedRows):
    """The letters of a store that wait for a digest."""

    def hold(self, player: str, match: int, content: bytes, due: datetime) -> None:
        """Keep a letter to a player, about a match, until it is due."""
        self._database.put("held", **self._sealed("held", player=player, match=match, due=to_db(due), sealed=content))

    def take(self, player: str, match: int | None = None) -> list[WaitingLetter]:
        """Take the letters that wait for this player (about this match), oldest first; they no longer wait."""
        query = "SELECT * FROM held WHERE player = ? AND match = coalesce(?, match) ORDER BY id"
        rows = self._opened_rows("held", query, (player, match))
        for row in rows:
            self._database.write("DELETE FROM held WHERE id = ?", (row["id"],))
        return [WaitingLetter(row["id"], row["match"], row["sealed"]) for row in rows]

    def due(self, now: datetime) -> list[str]:
        """The players whose digests are due."""
        query = "SELECT DISTINCT player FROM held WHERE due <= ? ORDER BY player"
        return [row["player"] for row in self._database.rows(query, (to_db(now),))]

    def next_due(self) -> datetime | None:
        """The time at which the next digest is due."""
        return self._database.moment("SELECT min(due) FROM held")

    def hurry(self, player: str, now: datetime) -> None:
        """Make everything that waits for this player due now."""
        self._database.write("UPDATE held SET due = ? WHERE player = ?", (to_db(now), player))
