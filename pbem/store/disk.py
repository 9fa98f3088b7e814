"""The disk under a store in a file, which a test may replace, and the high-water marks noted beside the file.

A store below its marks is an older one in its place. Nothing in a backup that was copied over the store tells that it
is one: the server would play on from it, sign other heads than players were mailed, and be convicted by them.
`pbem restore` begins a new generation instead. Implements reliability.md, promises 1 and 2, cases 30 and 37.
"""

from __future__ import annotations

import json
import os
import sqlite3
from contextlib import suppress
from typing import TYPE_CHECKING

from pbem import durable

if TYPE_CHECKING:
    from pathlib import Path


class Disk:
    """The disk of this machine."""

    def connect(self, path: Path, *, wait: float) -> sqlite3.Connection:
        """A connection to a database, which waits this many seconds for a lock; transactions are explicit."""
        return sqlite3.connect(path, timeout=wait, isolation_level=None, check_same_thread=False)

    def sync(self, path: Path) -> None:
        """Sync a file, or the names in a folder: it is on disk when this returns."""
        durable.sync(path)

    def make_folder(self, folder: Path) -> None:
        """Make a folder, if needed, and sync the names of those that were made; a new one is closed to others."""
        durable.make_folder(folder, self.sync)

    def room(self, folder: Path) -> int:
        """The free space under a folder, in octets."""
        found = os.statvfs(folder)
        return found.f_bavail * found.f_frsize


THIS_DISK = Disk()


def give_to_owner(path: Path) -> None:
    """Give to the daemon's user, whose folder it is, what root makes; never the target of a link that user made."""
    if os.geteuid() == 0:
        owner = path.parent.stat()
        with suppress(PermissionError):  # root in a container may lack the right
            os.chown(path, owner.st_uid, owner.st_gid, follow_symlinks=False)


def forget_marks(store: Path, disk: Disk) -> None:
    """Expect nothing of the store that comes here, not even after a power cut."""
    with suppress(FileNotFoundError):
        marks_file(store).unlink()
        disk.sync(marks_file(store).parent)


def marks_file(store: Path) -> Path:
    """The file of the highest numbers that a store ever gave out, beside it."""
    store = store.resolve()
    return store.with_name(f"{store.name}.numbers")


def noted_marks(store: Path) -> dict[str, int]:
    """The highest numbers that were noted; empty if none can be read."""
    try:
        noted = json.loads(marks_file(store).read_text("ascii"))
        return {name: int(number) for name, number in noted.items()}
    except (OSError, ValueError, TypeError, AttributeError):
        return {}
