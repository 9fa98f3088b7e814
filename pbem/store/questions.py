"""What a server asks of others: TXT records of the DNS, cosignatures of witnesses, the posting of notifications.

Only storage. The desk stores a question in its transaction, and takes the answer in another; in between, a task asks
(`Asker` in `pbem.smtp.rounds`). A letter keeps the answers to its lookups, so that every look sees the same.
Implements design.md, "The way of a letter"; docs/witnesses.md, "What is asked"; docs/operating.md, "Notifications".
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from pbem.store.database import to_db
from pbem.store.rows import Rows, SealedRows

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import datetime

RANKS = (2, 1, 0)
"""The ranks of letters in the inbox: those of the first are asked for first."""


class Lookup(msgspec.Struct, frozen=True):
    """A name whose TXT record is needed for a letter, and how many queries are left, this one included."""

    inbox: int
    name: str
    tries: int
    sender: str
    """The sender of the letter, by its envelope."""
    rank: int
    """The rank of the letter in the inbox: 0 if that is no player's address."""


class Lookups(Rows):
    """The lookups of a store."""

    def ask(self, inbox: int, names: Iterable[str], tries: int, now: datetime, *, counts: bool = True) -> None:
        """Request the TXT records of these names for a letter, with up to this many tries; part of a transaction.

        If the letter `counts`, it may have an effect in a match once they are known, and clocks wait for it.
        """
        asked = "INSERT INTO lookups (inbox, name, tries, due, rank) SELECT id, ?, ?, ?, rank FROM inbox WHERE id = ?"
        one_more = "UPDATE inbox SET unsettled = unsettled + 1, counts = ? WHERE id = ?"
        for name in names:
            self._database.write(asked, (name, tries, to_db(now), inbox))
            self._database.write(one_more, (int(counts), inbox))

    def found(self, letters: Sequence[int]) -> dict[int, dict[str, str | None]]:
        """The records for letters, by letter and name: "" if there is none, None if nobody answered."""
        places = ", ".join("?" * len(letters))
        query = f"SELECT inbox, name, record FROM lookups WHERE inbox IN ({places}) ORDER BY inbox, name"
        found: dict[int, dict[str, str | None]] = {}
        for inbox, name, record in self._database.execute(query, tuple(letters)).fetchall():
            found.setdefault(inbox, {})[name] = record
        return found

    def due(self, now: datetime, rank: int, most: int) -> list[Lookup]:
        """The lookups that are due now for letters of a rank, the longest due first."""
        query = (
            "SELECT lookups.inbox, lookups.name, lookups.tries, lower(inbox.sender) AS sender, inbox.rank"
            " FROM lookups JOIN inbox ON inbox.id = lookups.inbox"
            " WHERE lookups.settled IS NULL AND lookups.rank = ? AND lookups.due <= ?"
            " ORDER BY lookups.due, lookups.inbox LIMIT ?"
        )
        return self._database.read(Lookup, query, (rank, to_db(now), most))

    def next_due(self, now: datetime) -> datetime | None:
        """The time at which the next lookup is due, after this one."""
        return self._database.moment("SELECT min(due) FROM lookups WHERE settled IS NULL AND due > ?", (to_db(now),))

    def settle(self, lookup: Lookup, record: str | None, now: datetime) -> None:
        """Keep the DNS's answer: the record, "" if there is none, None if it could not be asked."""
        answered = "UPDATE lookups SET settled = ?, record = ? WHERE inbox = ? AND name = ? AND settled IS NULL"
        one_less = (
            "UPDATE inbox SET unsettled = unsettled - 1, counts = CASE unsettled WHEN 1 THEN 1 ELSE counts END"
            " WHERE id = ?"
        )
        with self._database.transaction():
            if self._database.write(answered, (to_db(now), record, lookup.inbox, lookup.name)).rowcount:
                self._database.write(one_less, (lookup.inbox,))

    def postpone(self, lookup: Lookup, due: datetime) -> None:
        """Ask again then; this uses up one try."""
        self._database.execute(
            "UPDATE lookups SET tries = tries - 1, due = ? WHERE inbox = ? AND name = ? AND settled IS NULL",
            (to_db(due), lookup.inbox, lookup.name),
        )


class WitnessRequest(msgspec.Struct, frozen=True):
    """A request to a witness, by its name; the number of tries; the answer: HTTP status and beginning of the body."""

    witness: str
    request: str
    tries: int
    status: int | None = None
    said: str | None = None


class WitnessRequests(Rows):
    """The requests of a store."""

    def put(self, witness: str, request: str, now: datetime) -> None:
        """Store a request to a witness, in place of an older one; part of a transaction."""
        new = {"request": request, "due": to_db(now), "tries": 0, "status": None, "said": None}
        self._database.put("witness_requests", "witness", witness=witness, **new)

    def due(self, now: datetime, again: datetime) -> list[WitnessRequest]:
        """The requests that are due now; each is due again at `again`, unless its answer is kept before."""
        with self._database.transaction():
            sql = (
                "UPDATE witness_requests SET due = ?, tries = tries + 1 WHERE status IS NULL AND due <= ? RETURNING *"
            )
            return self._database.read(WitnessRequest, sql, (to_db(again), to_db(now)))

    def next_due(self) -> datetime | None:
        """The time at which the next request is due."""
        return self._database.moment("SELECT min(due) FROM witness_requests WHERE status IS NULL")

    def postpone(self, asked: WitnessRequest, due: datetime) -> None:
        """Ask again at this time, unless there is a newer request."""
        self._database.execute(
            "UPDATE witness_requests SET due = ? WHERE witness = ? AND request = ? AND status IS NULL",
            (to_db(due), asked.witness, asked.request),
        )

    def settle(self, asked: WitnessRequest, status: int, text: str) -> None:
        """Keep a witness's answer, unless there is a newer request."""
        self._database.execute(
            "UPDATE witness_requests SET status = ?, said = ? WHERE witness = ? AND request = ? AND status IS NULL",
            (status, text, asked.witness, asked.request),
        )

    def answered(self) -> WitnessRequest | None:
        """A request whose answer was not taken yet."""
        query = "SELECT * FROM witness_requests WHERE status IS NOT NULL ORDER BY witness LIMIT 1"
        return self._database.read_one(WitnessRequest, query)

    def drop(self, witness: str) -> None:
        """Drop the request to this witness; part of a transaction."""
        self._database.write("DELETE FROM witness_requests WHERE witness = ?", (witness,))


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

    def add(self, player: str, topic: Topic, now: datetime) -> None:
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
