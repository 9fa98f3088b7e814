"""Putting another store in the place of one: a backup (`restore`), or the same rows in the other engine (`move`).

A backup is checked and begins a new generation; the old store is kept, and whenever this is killed, one of the two is
in place. The instruction "restored" tells the desk what to do then. Implements reliability.md, case 30.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
from contextlib import ExitStack, closing, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from pbem.store import own_keys
from pbem.store.database import Database, is_there
from pbem.store.disk import THIS_DISK, forget_marks, give_to_owner, noted_marks
from pbem.store.engine import BUSY_SECONDS
from pbem.store.errors import StoreError
from pbem.store.operator import Instructions, begin_generation
from pbem.store.owners import at_work
from pbem.store.sqlite import Lock

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pbem.store.disk import Disk
    from pbem.store.own_keys import OwnKeys
    from pbem.store_place import Place


class Restored(msgspec.Struct, frozen=True):
    """The generation that begins, and where the former store was put, if there was one."""

    generation: int
    aside: Path | None


def restore(
    backup: Path,
    store: Path,
    keys: OwnKeys,
    by: str,
    now: datetime,
    disk: Disk = THIS_DISK,
    *,
    confirm: Callable[[], None] = lambda: None,
) -> Restored:
    """Put a backup in the place of the store, whose lock the caller holds; raises `StoreError`.

    `confirm` is called once the backup was found to be sound, and before anything is replaced; it may raise.
    """
    store = store.resolve()  # a symlink stays one
    draft = store.with_name(f".{store.name}.restored")
    _forget(draft)
    try:
        os.close(os.open(draft, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
        shutil.copyfile(backup, draft)
        give_to_owner(draft)
        generation = _prepare(draft, keys, *_remembered(store, disk), by, now, disk)
        disk.sync(draft)
        confirm()
        noted = store.with_name(f".{store.name}.generation")
        noted.write_text(f"{generation}\n", "ascii")
        give_to_owner(noted)
        disk.sync(noted)
        noted.replace(_generation_file(store))
        aside = _put_aside(store, generation, disk)
        forget_marks(store, disk)
        draft.replace(store)
        disk.sync(store.parent)
    except sqlite3.DatabaseError as error:
        raise StoreError(f"{backup} is no sound backup: {error}") from error
    except OSError as error:
        # A copy that stopped halfway names the file that is written second.
        raise StoreError(f"{error.filename2 or error.filename or backup}: {error.strerror}") from error
    finally:
        _forget(draft)
    return Restored(generation, aside)


def _prepare(
    draft: Path, keys: OwnKeys, highest: int, given: Mapping[str, int], by: str, now: datetime, disk: Disk
) -> int:
    """Judge the copy of the backup, bring it up to date, and begin its new generation."""
    with closing(disk.connect(draft, wait=BUSY_SECONDS)) as copy:
        if not copy.execute("SELECT 1 FROM sqlite_master WHERE name = 'inbox'").fetchone():
            raise StoreError("this file is no backup of a pbem store")
    with Database(draft, disk=disk) as database:
        if damage := database.engine.damage():
            raise StoreError(f"the backup is damaged: {damage[0]}")
        own_keys.check(database, keys)
        with database.transaction():
            generation = begin_generation(database, highest, given)
            Instructions(database).give("restored", "", "", by, now)
        database.execute("PRAGMA journal_mode = DELETE")
    return generation


def _remembered(store: Path, disk: Disk) -> tuple[int, dict[str, int]]:
    """The highest generation that this server ever had, and the last numbers, as far as anything here remembers."""
    generation, numbers = 1, noted_marks(store)
    with suppress(OSError, ValueError):
        generation = max(generation, int(_generation_file(store).read_text("ascii")))
    if store.exists():
        with suppress(sqlite3.Error), closing(disk.connect(store, wait=BUSY_SECONDS)) as old:
            for name, number in old.execute("SELECT name, seq FROM sqlite_sequence").fetchall():
                numbers[name] = max(numbers.get(name, 0), number)
            with suppress(ValueError, TypeError):
                told = old.execute("SELECT value FROM meta WHERE name = 'generation'").fetchone()
                generation = max(generation, int(told[0]))
    return generation, numbers


def _generation_file(store: Path) -> Path:
    """The file that remembers the generation even when the store cannot be read any more."""
    return store.with_name(f"{store.name}.generation")


def _put_aside(store: Path, generation: int, disk: Disk) -> Path | None:
    """Give the old store a second name, with all that belongs to it; its first name is taken over afterwards."""
    if not store.exists():
        return None
    with suppress(sqlite3.Error), closing(disk.connect(store, wait=BUSY_SECONDS)) as old:
        old.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    aside = store.with_name(f"{store.name}.before-generation-{generation}")
    aside.unlink(missing_ok=True)
    os.link(store, aside)
    for ending in ("-wal", "-shm"):  # left where they are, they would be read as the new store's
        with suppress(FileNotFoundError):
            store.with_name(store.name + ending).replace(aside.with_name(aside.name + ending))
    disk.sync(store.parent)
    return aside


def _forget(draft: Path) -> None:
    for ending in ("", "-wal", "-shm", "-journal"):
        draft.with_name(draft.name + ending).unlink(missing_ok=True)


FIRST = ("players", "matches", "tournaments", "inbox", "outbox")
"""The tables that rows of others refer to, in the order in which they refer to each other."""

LEFT = frozenset({"owners"})
"""The tables that are not moved: servers at work on the old store are not at work on the new one."""


def move_store(one: Place, other: Place, keys: OwnKeys) -> int:
    """Copy the store at one place, with these keys, to another, where there is none yet; returns the number of rows.

    Raises `StoreError`, also if a server works on one of them.
    """
    if not is_there(one):
        raise StoreError(f"there is no store {one}")
    if is_there(other):
        raise StoreError(f"there is a store already: {other}")
    with ExitStack() as half_made, ExitStack() as stack:
        stores = []
        for place in (one, other):
            if isinstance(place, Path):
                stack.enter_context(Lock(place))
                if not place.exists():  # somebody else may have moved a store there meanwhile
                    half_made.callback(_forget, place)
            stores.append(stack.enter_context(Database(place)))
            if not isinstance(place, Path) and at_work(stores[-1], datetime.now(UTC)):
                raise StoreError(f"a server works on {place}: stop it")
        own_keys.check(stores[0], keys)
        rows = move(*stores)
        half_made.pop_all()
        return rows


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
