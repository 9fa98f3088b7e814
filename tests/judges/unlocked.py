"""The lock of the store, and what takes long: that the two never meet."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from functools import wraps
from typing import TYPE_CHECKING, Any

from pbem import identity
from pbem.desk import reading
from pbem.desk.match_archive import MatchRepository
from pbem.desk.reading import InProcess
from pbem.mail import commands, delivery_status
from pbem.server.sandbox import Worker
from pbem.store.database import Database

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pytest

    from pbem.match.state import Match
    from pbem.store.matches import MatchRow

_SLOW: list[tuple[Any, str]] = [
    (InProcess, "read"),
    (Worker, "read"),
    (reading, "received"),
    (reading, "vouch"),
    (reading, "judged_by_others"),
    (delivery_status, "read_report"),
    (identity, "judge"),
    (identity, "parse_key"),
    (commands, "parse"),
]
"""The sandbox and what runs in it."""


def watched(monkeypatch: pytest.MonkeyPatch) -> tuple[list[str], set[str]]:
    """From now on, what took long while this thread held the lock of a store, and what took long at all."""
    met: list[str] = []
    seen: set[str] = set()
    locked = threading.local()
    transaction = Database.transaction

    @contextmanager
    def holding(database: Database) -> Iterator[Database]:
        with transaction(database):
            before = getattr(locked, "by", 0)
            locked.by = before + 1
            try:
                yield database
            finally:
                locked.by = before

    restore = MatchRepository._restore

    def restored(archive: MatchRepository, row: MatchRow) -> Match:
        """A match is replayed from letters that were read and judged when they came: that is not counted."""
        before, locked.by = getattr(locked, "by", 0), 0
        try:
            return restore(archive, row)
        finally:
            locked.by = before

    monkeypatch.setattr(Database, "transaction", holding)
    monkeypatch.setattr(MatchRepository, "_restore", restored)
    for owner, name in _SLOW:
        monkeypatch.setattr(owner, name, _noted(getattr(owner, name), met, seen, locked))
    return met, seen


def _noted(slow: Any, met: list[str], seen: set[str], locked: threading.local) -> Any:
    @wraps(slow)
    def run(*given: Any, **named: Any) -> Any:
        seen.add(slow.__qualname__)
        if getattr(locked, "by", 0):
            met.append(slow.__qualname__)
        return slow(*given, **named)

    return run
