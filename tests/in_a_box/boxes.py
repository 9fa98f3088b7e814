"""Inbox and outbox as tests use them: one letter at a time, and what became of it."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from pbem.store import inbox, outbox
from pbem.store.outbox import Sent
from pbem.store.vault import Sealed

if TYPE_CHECKING:
    from datetime import datetime

    from pbem.store.inbox import InboxRow
    from pbem.store.outbox import OutboxRow


class Inbox(inbox.Inbox):
    def lease(self, now: datetime) -> InboxRow | None:
        """The next waiting letter, or None; see `lease_some`."""
        rows = self.lease_some(1, now)
        return rows[0] if rows else None

    def outcome(self, row_id: int) -> tuple[str, str | None]:
        """The state of a letter, and its outcome when done or its reference when set aside."""
        row = self._database.row("SELECT state, outcome, reference FROM inbox WHERE id = ?", (row_id,))
        assert row is not None
        return row["state"], row["outcome"] or row["reference"]

    def count(self, state: str | None = None) -> int:
        """The number of letters in a state ("waiting", "leased", "done", "aside"), or of all."""
        return int(self._database.scalar("SELECT count(*) FROM inbox WHERE state = coalesce(?, state)", (state,)))


class Outbox(outbox.Outbox):
    def lease(self, now: datetime) -> OutboxRow | None:
        """The next letter whose time has come, or None; raises `Sealed`. See `exchange`."""
        leased = self.exchange((), now, 1)
        if leased.sealed:
            raise Sealed(f"outbox {leased.sealed[0]}")
        return leased.rows[0] if leased.rows else None

    def all_bounces(self) -> Counter[str]:
        """The bounces of all letters, counted by their kinds."""
        return Counter(row[0] for row in self._database.execute("SELECT kind FROM bounces"))

    def delivered(self, row_id: int, reply: str, now: datetime) -> None:
        """Note that the smarthost took a leased letter."""
        self._settle(Sent(row_id, reply, now, "delivered"))

    def failed(self, row_id: int, reply: str, now: datetime, retry: datetime | None) -> None:
        """Note a failed attempt: with `retry` the letter waits until then, without it is given up."""
        self._settle(Sent(row_id, reply, now, "failed" if retry is None else "waiting", retry))

    def count(self, state: str | None = None) -> int:
        """The number of letters in a state ("waiting", "leased", "delivered", "failed"), or of all."""
        return int(self._database.scalar("SELECT count(*) FROM outbox WHERE state = coalesce(?, state)", (state,)))
