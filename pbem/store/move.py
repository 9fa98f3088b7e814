"""Moving a store from one engine to the other: every row and every number that was given out, or nothing.

Nobody may work on either store meanwhile; the caller sees to that. The new store is empty before, and if anything
fails it is empty again. What is sealed stays sealed, under the same key.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pbem.store.errors import StoreError

if TYPE_CHECKING:
    from pbem.store.database import Database

FIRST = ("players", "matches", "tournaments", "inbox", "outbox")
"""The tables that rows of others refer to, in the order in which they refer to each other."""

LEFT = frozenset({"owners"})
"""The tables that are not moved: servers at work on the old store are not at work on the new one."""


def move(old: Database, new: Database) -> int:
    """Copy everything in one store into another, empty one; returns the number of rows. Raises `StoreError`."""
    tables = [name for name in old.engine.tables() if name not in LEFT]
    if new.engine.version != old.engine.version:
        raise StoreError(f"{old.place} and {new.place} do not have the same tables: has one seen another version?")
    if full := next((name for name in tables if new.row(f"SELECT 1 FROM {name} LIMIT 1")), None):
        raise StoreError(f"{new.place} is not empty: there are rows in its table {full}")
    rows = 0
    # Both at once: what is copied is the store as it is at one moment.
    with old.transaction(), new.transaction():
        for table in sorted(tables, key=lambda name: (FIRST.index(name) if name in FIRST else len(FIRST), name)):
            for row in old.table(table):
                new.put(table, **row)
                rows += 1
        for table, last in old.engine.last_numbers().items():
            new.engine.number_from(table, last)
    return rows
