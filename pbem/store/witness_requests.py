"""The rows of requests to witnesses: one request for each witness, and its answer.

Only storage. The desk stores a request in its transaction, and takes the answer in another. In between, another task
makes the request, and holds no lock meanwhile. A newer request replaces an older one. Implements
docs/witnesses.md, "What is asked".
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from pbem.store.database import to_db
from pbem.store.rows import Rows

if TYPE_CHECKING:
    from datetime import datetime


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
