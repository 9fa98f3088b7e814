"""The looks at a mailbox: since when letters may lie there, or have lain there before they came to us."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest
from in_a_box.boxes import Inbox
from in_a_box.stores import place

from pbem.store.database import Database
from pbem.store.inbox import Envelope, Look
from pbem.store.vault import Vault

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
MINUTE = timedelta(minutes=1)


class Reading:
    """An inbox whose letters come from a mailbox, which is read each minute."""

    def __init__(self, database: Database) -> None:
        self.now = NOW
        self._database = database
        self._inbox = Inbox(database, Vault(bytes(32)), "games")
        self._count = 0

    def look(self, letters: int = 0) -> None:
        self.now += MINUTE
        for _ in range(letters):
            self._count += 1
            self._inbox.put(Envelope("ann@mail.example", ()), b"%d" % self._count, self.now)
        self._inbox.note_look(Look(self.now, self.now))

    def handle(self, received: datetime) -> None:
        """Handle what was received by then."""
        sql = "UPDATE inbox SET state = 'done' WHERE received <= ?"
        self._database.execute(sql, (received.isoformat().replace("+00:00", ".000000Z"),))

    @property
    def oldest(self) -> datetime:
        with self._database.transaction():
            found = self._inbox.oldest_unhandled()
        assert found is not None
        return found


@pytest.fixture
def reading(tmp_path: Path) -> Iterator[Reading]:
    with Database(place(tmp_path / "store")) as database:
        yield Reading(database)


def test_a_letter_may_have_lain_there_since_the_look_before(reading: Reading) -> None:
    reading.look()
    before = reading.now
    reading.look(1)
    came = reading.now
    for letters in (0, 1, 0):
        assert reading.oldest == before
        reading.look(letters)
    reading.handle(came)
    assert reading.oldest == came
    reading.handle(reading.now)
    assert reading.oldest == came, "what came since was known when the next look was awaited"
    reading.look()
    assert reading.oldest == reading.now


def test_letters_without_end_that_are_handled_slowly_put_off_nothing_for_ever(reading: Reading) -> None:
    """Each waits for name servers that do not answer."""
    for _ in range(100):
        reading.look(1)
        reading.handle(reading.now - 10 * MINUTE)
        assert reading.now - reading.oldest <= 23 * MINUTE
