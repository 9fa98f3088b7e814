"""A desk that computes nothing: it waits as long instead, and asks and writes what a letter with orders does.

python -m bench.servers.waiting STORE SECONDS LETTERS DESK DESKS; it begins at a line on its standard input, and ends
when so many letters have been handled, whoever did it. Letters come to the desks as in a server, each to its own.
"""

from __future__ import annotations

import sys
import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from pbem.store.database import Database
from pbem.store.errors import OvertakenError
from pbem.store.inbox import Inbox
from pbem.store.outbox import Outbox
from pbem.store.vault import Vault
from pbem.store_place import PostgresqlAddress

if TYPE_CHECKING:
    from pbem.store.inbox import InboxRow

VAULT = Vault(bytes(32))
ASKED, WRITTEN = 38, 12
"""Statements of a letter with orders, beside those that take it in hand."""

TOGETHER = 8
IDLE = 0.05
"""Seconds until a desk looks again that found nothing."""

ANSWER = b"answer" * 700


class WaitingDesk:
    """One desk, on its own connection."""

    def __init__(self, store: str, seconds: float, share: tuple[int, int]) -> None:
        self._database = Database(PostgresqlAddress(store), migrate=False, share=share)
        self._inbox = Inbox(self._database, VAULT, self._database.owner, share)
        self._outbox = Outbox(self._database, VAULT)
        self._seconds = seconds
        self.anew = 0

    def work(self, letters: int) -> None:
        """Handle letters until so many have been."""
        while True:
            now = datetime.now(UTC)
            rows = self._inbox.lease_some(TOGETHER, now)
            if rows:
                self._handle(rows, now)
            elif self._inbox.count("done") >= letters:
                return
            else:
                time.sleep(IDLE)

    def _handle(self, rows: list[InboxRow], now: datetime) -> None:
        for _ in range(5):
            try:
                senders = [row.envelope.sender for row in rows]
                self._database.decide(lambda: self._decide_all(rows, now), about=senders)
            except OvertakenError:
                self.anew += 1
            else:
                return
        raise AssertionError("nobody else writes what this stands on")

    def _decide_all(self, rows: list[InboxRow], now: datetime) -> None:
        for row in rows:
            with self._database.savepoint(about=row.envelope.sender):
                self._decide(row, now)

    def _decide(self, row: InboxRow, now: datetime) -> None:
        sender = row.envelope.sender
        for number in range(ASKED):
            self._database.rows("SELECT * FROM players WHERE name = ?", (f"{sender} {number}",))
        time.sleep(self._seconds)
        for number in range(WRITTEN - 2):
            self._database.set_meta(f"{sender} {number}", str(row.id))
        self._outbox.put(sender, f"<{row.id}@play.example>", ANSWER, now)
        self._inbox.done(row.id, "waited")


def main() -> None:
    """Begin when told to, and say how often a letter was decided anew."""
    desk = WaitingDesk(sys.argv[1], float(sys.argv[2]), (int(sys.argv[4]), int(sys.argv[5])))
    print("ready", flush=True)
    sys.stdin.readline()
    desk.work(int(sys.argv[3]))
    print(desk.anew)


if __name__ == "__main__":
    main()
