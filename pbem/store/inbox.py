"""The inbox: every letter that was answered with 250, and what became of it.

Here live the rows and their states: waiting -> leased -> done or set aside. Nothing here reads a letter: raw
bytes go in and out, sealed by the vault because setups travel in them.
An attempt counts if it fails because of the letter. The death of the whole process is usually the host's fault, so it
only makes the letters in hand suspect. A suspect is worked on alone, and a death after it was read is blamed on it.
Then it rests for a while, because no host dies three times at exactly that moment.
Letters from players' addresses come in rounds, one per sender in each. So somebody who sends many letters, or writes
in another's name, delays only that address; other letters have separate places beside them. The envelope is anybody's
to write, but not the network: letters from where their player proved to have written before come first, in rounds of
their own, so that nobody delays them who writes in however many names.
Several desks may work at once. While one has a letter in hand, no other takes a letter of the same sender, or for the
same match; and a letter that waits for this reason is not overtaken by later ones of that sender or match.
Implements reliability.md, promises 1 and 2 and cases 2, 4, 9, 25 and 26.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from datetime import timedelta
from itertools import accumulate, islice
from typing import TYPE_CHECKING
from zlib import crc32

from pbem.store.database import from_db, to_db
from pbem.store.errors import LostError
from pbem.store.vault import Sealed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from datetime import datetime

    from pbem.store.database import Database, Row
    from pbem.store.vault import Vault

__all__ = ["ATTEMPTS", "ROLES", "Envelope", "Inbox", "InboxRow", "Stranded", "queues_of"]

NETWORKS = 10_000  # whose letters of the day are counted in memory; the store knows them anyway
ATTEMPTS = 3  # reliability.md, case 9: then a letter is set aside and the operator is told
REST = timedelta(minutes=1)
"""How long a letter rests after the process that held it died."""

IN_SIGHT = 4
"""Among how many times as many letters as it takes a desk looks for those that are its own."""

APART = 4
"""Among how many letters from elsewhere, in players' names, and behind how many rounds of theirs, one keeps its place
behind those in its sender's name."""

ALONE = 4
"""Every so many times a desk takes first what failed or is suspect: however many others come, it has its turn."""

ANYBODY = 8
"""Every so many times a desk takes what comes first, whosever it is: no letter waits for a desk that is gone."""

LOT = 128 * 1024
"""How many octets of letters are worked on together, of players and of others each; one letter may have more."""

OTHERS = 4
"""One place in so many is for each kind of letters that comes after one that waits: elsewhere's, and strangers'."""

_KNOWN = "NOT EXISTS (SELECT 1 FROM lookups WHERE inbox = inbox.id AND settled IS NULL)"
_COUNTS = "NOT EXISTS (SELECT 1 FROM lookups WHERE inbox = inbox.id AND settled IS NULL AND counts = 0)"
FRESH = f"FROM inbox WHERE state = 'waiting' AND attempts = 0 AND suspect = 0 AND {_KNOWN}"
_TRIED = [
    f"FROM inbox WHERE state = 'waiting' AND {those} AND (tried IS NULL OR tried <= :rested) AND {_KNOWN}"
    for those in ("attempts > 0 AND attempts < :attempts", "attempts = 0 AND suspect = 1")
]
"""The letters that can be worked on: several at once, and one by one."""

_FREE = """NOT EXISTS (
        SELECT 1 FROM inbox AS held
        WHERE held.state = 'leased' AND held.owner <> :owner AND (
            (held.sender = inbox.sender COLLATE NOCASE AND held.sender <> '')
            OR (held.match = inbox.match AND held.match <> '')
        )
    )"""
"""Whether no other desk has a letter in hand of the same sender, or for the same match."""

_HELD_SENDERS, _HELD_MATCHES = (
    f"SELECT {queue} FROM inbox AS held WHERE held.state = 'leased' AND held.owner <> :owner"
    for queue in ("lower(held.sender)", "held.match")
)
_MATTERS = f"""(
        (sender <> '' AND lower(sender) NOT IN ({_HELD_SENDERS}))
        OR (match <> '' AND match NOT IN ({_HELD_MATCHES}))
        OR (sender = '' AND match = '')
    )"""
"""Whether a letter is free, or keeps others waiting that would be: not where all its queues are in another's hand.

One sender may have thousands of such letters, and a desk with nothing else to do looks for others again and again.
"""

_COLUMNS = "id, size, sender, match, attempts, suspect"
_LATER = f"""EXISTS (
        SELECT 1 FROM inbox AS earlier
        WHERE earlier.sender = inbox.sender COLLATE NOCASE AND earlier.familiar = 1 AND earlier.round >= 0
        AND earlier.state IN ('waiting', 'leased') AND earlier.state = 'waiting'
        AND +earlier.attempts = 0 AND +earlier.suspect = 0 AND earlier.id < inbox.id
        AND {_KNOWN.replace("inbox = inbox.id", "inbox = earlier.id")}
    )"""
"""Whether a letter from elsewhere would overtake one of its sender's that came before, and can be worked on.

Repeated conditions and signs lead SQLite to the index of rounds, where the letters of one sender stand together.
"""

_KINDS = (
    "familiar = 1 AND round >= 0 ORDER BY round, id",
    f"familiar = 0 AND round >= 0 AND NOT {_LATER} ORDER BY round, id",
    "familiar = 0 AND round IS NULL ORDER BY round, id",  # by both: PostgreSQL takes them from the index then
)
"""Letters in players' names, from where they wrote before and from elsewhere, and strangers', in their order."""

_NEXT = " UNION ALL ".join(
    f"SELECT * FROM (SELECT {_COLUMNS}, round, {kind} AS kind, 1 = 1 AS free {FRESH} AND {those} LIMIT :most)"
    f" AS kind{kind}"
    for kind, those in enumerate(_KINDS)
)
"""The first letters of each kind, in one look at all, without one at whether each is free."""

_NEXT_FREE = [f"SELECT {_COLUMNS}, {_FREE} AS free {FRESH} AND {_MATTERS} AND {those}" for those in _KINDS]
"""All letters of each kind that may be free."""

_NEXT_TRIED = " UNION ALL ".join(f"SELECT {_COLUMNS} {those} AND {_FREE}" for those in _TRIED)
_NEXT_TRIED += " ORDER BY attempts, id LIMIT 1"

_LEASE = f"""
    UPDATE inbox SET state = 'leased', owner = :owner
    WHERE id IN ({{}}) AND state = 'waiting' AND (attempts, suspect) = (:attempts, :suspect) AND {_FREE} RETURNING *
"""
"""Letters as they were chosen: one that failed meanwhile in another's hands is to come alone."""

_PRESENT = f"coalesce((SELECT round {FRESH} AND familiar = {{0}} AND round >= 0 ORDER BY round, id LIMIT 1), 0)"
_IN_NAME = """
    (SELECT coalesce(max(round) + 1, 0) FROM inbox
    WHERE sender = :sender COLLATE NOCASE AND familiar = {0} AND round >= 0 AND state IN ('waiting', 'leased'))
"""
_ROUNDS = f"""
    SELECT
        (SELECT count(*) FROM (
            SELECT 1 FROM inbox
            WHERE sender = :sender COLLATE NOCASE AND network = :network AND proved = 1 LIMIT 1
        ) AS proofs) AS familiar,
        (SELECT count(*) FROM (
            SELECT 1 {FRESH} AND familiar = 0 AND round >= 0 LIMIT {APART + 1}
        ) AS ahead) AS elsewhere,
        {_PRESENT.format(0)} AS present_elsewhere, {_IN_NAME.format(0)} AS next_elsewhere,
        {_PRESENT.format(1)} AS present_familiar, {_IN_NAME.format(1)} AS next_familiar
    WHERE EXISTS (SELECT 1 FROM players WHERE address = :sender COLLATE NOCASE)
       OR EXISTS (SELECT 1 FROM addresses WHERE address = :sender COLLATE NOCASE AND confirmed IS NOT NULL)
"""
"""Of a new letter from a player's address: whether that player is known to write from its network; how many letters
from elsewhere wait, so far as it matters; and of either kind the present round, and the next in that name."""


_OF_MATCH = re.compile(r"[+=_-](m[0-9]{1,9})(?=[.@])")
"""A match in a sub-address; it orders letters, and gives no right."""


ROLES = frozenset({"postmaster", "abuse"})
"""The local parts of addresses that are the operator's (RFC 2142)."""


@dataclass(frozen=True, slots=True)
class Envelope:
    """The SMTP envelope: who sent ("" for the null sender), and the recipients as they were given."""

    sender: str
    recipients: tuple[str, ...]
    network: str = ""
    """The client's; "" where a mail server of this machine does not say whom it took the letter from."""

    @property
    def for_operator(self) -> bool:
        """Whether it is only for the operator."""
        return {to.partition("@")[0].lower() for to in self.recipients} <= ROLES and bool(self.recipients)

    @property
    def match(self) -> str:
        """The match named in the first address that names one, such as "m17"; "" without one."""
        return next((found[1] for to in self.recipients if (found := _OF_MATCH.search(to))), "")


@dataclass(frozen=True, slots=True)
class InboxRow:
    """A letter that is being worked on."""

    id: int
    envelope: Envelope
    raw: bytes
    received: datetime
    attempts: int = 0
    """How often work on it failed before, by its own doing."""
    suspect: bool = False
    """Whether the process died while it was in hand."""

    @property
    def alone(self) -> bool:
        """Whether it is worked on alone, because it may take others down with it."""
        return self.suspect or self.attempts > 0


@dataclass(frozen=True, slots=True)
class Stranded:
    """A letter whose attempts are all used up; its bytes are not touched, because they may be the cause."""

    id: int
    envelope: Envelope
    size: int
    received: datetime


class Inbox:
    """The table of received letters on one connection; what it leases is the `owner`'s."""

    def __init__(self, database: Database, vault: Vault, owner: str = "", share: tuple[int, int] = (0, 1)) -> None:
        self._database = database
        self._vault = vault
        self._owner = owner
        self._share = share
        """Which of how many desks of a server this is: each has matches and senders of its own, if both have work."""
        self._leases = 0
        self._turns = 0
        """How often letters were leased, and how often not only fresh ones."""
        self._day = ""
        self._sent: dict[str, int] = {}
        """How many letters of each client network were kept on this day, of those that were asked for."""

    def put(self, envelope: Envelope, raw: bytes, received: datetime) -> int:
        """Keep a letter, on disk when this returns; the same envelope and bytes again give the same row.

        Raises `BusyError` and `FullError`; then nothing was stored.
        """
        return self.put_all([(envelope, raw)], received)[0] or 0

    def put_all(
        self,
        letters: Sequence[tuple[Envelope, bytes]],
        received: datetime,
        a_day: int | None = None,
        *,
        wait: bool = True,
    ) -> list[int | None]:
        """Keep letters that came together, all of them on disk when this returns: their rows, in order.

        None stands for a letter that was not kept, because its client network would exceed `a_day` letters on this
        day (UTC). A known letter does not count again, bounces are counted separately, and letters from a
        network that nobody named are not counted. Raises `BusyError` (at once without `wait`) and `FullError`;
        then none was stored.
        """
        time = to_db(received)
        if time[:10] != self._day:
            self._day = time[:10]
            self._sent = {}
        sent = dict.fromkeys({_tally(envelope) for envelope, _ in letters}, 0)
        with self._database.transaction(wait=wait):
            rows: list[int | None] = []
            for envelope, raw in letters:
                fingerprint = self._fingerprint(envelope, raw)
                known = self._database.scalar("SELECT id FROM inbox WHERE fingerprint = ?", (fingerprint,))
                if known is None:
                    if tally := _tally(envelope):
                        if a_day is not None and self._sent_today(tally) + sent[tally] >= a_day:
                            rows.append(None)
                            continue
                        sent[tally] += 1
                    known = self._database.insert(
                        "INSERT INTO inbox"
                        " (fingerprint, sender, recipients, match, size, raw, received, network, familiar, round)"
                        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING id",
                        (
                            fingerprint,
                            envelope.sender,
                            json.dumps(envelope.recipients),
                            envelope.match,
                            len(raw),
                            self._vault.seal(raw, f"inbox {fingerprint}"),
                            time,
                            _tally(envelope),
                            *self._round_of(envelope),
                        ),
                    )
                rows.append(int(known or 0))
        for tally, more in sent.items():
            if tally in self._sent:
                self._sent[tally] += more
        return rows

    def _round_of(self, envelope: Envelope) -> tuple[int, int | None]:
        """Whether the letter comes with those from where their players wrote before, and its round; none if nobody's.

        One sender's letters stay in order, unless many come from elsewhere, in whichever names.
        """
        values = {"sender": envelope.sender, "network": envelope.network}
        if (found := self._database.row(_ROUNDS, values)) is None:
            return 0, None
        behind = found["next_elsewhere"] - found["present_elsewhere"]  # what waits for the DNS has a round, too
        if found["familiar"] and (found["elsewhere"] > APART or behind > APART or not found["next_elsewhere"]):
            return 1, max(found["present_familiar"], found["next_familiar"])
        return 0, max(found["present_elsewhere"], found["next_elsewhere"])

    def _sent_today(self, tally: str) -> int:
        """How many letters of this client network were kept today, before this transaction."""
        if (known := self._sent.get(tally)) is None:
            if len(self._sent) >= NETWORKS:
                self._sent.clear()
            query = (
                "SELECT count(*) FROM inbox WHERE network = ? AND network <> '' AND received >= ? AND received < ?"
            )
            day = (self._day, f"{self._day}U")  # after each time of the day: those have a T there
            known = self._sent[tally] = int(self._database.scalar(query, (tally, *day)))
        return known

    def received_since(self, time: datetime) -> Iterator[bytes]:
        """The octets of what came since then; raises `Sealed`."""
        return map(self._raw, self._database.rows("SELECT * FROM inbox WHERE received >= ?", (to_db(time),)))

    def lease(self, now: datetime) -> InboxRow | None:
        """The next waiting letter, or None; see `lease_some`."""
        rows = self.lease_some(1, now)
        return rows[0] if rows else None

    def lease_some(self, most: int, now: datetime, *, fresh: bool = False) -> list[InboxRow]:
        """Lease the next waiting letters, up to this many; the lease is committed before this returns.

        Letters from where their players wrote before come first, in their rounds, and with them always some in
        players' names from elsewhere, and some of others, in the order in which they were kept; of each kind no more
        octets together than a `LOT`, so that nobody waits for long.

        A letter that failed, or is suspect, comes alone, so that it takes no other down with it, when it has its turn
        or nothing else waits, and never among `fresh` ones; one that failed three times is not given again: see
        `stranded`. A letter that waits for the DNS (`Lookups`) is not given either. One that cannot be unsealed has
        failed.
        """
        taken: list[Row] = []
        self._leases += 1
        self._turns += not fresh
        turn = not fresh and self._turns % ALONE == 0
        for waiting in (self._next, self._next_free):  # whether each is free is looked at only where one is not
            # Who only looks keeps no writer waiting.
            chosen = (self._tried(now) if turn else []) or self._fresh(waiting, most)
            if not (chosen or fresh or turn):
                chosen = self._tried(now)
            if not chosen:
                return []
            with self._database.transaction():
                taken = self._take(chosen)
            if taken:
                break
        leased = []
        for row in taken:
            try:
                leased.append(self._leased(row))
            except Sealed:
                self.release(row["id"])
        return leased

    def waiting_behind(self) -> bool:
        """Whether letters wait, after none could be leased, as others have one of their sender, or match, in hand."""
        return bool(self._database.rows(f"SELECT 1 {FRESH} LIMIT 1"))

    def _next(self, most: int) -> list[Iterable[Row]]:
        """The first letters of each kind, each as if it were free."""
        rows = self._database.rows(_NEXT, self._values(most=most))
        rows.sort(key=lambda row: (row["round"] or 0, row["id"]))
        return [[row for row in rows if row["kind"] == kind] for kind in range(len(_KINDS))]

    def _next_free(self, _: int) -> list[Iterable[Row]]:
        """The letters of each kind, one by one, with a look at whether each is free."""
        return [self._database.each(query, self._values()) for query in _NEXT_FREE]

    def _fresh(self, waiting: Callable[[int], list[Iterable[Row]]], most: int) -> list[Row]:
        """The letters to work on next, of those that may share a batch: this desk's own, or else anybody's."""
        if self._share[1] > 1 and self._leases % ANYBODY:
            seen = most * IN_SIGHT
            in_sight = [list(islice(rows, seen)) for rows in waiting(seen)]
            chosen = _chosen(in_sight, self._if_own, most) or _chosen(in_sight, _if_free, most)
            if chosen or max(map(len, in_sight)) < seen:
                return chosen
        return _chosen(waiting(most), _if_free, most)

    def _if_own(self, row: Row) -> Row | None:
        """The letter if it is free, and this desk's: all of a match, or of a sender, come to the same one."""
        number, desks = self._share
        about = row["match"] or row["sender"].lower()
        return row if row["free"] and crc32(about.encode()) % desks == number else None

    def _tried(self, now: datetime) -> list[Row]:
        """The letter to work on alone, if there is one."""
        return self._database.rows(_NEXT_TRIED, self._values(attempts=ATTEMPTS, rested=to_db(now - REST)))

    def _take(self, chosen: Sequence[Row]) -> list[Row]:
        """Lease those of these letters that are still free."""
        ids = {f"id{at}": row["id"] for at, row in enumerate(chosen)}
        first = {name: chosen[0][name] for name in ("attempts", "suspect")}  # as all of them have it
        sql = _LEASE.format(", ".join(f":{name}" for name in ids))
        leased = {row["id"]: row for row in self._database.rows(sql, self._values(**ids, **first))}
        taken = list(_in_order(chosen, lambda row: leased.get(row["id"])))
        for row_id in leased.keys() - {row["id"] for row in taken}:
            self.give_back(row_id)
        return taken

    def _values(self, **more: object) -> dict[str, object]:
        return {"owner": self._owner, **more}

    def _leased(self, row: Row) -> InboxRow:
        return InboxRow(
            row["id"],
            _envelope(row),
            self._raw(row),
            from_db(row["received"]),
            row["attempts"],
            bool(row["suspect"]),
        )

    def begin_alone(self, row_id: int, now: datetime) -> None:
        """Record that a suspect was read, and is worked on alone from now on: a death would be its fault."""
        self._database.execute(
            "UPDATE inbox SET alone = 1, tried = ? WHERE id = ? AND owner = ?", (to_db(now), row_id, self._owner)
        )

    def release(self, row_id: int) -> None:
        """Give a leased letter back after an attempt that failed because of it."""
        self._give_back(row_id, failed=1)

    def give_back(self, row_id: int) -> None:
        """Give a leased letter back as if it had never been leased: the store failed, not the work on the letter."""
        self._give_back(row_id, failed=0)

    def give_back_all(self) -> None:
        """Give back all that the owner has in hand, known or not: the answer to a commit may have been lost."""
        self._database.execute(
            "UPDATE inbox SET state = 'waiting', alone = 0, tried = NULL WHERE state = 'leased' AND owner = ?",
            (self._owner,),
        )

    def _give_back(self, row_id: int, *, failed: int) -> None:
        self._database.execute(
            "UPDATE inbox SET state = 'waiting', attempts = attempts + ?, alone = 0, tried = NULL"
            " WHERE id = ? AND state = 'leased' AND owner = ?",
            (failed, row_id, self._owner),
        )

    def release_all(self, owner: str | None = None) -> int:
        """Give back what a dead owner had in hand, or all owners; returns how many. For the store's daemon."""
        with self._database.transaction():  # no part of one that another thread has open on this connection
            return self._database.write(
                "UPDATE inbox SET state = 'waiting', attempts = attempts + alone, alone = 0, suspect = 1"
                " WHERE state = 'leased' AND owner = coalesce(?, owner)",
                (owner,),
            ).rowcount

    def done(self, row_id: int, outcome: str, *, proved: bool = False) -> None:
        """Record the outcome of a leased letter, in the caller's transaction; raises `LostError` and RuntimeError.

        It is `proved` if its sender proved to have written it, and nobody could have sent it before. It is lost if it
        was taken out of the owner's hands. The second call for a row fails on purpose: a letter has its effect
        exactly once.
        """
        sql = (
            "UPDATE inbox SET state = 'done', outcome = ?, proved = ? WHERE id = ? AND state = 'leased' AND owner = ?"
        )
        if self._database.write(sql, (outcome, int(proved), row_id, self._owner)).rowcount != 1:
            found = self._database.row("SELECT state, owner FROM inbox WHERE id = ?", (row_id,))
            if found and (found["owner"] != self._owner or found["state"] == "waiting"):
                raise LostError(f"inbox row {row_id} was given back, as its owner was silent")
            raise RuntimeError(f"inbox row {row_id} is not in hand")

    def stranded(self) -> list[Stranded]:
        """The letters whose attempts are used up, and that wait to be set aside."""
        rows = self._database.rows(
            "SELECT id, sender, recipients, network, size, received FROM inbox"
            " WHERE state = 'waiting' AND attempts >= ? ORDER BY id",
            (ATTEMPTS,),
        )
        return [Stranded(row["id"], _envelope(row), row["size"], from_db(row["received"])) for row in rows]

    def set_aside(self, row_id: int, reference: str) -> bool:
        """Set a stranded letter aside under the reference given to the operator, in the caller's transaction.

        False if it is no longer stranded.
        """
        sql = "UPDATE inbox SET state = 'aside', reference = ? WHERE id = ? AND state = 'waiting' AND attempts >= ?"
        return self._database.write(sql, (reference, row_id, ATTEMPTS)).rowcount == 1

    def raw(self, row_id: int) -> bytes:
        """The received bytes of a letter in any state; raises KeyError and `Sealed`."""
        row = self._database.row("SELECT fingerprint, raw FROM inbox WHERE id = ?", (row_id,))
        if row is None:
            raise KeyError(row_id)
        return self._raw(row)

    def outcome(self, row_id: int) -> tuple[str, str | None]:
        """The state of a letter, and its outcome when done or its reference when set aside; raises KeyError."""
        row = self._database.row("SELECT state, outcome, reference FROM inbox WHERE id = ?", (row_id,))
        if row is None:
            raise KeyError(row_id)
        return row["state"], row["outcome"] or row["reference"]

    def heard_until(self) -> datetime | None:
        """When the oldest unhandled letter was received that may have an effect in a match; None if there is none."""
        query = f"SELECT min(received) FROM inbox WHERE state IN ('waiting', 'leased') AND {_COUNTS}"
        received = self._database.scalar(query)
        return from_db(received) if received else None

    def count(self, state: str | None = None) -> int:
        """How many letters are in a state ("waiting", "leased", "done", "aside"), or in all."""
        return int(self._database.scalar("SELECT count(*) FROM inbox WHERE state = coalesce(?, state)", (state,)))

    def _raw(self, row: Row) -> bytes:
        return self._vault.open(row["raw"], f"inbox {row['fingerprint']}")

    def _fingerprint(self, envelope: Envelope, raw: bytes) -> str:
        # A retry may name its recipients in another order; JSON keeps the parts from running into each other.
        head = json.dumps([envelope.sender, sorted(envelope.recipients)]).encode()
        return self._vault.digest(len(head).to_bytes(8, "big") + head + raw)


def _tally(envelope: Envelope) -> str:
    """The key under which a letter is counted: its network, with the null sender apart."""
    return envelope.network and f"{envelope.network}{'' if envelope.sender else ' <>'}"


def _lot(rows: Sequence[Row]) -> list[Row]:
    """The first of these letters, and further ones as long as they are no more than a lot together."""
    sizes = accumulate(row["size"] for row in rows)
    return [row for row, size in zip(rows, sizes, strict=True) if row is rows[0] or size <= LOT]


def _in_order(rows: Iterable[Row], take: Callable[[Row], Row | None]) -> Iterator[Row]:
    """Which of the letters to take: none that follows an untaken one of the same sender or match."""
    passed: set[tuple[str, str]] = set()
    for row in rows:
        queues = queues_of(row["sender"], row["match"])
        if passed.isdisjoint(queues) and (taken := take(row)) is not None:
            yield taken
        else:
            passed |= queues


def queues_of(sender: str, match: str) -> set[tuple[str, str]]:
    """The queues in which a letter must not be overtaken: its sender's, and its match's."""
    return {("of", sender.lower()), ("for", match)} - {("of", ""), ("for", "")}


def _chosen(waiting: Sequence[Iterable[Row]], take: Callable[[Row], Row | None], most: int) -> list[Row]:
    """Which letters to take: of the first kind that waits, and some of each that comes after it."""
    kinds = [found for rows in waiting if (found := list(islice(_in_order(rows, take), most)))]
    after = [rows[: most // OTHERS] for rows in kinds[1:]]
    first = [rows[: most - sum(map(len, after))] for rows in kinds[:1]]
    return [row for rows in (*first, *after) for row in _lot(rows)]


def _if_free(row: Row) -> Row | None:
    return row if row["free"] else None


def _envelope(row: Row) -> Envelope:
    return Envelope(row["sender"], tuple(json.loads(row["recipients"])), row["network"].removesuffix(" <>"))
