"""Letters that wait for a digest: each is its player's alone, whatever is decided beside it."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest
from stores import place

from pbem.store.database import Database
from pbem.store.decision import Later
from pbem.store.digest_queue import DigestQueue
from pbem.store.vault import Vault

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pbem.store.digest_queue import WaitingLetter

DUE = datetime(2026, 7, 1, tzinfo=UTC)


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    with Database(place(tmp_path / "store.db")) as database:
        for name in ("ann", "bob"):
            database.execute("INSERT INTO players VALUES (?, ?, ?)", (name, f"{name}@mail.example", ""))
        yield database


def content(waiting: WaitingLetter) -> bytes:
    return waiting.content.made() if isinstance(waiting.content, Later) else waiting.content


def test_what_is_put_off_stays_whose_it_is_when_others_wait_for_the_store(database: Database) -> None:
    """From the query on nobody else writes; what was held before it is still what it was."""
    held = DigestQueue(database, Vault(bytes(32), bytes))

    def decide() -> list[WaitingLetter]:
        held.hold("ann", 1, Later(lambda: b"for ann", b""), DUE)
        assert held.next_due() == DUE
        held.hold("bob", 1, Later(lambda: b"for bob", b""), DUE)
        return held.take("ann")

    assert [content(waiting) for waiting in database.decide(decide)] == [b"for ann"]
    assert [content(waiting) for waiting in database.decide(lambda: held.take("bob"))] == [b"for bob"]
