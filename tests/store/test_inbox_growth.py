"""What waits in the inbox makes no letter cost more: counted in steps of SQLite, whose plan does not say how many."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest
from in_a_box.stores import of_sqlite, steps

from pbem.store.database import Database
from pbem.store.inbox import ATTEMPTS, Envelope, Inbox
from pbem.store.questions import RANKS, Lookups
from pbem.store.vault import Vault

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

NOW = datetime(2026, 11, 22, 12, tzinfo=UTC)
FEW, MANY = 20, 400
pytestmark = of_sqlite


class Crowd:
    """An inbox with so many letters of a sender: a stranger, or somebody who uses a player's name from elsewhere."""

    def __init__(self, database: Database, sender: str, letters: int) -> None:
        self.database = database
        self.inbox = Inbox(database, Vault(bytes(32)))
        self.lookups = Lookups(database)
        self._envelope = Envelope(sender, ("pbem@play.example",), "192.0.2.0/24")
        with database.transaction():
            database.write("INSERT INTO players VALUES ('ann', 'ann@mail.example', '2026')")
        self.inbox.put_all([(self._envelope, b"%d" % letter) for letter in range(letters)], lambda: NOW)

    def wait_for_the_dns(self, *, counts: bool) -> None:
        """Have all letters wait for an answer of the DNS."""
        with self.database.transaction():
            for row in self.database.rows("SELECT id FROM inbox"):
                self.lookups.ask(row["id"], ["name.example"], 3, NOW, counts=counts)

    def fail(self, attempts: int) -> None:
        """Have so many attempts on each letter behind it."""
        self.database.execute("UPDATE inbox SET attempts = ?", (attempts,))

    def costs(self) -> dict[str, int]:
        """The steps that each kind of work on this inbox takes."""
        work: dict[str, Callable[[], object]] = {
            "one more letter comes": lambda: self.inbox.put(self._envelope, b"one more", NOW),
            "the next batch, or a letter alone": lambda: self.inbox.lease_some(8, NOW),
            "the next names for the DNS": lambda: [self.lookups.due(NOW, rank, 8) for rank in RANKS],
            "when to ask again": lambda: self.lookups.next_due(NOW),
            "the oldest unhandled letter": self.inbox.oldest_unhandled,
        }
        found = {}
        for what, do in work.items():
            with steps(self.database) as counted:
                do()
            found[what] = counted[0]
        return found


STATES: dict[str, Callable[[Crowd], None]] = {
    "wait": lambda _: None,
    "wait for the DNS": lambda crowd: crowd.wait_for_the_dns(counts=True),
    "wait for the DNS, and count for no clock": lambda crowd: crowd.wait_for_the_dns(counts=False),
    "failed": lambda crowd: crowd.fail(1),
    "failed too often": lambda crowd: crowd.fail(ATTEMPTS),
}


@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("sender", ["eve@elsewhere.example", "ann@mail.example"])
def test_work_on_the_inbox_costs_the_same_however_many_letters_wait(tmp_path: Path, sender: str, state: str) -> None:
    costs = []
    for letters in (FEW, MANY):
        with Database(tmp_path / f"{letters}.sqlite") as database:
            crowd = Crowd(database, sender, letters)
            STATES[state](crowd)
            costs.append(crowd.costs())
    few, many = costs
    assert {what: cost for what, cost in many.items() if cost > few[what] + 20} == {}


@pytest.mark.parametrize("sender", ["eve@elsewhere.example", "ann@mail.example"])
def test_letters_that_failed_too_often_are_sought_among_themselves(tmp_path: Path, sender: str) -> None:
    costs = []
    for letters in (FEW, MANY):
        with Database(tmp_path / f"{letters}.sqlite") as database:
            crowd = Crowd(database, sender, letters)
            with steps(database) as counted:
                assert crowd.inbox.stranded() == []
            costs.append(counted[0])
    assert costs[0] == costs[1]
