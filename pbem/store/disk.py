"""The disk under a store in a file: connections to files, syncing, and the free space.

It is handed in, so that a test can hand in a disk that loses what was not synced. Nothing here knows what is in a
file. Implements reliability.md, promises 1 and 2.
"""

from __future__ import annotations

import os
import sqlite3
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
