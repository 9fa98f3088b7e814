"""Letters that wait for a digest: each is its player's alone, whatever is decided beside it."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from in_a_box.stores import place

from pbem.store.database import Database
from pbem.store.outbox import DigestQueue
from pbem.store.vault import Vault

if TYPE_CHECKING:
    from pathlib import Path

DUE = datetime(2026, 7, 1, tzinfo=UTC)


def test_what_waits_for_one_player_is_not_taken_with_anothers(tmp_path: Path) -> None:
    with Database(place(tmp_path / "store.db")) as database:
        held = DigestQueue(database, Vault(bytes(32), bytes))
        for name in ("ann", "bob"):
            database.execute("INSERT INTO players VALUES (?, ?, ?)", (name, f"{name}@mail.example", ""))
        with database.transaction():
            for name in ("ann", "bob"):
                held.hold(name, 1, f"for {name}".encode(), DUE)
            assert [waiting.content for waiting in held.take("ann")] == [b"for ann"]
        with database.transaction():
            assert held.due(DUE) == ["bob"]
            assert [waiting.content for waiting in held.take("bob")] == [b"for bob"]
        assert held.next_due() is None
