"""The lock of the store, and what takes long: that the two never meet."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from functools import wraps
from typing import TYPE_CHECKING, Any

import jinja2
from PIL import Image

from pbem import identity
from pbem.desk.reading import InProcess
from pbem.mail import commands
from pbem.mail.compose import Composer
from pbem.proof import bundle
from pbem.server.sandbox import Worker
from pbem.store.database import Database

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pytest

_SLOW: list[tuple[Any, str]] = [
    *(
        (reader, name)
        for reader in (InProcess, Worker)
        for name in ("read", "understand", "vouch", "bounce", "parse_key")
    ),
    (InProcess, "found"),
    (Worker, "found"),
    (identity, "judge"),
    (identity, "parse_key"),
    (commands, "parse"),
    (jinja2.Template, "render"),
    (Image.Image, "save"),
    (Composer, "compose"),
    (bundle, "write"),
]
"""The sandbox and what runs in it, and what writes, draws and packs."""


def watched(monkeypatch: pytest.MonkeyPatch) -> tuple[list[str], set[str]]:
    """From now on, what took long while this thread held the lock of a store, and what took long at all."""
    met: list[str] = []
    seen: set[str] = set()
    locked = threading.local()
    transaction = Database.transaction

    @contextmanager
    def holding(database: Database, *, wait: bool = True) -> Iterator[Database]:
        with transaction(database, wait=wait):
            before = getattr(locked, "by", 0)
            locked.by = before + 1
            try:
                yield database
            finally:
                locked.by = before

    monkeypatch.setattr(Database, "transaction", holding)
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
