"""The rows of the transparency log: heads that wait to be put into the tree, the tree, its checkpoints, witnesses.

Only storage: the desk decides what a checkpoint says, and who is shown it. Heads are queued in the transaction that
signs them, and get their places in the tree later, one after the other. A tournament stands in the column `match`
as its number below zero. Every call is part of the caller's transaction. Implements docs/witnesses.md.
"""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

import msgspec

from pbem.store.database import to_db
from pbem.store.rows import Rows

if TYPE_CHECKING:
    from collections.abc import Iterable


_ENTRIES = (
    "(SELECT match, seq, head FROM entries"
    " UNION ALL SELECT -tournament AS match, seq, head FROM tournament_entries) AS entries"
)
"""The entries of all matches and tournaments."""


class QueuedHead(msgspec.Struct, frozen=True):
    """A head that is not in the tree yet: its match and number, and what is signed."""

    match: int
    """Below zero, the number of a tournament."""
    seq: int
    head: str


class CheckpointRow(msgspec.Struct, frozen=True):
    """A checkpoint of the tree at a size, with all signatures, and its time."""

    size: int
    time: datetime
    note: str


class AskedRow(msgspec.Struct, frozen=True):
    """The size that a witness is believed to know, the size that it was last asked to cosign, and when."""

    size: int
    wanted: int
    asked: datetime


class TransparencyLog(Rows):
    """The log of a store."""

    def queue(self, match: int, seqs: Iterable[int], *, hurry: bool) -> None:
        """Queue these heads of a match for the tree; `hurry`: the next checkpoint is made at once."""
        for seq in seqs:
            self._database.write("INSERT INTO log_queue VALUES (?, ?, ?)", (match, seq, int(hurry)))

    def queue_all(self) -> int:
        """Queue all heads from before there was a log; returns how many."""
        before = int(self._database.scalar("SELECT count(*) FROM log_queue"))
        self._database.write(
            f"INSERT INTO log_queue SELECT match, seq, 0 FROM {_ENTRIES} WHERE NOT EXISTS (SELECT 1 FROM log_leaves"
            " WHERE log_leaves.match = entries.match AND log_leaves.seq = entries.seq) ON CONFLICT DO NOTHING"
        )
        return int(self._database.scalar("SELECT count(*) FROM log_queue")) - before

    def waits(self) -> bool | None:
        """True if a waiting head is in a hurry; None if none waits."""
        found = self._database.scalar("SELECT max(hurry) FROM log_queue")
        return None if found is None else bool(found)

    def queued(self, limit: int) -> list[QueuedHead]:
        """The next heads to be put into the tree."""
        query = (
            f"SELECT log_queue.match, log_queue.seq, head FROM log_queue JOIN {_ENTRIES}"
            " ON entries.match = log_queue.match AND entries.seq = log_queue.seq"
            " ORDER BY log_queue.match, log_queue.seq LIMIT ?"
        )
        return self._database.read(QueuedHead, query, (limit,))

    @property
    def size(self) -> int:
        """The number of leaves of the tree."""
        last = self._database.scalar("SELECT max(number) FROM log_leaves")
        return 0 if last is None else int(last) + 1

    def add(self, number: int, head: QueuedHead, nodes: Iterable[tuple[int, int, bytes]]) -> None:
        """Put a head into the tree, with the nodes that its leaf completes."""
        self._database.write("INSERT INTO log_leaves VALUES (?, ?, ?)", (number, head.match, head.seq))
        for node in nodes:
            self._database.write("INSERT INTO log_nodes VALUES (?, ?, ?)", node)
        self._database.write("DELETE FROM log_queue WHERE match = ? AND seq = ?", (head.match, head.seq))

    def node(self, level: int, number: int) -> bytes:
        """The hash of a complete subtree."""
        query = "SELECT hash FROM log_nodes WHERE level = ? AND number = ?"
        return bytes(self._database.scalar(query, (level, number)))

    def place(self, match: int, size: int) -> tuple[int, int] | None:
        """The place and number of the latest head of a match among the first `size` leaves."""
        query = "SELECT number, seq FROM log_leaves WHERE match = ? AND number < ? ORDER BY seq DESC LIMIT 1"
        row = self._database.execute(query, (match, size)).fetchone()
        return (row[0], row[1]) if row else None

    def state(self, size: int, note: str, now: datetime) -> None:
        """Keep the checkpoint of the tree at a size, replacing the one with other signatures."""
        self._database.add("checkpoints", size=size, time=to_db(now), note=note, cosigned=0)

    def cosign(self, size: int, note: str) -> None:
        """Keep a note with more signatures."""
        self._database.write("UPDATE checkpoints SET note = ?, cosigned = 1 WHERE size = ?", (note, size))

    def checkpoint(self, size: int) -> CheckpointRow | None:
        """The checkpoint of the tree at a size."""
        return self._checkpoint("WHERE size = ?", size)

    def latest(self) -> CheckpointRow | None:
        """The last checkpoint."""
        return self._checkpoint("ORDER BY size DESC")

    def witnessed(self, number: int | None = None) -> CheckpointRow | None:
        """The last checkpoint that a witness cosigned; or the first such one that has the leaf of this number."""
        if number is None:
            return self._checkpoint("WHERE cosigned = 1 ORDER BY size DESC")
        return self._checkpoint("WHERE cosigned = 1 AND size > ? ORDER BY size", number)

    def _checkpoint(self, which: str, *values: int) -> CheckpointRow | None:
        query = f"SELECT size, time, note FROM checkpoints {which} LIMIT 1"
        return self._database.read_one(CheckpointRow, query, values)

    def cosigned(self) -> list[CheckpointRow]:
        """The last checkpoints that witnesses cosigned, the latest first."""
        query = "SELECT size, time, note FROM checkpoints WHERE cosigned = 1 ORDER BY size DESC LIMIT 100"
        return self._database.read(CheckpointRow, query)

    def asked(self, witness: str) -> AskedRow | None:
        """The sizes that a witness is believed to know; None if it was never asked."""
        query = "SELECT size, wanted, asked FROM witnesses WHERE name = ?"
        return self._database.read_one(AskedRow, query, (witness,))

    def ask(self, witness: str, size: int, wanted: int, now: datetime) -> None:
        """Note what a witness is believed to know, what it is asked to cosign, and when."""
        self._database.put("witnesses", "name", name=witness, size=size, wanted=wanted, asked=to_db(now))
