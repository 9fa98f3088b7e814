"""The inbox: every letter that was answered with 250, and its outcome: waiting -> leased -> done or set aside.

An attempt counts if it fails because of the letter; the death of the whole process only makes the leased ones
suspect, and a suspect is processed alone. First come letters from networks from which their players proved to write
(anybody can forge an envelope), then those from players' other networks, then all others; the rank is fixed when a
letter comes, so that an index holds the order. Implements reliability.md, promises 1 and 2, cases 2, 4, 9, 25 and 26.
"""

from __future__ import annotations

import json
from datetime import timedelta
from itertools import accumulate
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from pbem.store.database import from_db, to_db
from pbem.store.noted_time import Outages
from pbem.store.rows import SealedRows
from pbem.store.vault import Sealed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from datetime import datetime

    from pbem.store.database import Database, Row
    from pbem.store.vault import Vault

ATTEMPTS = 3  # reliability.md, case 9: then a letter is set aside and the operator is told
REST = timedelta(minutes=1)
"""The time for which a letter rests after the process that held it died."""

ALONE = 4
"""One lease in this many begins with a letter that failed or is suspect, however many others wait."""

BATCH = 128 * 1024
"""The most octets of the letters in one batch; a single letter may have more."""

FEW = 4
"""If no more letters than this wait from players' other networks, a player's further ones queue behind them.

Those that wait for the DNS count, too: who sends them in a player's name may have the name server."""

# Each of these conditions has an index in the schema, the only one that its words fit: no engine mistakes another.
_FRESH = "state = 'waiting' AND attempts = 0 AND suspect = 0"
_READY = f"{_FRESH} AND unsettled = 0"
"""The condition for a letter that may share a batch: it did not fail, and waits for no answer of the DNS."""

_BLAMED = "state = 'waiting' AND (attempts > 0 OR suspect = 1) AND unsettled = 0"
"""The condition for a letter that needs a batch of its own, and waits for no answer of the DNS."""

_COUNTS = "state IN ('waiting', 'leased') AND counts = 1"
"""The condition for an unhandled letter that may have an effect in a match."""

_NEXT = f"SELECT id, size, rank FROM inbox WHERE {_READY} ORDER BY rank DESC, id LIMIT ?"

_FAILED = f"""
    SELECT id FROM inbox
    WHERE {_BLAMED} AND attempts < :attempts AND (tried IS NULL OR tried <= :rested)
    ORDER BY attempts, id LIMIT 1
"""
"""The next letter to process in a batch of its own, if there is one."""

_RANK = f"""
    SELECT CASE
        WHEN NOT EXISTS (
            SELECT 1 FROM inbox WHERE sender = :sender COLLATE NOCASE AND network = :network AND proved = 1
        ) THEN 1
        WHEN (SELECT count(*) FROM (SELECT 1 FROM inbox WHERE {_FRESH} AND rank = 1 LIMIT {FEW + 1}) AS few) > {FEW}
            THEN 2
        WHEN EXISTS (
            SELECT 1 FROM inbox WHERE {_READY} AND rank = 1 AND sender = :sender COLLATE NOCASE
        ) THEN 1
        ELSE 2
    END
    WHERE EXISTS (SELECT 1 FROM players WHERE address = :sender COLLATE NOCASE)
        OR EXISTS (SELECT 1 FROM addresses WHERE address = :sender COLLATE NOCASE AND confirmed IS NOT NULL)
"""
"""The rank of a new letter from a player's address: 2 if the player proved to write from its network and no few
earlier letters of that address wait from others, otherwise 1."""

ROLES = frozenset({"postmaster", "abuse"})
"""The local parts of addresses that are the operator's (RFC 2142)."""


class Envelope(msgspec.Struct, frozen=True):
    """The SMTP envelope: the sender ("" for the null sender), and the recipients as the client wrote them."""

    sender: str
    recipients: tuple[str, ...]
    network: str = ""
    """The client's network; "" if a mail server on this machine delivered the letter without naming its client."""

    @property
    def for_operator(self) -> bool:
        """True if it is only for the operator."""
        return {to.partition("@")[0].lower() for to in self.recipients} <= ROLES and bool(self.recipients)


class Look(NamedTuple):
    """When the mailbox answered, and, if it was read to its end, since when letters may lie there."""

    answered: datetime
    read: datetime | None = None


class InboxRow(msgspec.Struct, frozen=True):
    """A leased letter."""

    id: int
    envelope: Envelope
    raw: bytes
    received: datetime
    attempts: int = 0
    """The number of earlier attempts that failed because of it."""
    suspect: bool = False
    """True if the process died while it was leased."""


class Stranded(msgspec.Struct, frozen=True):
    """A letter whose attempts are all used up; its bytes are not touched, because they may be the cause."""

    id: int
    envelope: Envelope
    size: int
    received: datetime


class Inbox(SealedRows):
    """The table of received letters on one connection; only the server that decides leases any."""

    def __init__(self, database: Database, vault: Vault, account: str = "") -> None:
        super().__init__(database, vault)
        self._account = account
        """The mailbox at a provider from which letters come, if there is one: letters lie there that are not here."""
        self._leases = 0
        """The number of leases: one in `ALONE` of them begins with a failed letter."""

    def put(self, envelope: Envelope, raw: bytes, received: datetime) -> int:
        """Store a letter, on disk when this returns; the same envelope and bytes again give the same row.

        Raises `BusyError` and `FullError`; then nothing was stored.
        """
        return self.put_all([(envelope, raw)], lambda: received)[0] or 0

    def put_all(
        self, letters: Sequence[tuple[Envelope, bytes]], now: Callable[[], datetime], a_day: int | None = None
    ) -> list[int | None]:
        """Store letters that came together, all of them on disk when this returns; returns their rows, in order.

        None stands for a letter that was not stored, because its client network would exceed `a_day` letters on this
        day (UTC). A known letter does not count again, bounces are counted separately, and letters without a network
        are not counted. Raises `BusyError` and `FullError`; then none was stored.

        The time of arrival is taken once nobody decides meanwhile: otherwise a letter could appear after a decision,
        with an earlier time.
        """
        with self._database.transaction():
            self._database.engine.wait_to_write("inbox")
            time = to_db(now())
            return [self._put(envelope, raw, time, a_day) for envelope, raw in letters]

    def _put(self, envelope: Envelope, raw: bytes, time: str, a_day: int | None) -> int | None:
        """Store a letter that was received at this time, in the open transaction; None if it is one too many."""
        # A retry may name its recipients in another order; JSON keeps the parts from running into each other.
        head = json.dumps([envelope.sender, sorted(envelope.recipients)]).encode()
        fingerprint = self._vault.digest(len(head).to_bytes(8, "big") + head + raw)
        known: int | None = self._database.scalar("SELECT id FROM inbox WHERE fingerprint = ?", (fingerprint,))
        # A letter is counted under its network, with the null sender separately.
        tally = envelope.network and f"{envelope.network}{'' if envelope.sender else ' <>'}"
        if known is not None:
            return known
        if a_day is not None and tally:
            today = "network = ? AND network <> '' AND received >= ? AND received < ?"
            query = f"SELECT count(*) FROM (SELECT 1 FROM inbox WHERE {today} LIMIT ?) AS kept"
            # All times of this day (UTC) begin with the date and a T, and sort before the date and a U.
            if self._database.scalar(query, (tally, time[:10], f"{time[:10]}U", a_day)) >= a_day:
                return None
        row = {
            "fingerprint": fingerprint,
            "sender": envelope.sender,
            "recipients": json.dumps(envelope.recipients),
            "size": len(raw),
            "raw": raw,
            "received": time,
            "network": tally,
            "rank": self._database.scalar(_RANK, {"sender": envelope.sender, "network": envelope.network}) or 0,
        }
        return self._database.insert("inbox", "id", **self._sealed("inbox", **row))

    def postpone(self, began: datetime, ended: datetime) -> None:
        """Count the letters that came in a stop of the clock as received at its end, in the caller's transaction.

        Until then nobody knew how late it was, and they may be dated, or signed, days after the time noted last.
        """
        self._database.write(
            "UPDATE inbox SET received = ? WHERE state = 'waiting' AND received >= ?", (to_db(ended), to_db(began))
        )

    def received_since(self, time: datetime) -> Iterator[bytes]:
        """The octets of the letters received since this time; raises `Sealed`."""
        rows = self._database.each("SELECT fingerprint, raw FROM inbox WHERE received >= ?", (to_db(time),))
        return (self._opened("inbox", row)["raw"] for row in rows)

    def lease_some(self, most: int, now: datetime) -> list[InboxRow]:
        """Lease the next waiting letters, up to this many; the lease is committed before this returns.

        They are of one rank, so that none waits for one of a lower rank, and have no more octets than a `BATCH`,
        so that it does not take long.

        A letter that failed or is suspect gets a batch of its own, so that it takes no other down with it: when it is
        its turn, or nothing else waits. A letter that failed three times is not leased again:
        see `stranded`; nor is one that waits for the DNS (`Lookups`). One that cannot be unsealed has failed.
        """
        self._leases += 1
        turn = self._leases % ALONE == 0
        chosen = (self._failed(now) if turn else []) or self._fresh(most)
        if not (chosen or turn):
            chosen = self._failed(now)
        if not chosen:
            return []
        query = f"UPDATE inbox SET state = 'leased' WHERE id IN ({', '.join('?' * len(chosen))}) RETURNING *"
        with self._database.transaction():
            leased = {row["id"]: row for row in self._database.rows(query, chosen)}
        letters = []
        for row in map(leased.__getitem__, chosen):
            try:
                raw = self._opened("inbox", row)["raw"]
            except Sealed:
                self.give_back(row["id"], failed=1)
                continue
            received = from_db(row["received"])
            letters.append(InboxRow(row["id"], _envelope(row), raw, received, row["attempts"], bool(row["suspect"])))
        return letters

    def _fresh(self, most: int) -> list[int]:
        """The letters of the next batch."""
        waiting = self._database.rows(_NEXT, (most,))
        sizes = accumulate(row["size"] for row in waiting)
        first = waiting[:1]
        return [
            row["id"]
            for row, size in zip(waiting, sizes, strict=True)
            if row in first or (row["rank"] == first[0]["rank"] and size <= BATCH)
        ]

    def _failed(self, now: datetime) -> list[int]:
        """The next letter that needs a batch of its own, if there is one."""
        rows = self._database.rows(_FAILED, {"attempts": ATTEMPTS, "rested": to_db(now - REST)})
        return [row["id"] for row in rows]

    def begin_alone(self, row_id: int, now: datetime) -> None:
        """Record that the processing of a suspect begins: if the process dies now, that is the letter's fault."""
        self._database.execute(
            "UPDATE inbox SET alone = 1, tried = ? WHERE id = ? AND state = 'leased'", (to_db(now), row_id)
        )

    def give_back_all(self) -> None:
        """Give back all leased letters, known here or not: the answer to a commit may have been lost."""
        self._database.execute("UPDATE inbox SET state = 'waiting', alone = 0, tried = NULL WHERE state = 'leased'")

    def give_back(self, row_id: int, *, failed: int = 0) -> None:
        """Give a leased letter back, by default as if it had never been leased: the work on it did not fail."""
        self._database.execute(
            "UPDATE inbox SET state = 'waiting', attempts = attempts + ?, alone = 0, tried = NULL"
            " WHERE id = ? AND state = 'leased'",
            (failed, row_id),
        )

    def release_all(self, *, blame: bool = True) -> int:
        """Give back the letters that a deciding server had leased when it ended; returns their number.

        If it died, a letter that was alone is to blame; not if it lives, and only its connection broke.
        """
        return self._database.execute(
            "UPDATE inbox SET state = 'waiting', attempts = attempts + alone * ?, alone = 0, suspect = 1"
            " WHERE state = 'leased'",
            (int(blame),),
        ).rowcount

    def done(self, row_id: int, outcome: str, *, proved: bool = False) -> None:
        """Record the outcome of a leased letter, in the caller's transaction; raises RuntimeError.

        It is `proved` if its sender proved to have written it, and nobody could have sent it before. The second call
        for a row fails on purpose: a letter has its effect exactly once.
        """
        sql = "UPDATE inbox SET state = 'done', outcome = ?, proved = ? WHERE id = ? AND state = 'leased'"
        if self._database.write(sql, (outcome, int(proved), row_id)).rowcount != 1:
            raise RuntimeError(f"inbox row {row_id} is not leased")

    def stranded(self) -> list[Stranded]:
        """The letters whose attempts are used up, waiting to be set aside."""
        rows = self._database.rows(
            "SELECT id, sender, recipients, network, size, received FROM inbox"
            f" WHERE {_BLAMED} AND attempts >= ? ORDER BY attempts, id",
            (ATTEMPTS,),
        )
        return [Stranded(row["id"], _envelope(row), row["size"], from_db(row["received"])) for row in rows]

    def set_aside(self, row_id: int, reference: str) -> bool:
        """Set a stranded letter aside under the operator's reference, in the caller's transaction.

        False if it is no longer stranded.
        """
        sql = "UPDATE inbox SET state = 'aside', reference = ? WHERE id = ? AND state = 'waiting' AND attempts >= ?"
        return self._database.write(sql, (reference, row_id, ATTEMPTS)).rowcount == 1

    def raw(self, row_id: int) -> bytes:
        """The received bytes of a letter in any state; raises KeyError and `Sealed`."""
        if (raw := self._secret("inbox", "raw", id=row_id)) is None:
            raise KeyError(row_id)
        return raw

    def oldest_unhandled(self) -> datetime | None:
        """The arrival of the oldest unhandled letter that may have an effect in a match; None if all are handled.

        Letters may also lie in the mailbox, or have lain there before they came to us, from the moment on at which it
        was last read to its end. Until this transaction ends, no other connection can store a letter.
        """
        self._database.engine.lock("inbox")
        oldest = self._oldest_that_counts()
        # It may have lain there since the whole look before the one that brought it.
        stored = self._looked("stored")  # None: the mailbox was never read to its end
        handled = stored and self._looked("before" if oldest is not None and oldest <= stored else "began")
        return min(filter(None, (oldest, handled)), default=None)

    def _oldest_that_counts(self) -> datetime | None:
        return self._database.moment(f"SELECT min(received) FROM inbox WHERE {_COUNTS}")

    def heard_until(self, now: datetime) -> datetime:
        """The last moment at which letters could come to us: the present, or when the mailbox last gave an answer.

        Never before the last heartbeat: the answer may be from before letters came by another way for months, or it
        is another mailbox now, which has given none yet.
        """
        if not self._account:
            return now
        moments = self._looked("answered"), Outages(self._database).heartbeat()
        return min(now, max(filter(None, moments), default=now))

    def mailbox_read(self) -> datetime | None:
        """The moment from before which no letter lies in the mailbox; None if it was never read to its end."""
        return self._looked("read")

    def note_look(self, look: Look) -> None:
        """Note that the mailbox answered."""
        answered, read = look
        with self._database.transaction():
            self._set_look("answered", answered)
            if read is None:
                return
            oldest, stored = self._oldest_that_counts(), self._looked("stored")
            # The next look is awaited only once all is handled that this one brought: else letters without end, which
            # are handled slowly, would put that off for ever.
            if stored is None or oldest is None or oldest > stored:
                self._set_look("before", self._looked("began") or read)
                self._set_look("began", read)
                self._set_look("stored", answered)
            self._set_look("read", read)

    def _set_look(self, what: str, time: datetime) -> None:
        self._database.set_meta(f"look {what} {self._account}", to_db(time))

    def _looked(self, what: str) -> datetime | None:
        if not self._account:
            return None
        return self._database.moment("SELECT value FROM meta WHERE name = ?", (f"look {what} {self._account}",))


def _envelope(row: Row) -> Envelope:
    return Envelope(row["sender"], tuple(json.loads(row["recipients"])), row["network"].removesuffix(" <>"))
