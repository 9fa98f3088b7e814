"""The addresses at which players want to be notified beside their mail, and the text to be posted there: one each.

Only storage. The desk stores a text in its transaction; another task posts it, and holds no lock meanwhile. A newer
text replaces one that waits. Addresses are sealed, because whoever knows a topic can read it and write to it.
Implements docs/operating.md, "Notifications".
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from pbem.store.database import to_db
from pbem.store.rows import SealedRows

if TYPE_CHECKING:
    from datetime import datetime


class Topic(msgspec.Struct, frozen=True):
    """A topic, the code by which its player confirms it, and the text that waits or was posted last."""

    url: str
    code: str
    text: str = ""


class Notification(msgspec.Struct, frozen=True):
    """A text that is due: its player and topic, the number of tries, and the row as it was when it was read."""

    player: str
    topic: Topic
    tries: int
    sealed: bytes


class Notifications(SealedRows):
    """The topics of a store. Those calls that the desk makes are part of its transaction."""

    def begin(self, player: str, topic: Topic, now: datetime) -> None:
        """Keep a topic that waits for its code, in place of any other; its text is due now."""
        self._put(player, topic, confirmed=0, due=to_db(now))

    def confirm(self, player: str, topic: Topic) -> None:
        """Keep that the player has the code of this topic."""
        self._put(player, topic, confirmed=1, due=None)

    def tell(self, player: str, text: str, now: datetime) -> None:
        """Have a text posted to a player's topic, if it is confirmed."""
        if self.is_confirmed(player) and (topic := self.of(player)) is not None:
            told = _encoded(msgspec.structs.replace(topic, text=text))
            row = self._sealed("notifications", player=player, sealed=told)
            sql = "UPDATE notifications SET sealed = ?, due = ?, tries = 0 WHERE player = ?"
            self._database.write(sql, (row["sealed"], to_db(now), player))

    def drop(self, player: str) -> bool:
        """Forget a player's topic; returns True if there was one."""
        return self._database.write("DELETE FROM notifications WHERE player = ?", (player,)).rowcount == 1

    def of(self, player: str) -> Topic | None:
        """The player's topic."""
        content = self._secret("notifications", "sealed", player=player)
        return msgspec.json.decode(content, type=Topic) if content else None

    def is_confirmed(self, player: str) -> bool:
        """True if the player has confirmed the topic."""
        query = "SELECT confirmed FROM notifications WHERE player = ?"
        return bool(self._database.scalar(query, (player,)))

    def failing(self, most: int) -> str | None:
        """A player whose last texts, this many of them, could not be posted."""
        query = "SELECT player FROM notifications WHERE failures >= ? ORDER BY player LIMIT 1"
        return self._database.text(query, (most,))

    def due(self, now: datetime, again: datetime, most: int) -> list[Notification]:
        """Some texts that are due now; each is due again at `again`, unless its outcome is kept before."""
        with self._database.transaction():
            sql = (
                "UPDATE notifications SET due = ?, tries = tries + 1 WHERE player IN"
                " (SELECT player FROM notifications WHERE due <= ? ORDER BY due, player LIMIT ?)"
                " AND due <= ? RETURNING player, sealed, tries"  # again: another server may just have taken it
            )
            rows = self._database.write(sql, (to_db(again), to_db(now), most, to_db(now))).fetchall()
        found = []
        for player, sealed, tries in rows:
            content = self._opened("notifications", {"player": player, "sealed": sealed})["sealed"]
            found.append(Notification(player, msgspec.json.decode(content, type=Topic), tries, sealed))
        return found

    def next_due(self) -> datetime | None:
        """The time at which the next text is due."""
        return self._database.moment("SELECT min(due) FROM notifications")

    def postpone(self, posted: Notification, due: datetime) -> None:
        """Post again at this time, unless there is a newer text."""
        sql = "UPDATE notifications SET due = ? WHERE player = ? AND sealed = ?"
        self._database.execute(sql, (to_db(due), posted.player, posted.sealed))

    def settle(self, posted: Notification, *, arrived: bool) -> None:
        """Keep whether a text arrived; one that is newer stays due."""
        place = (posted.player, posted.sealed)
        self._database.execute("UPDATE notifications SET due = NULL WHERE player = ? AND sealed = ?", place)
        failures = "0" if arrived else "failures + confirmed"
        self._database.execute(f"UPDATE notifications SET failures = {failures} WHERE player = ?", place[:1])

    def _put(self, player: str, topic: Topic, **more: object) -> None:
        row = self._sealed("notifications", player=player, sealed=_encoded(topic))
        self._database.put("notifications", "player", **row, **more, tries=0, failures=0)


def _encoded(topic: Topic) -> bytes:
    return msgspec.json.encode(topic)
