"""The outbox: letters to send, in fixed bytes under a fixed Message-ID, their outcomes, and the digests' queue.

Here live the rows and their states: waiting -> leased -> delivered or failed, or waiting again; the token of each
letter's return path; and the bounces that came back to it. The vault seals the bytes, because reports contain secrets
of a single player. Implements reliability.md, promise 3 and cases 28 and 29; protocol.md, "Commands" (`set mail`).
"""

from __future__ import annotations

from collections import Counter
from datetime import datetime, timedelta
from operator import itemgetter
from typing import TYPE_CHECKING

import msgspec

from pbem.store.database import to_db
from pbem.store.rows import SealedRows
from pbem.store.vault import Sealed

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from pbem.store.database import Database, Row
    from pbem.store.vault import Vault

TOKEN = 20  # hex digits: 80 bits, which nobody can guess, and short enough for any local part
LATE = timedelta(hours=1)
"""The delay of a letter up to which the seat's clock runs on: a short one is normal, and reminders must go out."""

_FAILURE = """
    SELECT id, recipient, message_id, created, coalesce(settled, created) AS settled, attempts,
        coalesce(reply, '') AS reply
    FROM outbox
"""
_ARRIVED = (
    "later.id > lost.id AND later.state = 'delivered' AND later.settled <= ? AND NOT EXISTS"
    " (SELECT 1 FROM bounces WHERE bounces.outbox = later.id AND bounces.kind IN ('permanent', 'temporary'))"
)
"""The condition that a later letter arrived: it was accepted, and neither bounced nor delayed."""


class OutboxRow(msgspec.Struct, frozen=True):
    """A leased letter."""

    id: int
    recipient: str
    message_id: str
    raw: bytes
    created: datetime
    attempts: int
    """The number of attempts, this one included."""
    token: str
    """Identifies its return path; it reveals nothing, not even how many letters there were."""


class Failure(msgspec.Struct, frozen=True):
    """A letter that was given up, or that bounced, with the smarthost's last reply."""

    id: int
    recipient: str
    message_id: str
    created: datetime
    settled: datetime
    attempts: int
    reply: str


class Watched(msgspec.Struct, frozen=True):
    """A letter that started a seat's clock, with the time of that, its own time, and its outcome."""

    id: int
    match: int
    seat: int
    asked: datetime
    created: datetime
    settled: datetime | None
    """The time at which it was delivered or given up; None while it waits."""
    late: bool
    """True if its delay was noted."""


class Sent(msgspec.Struct, frozen=True):
    """The outcome of an attempt: `delivered`, `failed` for good, or `waiting` until the time of the next retry."""

    id: int
    reply: str
    time: datetime
    state: str
    retry: datetime | None = None


class Leased(msgspec.Struct, frozen=True):
    """The result of an exchange: letters to send, the longest due first."""

    rows: list[OutboxRow]
    sealed: list[int]
    """Letters that could not be unsealed; they stay leased, so that they do not delay the others."""
    due: datetime | None
    """The time at which the next waiting letter is due, or was due; None if none waits."""


class Outbox(SealedRows):
    """The table of letters to send, on one connection; it leases them for the `owner`."""

    def __init__(self, database: Database, vault: Vault, owner: str = "") -> None:
        super().__init__(database, vault)
        self._owner = owner

    def put(self, recipient: str, message_id: str, raw: bytes, created: datetime) -> None:
        """Store a letter to send, in the caller's transaction; the same letter again changes nothing.

        Raises ValueError if this recipient and Message-ID already have other bytes.
        """
        row = {
            "recipient": recipient,
            "message_id": message_id,
            "size": len(raw),
            "raw": raw,
            "created": to_db(created),
            "due": to_db(created),
            "token": self.return_token(recipient, message_id),
        }
        if self._database.add("outbox", **self._sealed("outbox", **row)):
            return
        if self._secret("outbox", "raw", message_id=message_id, recipient=recipient) != raw:
            raise ValueError(f"{message_id} was already given to another letter")

    def return_token(self, recipient: str, message_id: str) -> str:
        """The token by which to recognise a returned letter; only somebody who received the letter can know it."""
        return self._vault.digest(f"return path {message_id} {recipient}".encode())[:TOKEN]

    def number(self, recipient: str, message_id: str) -> int:
        """The number of a letter that was put here."""
        query = "SELECT id FROM outbox WHERE message_id = ? AND recipient = ?"
        return int(self._database.scalar(query, (message_id, recipient)))

    def exchange(self, sent: Sequence[Sent], now: datetime, most: int) -> Leased:
        """Record the outcomes of several attempts, and lease the next letters that are due, up to this many.

        Both in one transaction: everything is on disk when this returns, including the counts of attempts.
        """
        due = self.next_due()
        waiting = due is not None and due <= now and most > 0
        rows: list[Row] = []
        if sent or waiting:
            with self._database.transaction():
                for each in sent:
                    self._settle(each)
                if waiting:
                    query = (
                        "UPDATE outbox SET state = 'leased', owner = ?, attempts = attempts + 1 WHERE id IN"
                        " (SELECT id FROM outbox WHERE state = 'waiting' AND due <= ? ORDER BY due, id LIMIT ?)"
                        " AND state = 'waiting' RETURNING *"  # again: another server may just have leased it
                    )
                    taken = self._database.rows(query, (self._owner, to_db(now), most))
                    rows = sorted(taken, key=itemgetter("due", "id"))
                due = self.next_due()
        leased = Leased([], [], due)
        for row in rows:
            try:
                leased.rows.append(msgspec.convert(self._opened("outbox", row), OutboxRow))
            except Sealed:
                leased.sealed.append(row["id"])
        return leased

    def give_back(self, row_ids: Sequence[int]) -> None:
        """Give back leased letters that nobody tried to send, as if they had never been leased."""
        with self._database.transaction():
            for row_id in row_ids:
                self._database.write(
                    "UPDATE outbox SET state = 'waiting', attempts = attempts - 1"
                    " WHERE id = ? AND state = 'leased' AND owner = ?",
                    (row_id, self._owner),
                )

    def give_back_others(self, row_ids: Collection[int]) -> None:
        """Give back the owner's leased letters except these, when the answer to a commit was lost."""
        query = "SELECT id FROM outbox WHERE state = 'leased' AND owner = ?"
        leased = [row[0] for row in self._database.execute(query, (self._owner,))]
        self.give_back([row_id for row_id in leased if row_id not in row_ids])

    def release_all(self) -> int:
        """Give back all leased letters, and return their number. Only for a store with one daemon, after a crash."""
        return self._database.execute("UPDATE outbox SET state = 'waiting' WHERE state = 'leased'").rowcount

    def delivered_since(self, time: datetime) -> int:
        """The number of letters that the smarthost took since this time."""
        query = "SELECT count(*) FROM outbox WHERE state = 'delivered' AND settled > ?"
        return int(self._database.scalar(query, (to_db(time),)))

    def next_due(self) -> datetime | None:
        """The time at which the next waiting letter is due; None if none waits."""
        return self._database.moment("SELECT min(due) FROM outbox WHERE state = 'waiting'")

    def failures(self) -> list[Failure]:
        """The letters given up that were not reported yet, oldest first."""
        query = f"{_FAILURE} WHERE state = 'failed' AND told = 0 ORDER BY id"
        return self._database.read(Failure, query)

    def told(self, row_id: int) -> None:
        """Note, in the caller's transaction, that a failure was reported."""
        self._database.write("UPDATE outbox SET told = 1 WHERE id = ?", (row_id,))

    def watch(self, message_id: str, match: int, seat: int, asked: datetime) -> None:
        """Note, in the caller's transaction, that the letter with this Message-ID started a seat's clock then."""
        self._database.write(
            "INSERT INTO watched (outbox, match, seat, asked) SELECT id, ?, ?, ? FROM outbox WHERE message_id = ?",
            (match, seat, to_db(asked), message_id),
        )

    def watched(self, limit: int) -> list[Watched]:
        """The letters that started clocks, oldest first; not those still under way whose delay was dealt with."""
        query = (
            "SELECT id, match, seat, asked, created, settled, late FROM watched JOIN outbox ON id = outbox"
            " WHERE late = 0 OR settled IS NOT NULL ORDER BY outbox, match, seat LIMIT ?"
        )
        return self._database.read(Watched, query, (limit,))

    def delayed(self, found: Watched) -> bool:
        """Note, in the caller's transaction, that a letter's delay was dealt with; False if it already was."""
        sql = "UPDATE watched SET late = 1 WHERE outbox = ? AND match = ? AND seat = ? AND late = 0"
        return self._database.write(sql, (found.id, found.match, found.seat)).rowcount == 1

    def is_late(self, match: int, seat: int, asked: datetime) -> bool:
        """True if a letter that started this clock is under way, and its delay was dealt with."""
        query = (
            "SELECT 1 FROM watched JOIN outbox ON id = outbox"
            " WHERE match = ? AND seat = ? AND asked = ? AND late = 1 AND settled IS NULL LIMIT 1"
        )
        return bool(self._database.scalar(query, (match, seat, to_db(asked))))

    def unwatch(self, found: Watched) -> bool:
        """Note, in the caller's transaction, that a letter's fate was dealt with; False if it already was.

        Letters that arrive in time are forgotten as soon as that is noted.
        """
        sql = "DELETE FROM watched WHERE outbox = ? AND match = ? AND seat = ?"
        return self._database.write(sql, (found.id, found.match, found.seat)).rowcount == 1

    def returned(self, token: str) -> Failure | None:
        """The returned letter whose return path, or header, has this token; None if there is none."""
        return self._database.read_one(Failure, f"{_FAILURE} WHERE token = ?", (token,))

    def arrived_since(self, row_id: int, by: datetime) -> bool:
        """True if a later letter to the same address was accepted by this time, and did not bounce."""
        query = (
            "SELECT 1 FROM outbox AS lost JOIN outbox AS later ON later.recipient = lost.recipient"
            f" WHERE lost.id = ? AND {_ARRIVED} LIMIT 1"
        )
        return bool(self._database.scalar(query, (row_id, to_db(by))))

    def reached_again(self, by: datetime) -> list[str]:
        """The unreachable players of whom a later letter was accepted by this time, and did not bounce."""
        query = (
            "SELECT DISTINCT player FROM unreachable JOIN outbox AS lost ON lost.id = unreachable.letter"
            f" JOIN outbox AS later ON later.recipient = lost.recipient WHERE {_ARRIVED} ORDER BY player"
        )
        return [row["player"] for row in self._database.rows(query, (to_db(by),))]

    def bounce(self, row_id: int, inbox_id: int, kind: str, status: str, received: datetime) -> None:
        """Record, in the caller's transaction, that a letter in the inbox reports a bounce of ours."""
        row = {"kind": kind, "status": status, "received": to_db(received)}
        self._database.put("bounces", inbox=inbox_id, outbox=row_id, **row)

    def bounces(self, row_id: int) -> Counter[str]:
        """The bounces of a letter, counted by their kinds."""
        return Counter(
            row[0] for row in self._database.execute("SELECT kind FROM bounces WHERE outbox = ?", (row_id,))
        )

    def raw(self, row_id: int) -> bytes:
        """The bytes of a letter in any state; raises KeyError and `Sealed`."""
        if (raw := self._secret("outbox", "raw", id=row_id)) is None:
            raise KeyError(row_id)
        return raw

    def _settle(self, sent: Sent) -> None:
        settled = None if sent.state == "waiting" else to_db(sent.time)
        retry = to_db(sent.retry) if sent.retry else None
        self._database.execute(
            "UPDATE outbox SET state = ?, reply = ?, settled = ?, due = coalesce(?, due)"
            " WHERE id = ? AND state = 'leased' AND owner = ?",
            (sent.state, sent.reply, settled, retry, sent.id, self._owner),
        )
        if settled:
            self._database.execute(
                "DELETE FROM watched WHERE outbox = ? AND late = 0"
                " AND EXISTS (SELECT 1 FROM outbox WHERE id = watched.outbox AND settled = ? AND created > ?)",
                (sent.id, settled, to_db(sent.time - LATE)),
            )


class WaitingLetter(msgspec.Struct, frozen=True):
    """A waiting letter: the match that it is about, and its content as it was given."""

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
        return [WaitingLetter(row["match"], row["sealed"]) for row in rows]

    def players_due(self, now: datetime) -> list[str]:
        """The players whose digests are due."""
        query = "SELECT DISTINCT player FROM held WHERE due <= ? ORDER BY player"
        return [row["player"] for row in self._database.rows(query, (to_db(now),))]

    def next_due(self) -> datetime | None:
        """The time at which the next digest is due."""
        return self._database.moment("SELECT min(due) FROM held")

    def hurry(self, player: str, now: datetime) -> None:
        """Make everything that waits for this player due now."""
        self._database.write("UPDATE held SET due = ? WHERE player = ?", (to_db(now), player))
