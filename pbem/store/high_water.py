"""The high-water marks of a store in a file, noted beside it: a store below them is an older one in its place.

Nothing in a backup that was copied over the store tells that it is one. The server would play on from it, sign other
heads than players were mailed, and be convicted by them. `pbem restore` begins a new generation instead. Implements
reliability.md, cases 30 and 37; docs/operating.md, "Restore".
"""

from __future__ import annotations

import json
from contextlib import suppress
from typing import TYPE_CHECKING

from pbem import durable
from pbem.store.errors import StoreError

if TYPE_CHECKING:
    from pathlib import Path

    from pbem.store.disk import Disk
    from pbem.store.sqlite import Sqlite


def note(store: Path, engine: Sqlite) -> None:
    """Note the highest numbers that the store ever gave out; they only grow."""
    numbers = engine.last_numbers()
    if numbers != marks(store):
        durable.replace(_file_of(store), f"{json.dumps(numbers)}\n".encode("ascii"))


def check(store: Path, engine: Sqlite) -> None:
    """Make sure that the store has come as far as was noted; raises `StoreError`."""
    noted = marks(store)  # first: a server that runs may come further, and note it, between the two
    numbers = engine.last_numbers()
    less = {name: number for name, number in noted.items() if numbers.get(name, 0) < number}
    if less:
        told = ", ".join(f"{name} ends with {numbers.get(name, 0)}, not {number}" for name, number in less.items())
        raise StoreError(
            f"{store} is older than the store that was here ({told}). A backup is put in its place by `pbem restore`:"
            f' see docs/operating.md, "Restore". If you know that nothing was mailed since, delete {_file_of(store)}'
        )


def forget(store: Path, disk: Disk) -> None:
    """Expect nothing of the store that comes here, not even after a power cut."""
    with suppress(FileNotFoundError):
        _file_of(store).unlink()
        disk.sync(_file_of(store).parent)


def _file_of(store: Path) -> Path:
    store = store.resolve()
    return store.with_name(f"{store.name}.numbers")


def marks(store: Path) -> dict[str, int]:
    """The highest numbers that were noted; empty if none can be read."""
    try:
        noted = json.loads(_file_of(store).read_text("ascii"))
        return {name: int(number) for name, number in noted.items()}
    except (OSError, ValueError, TypeError, AttributeError):
        return {}
