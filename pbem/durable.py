"""Files and folders that are on the disk when a call returns, and so are their names.

What leaves a machine, or is shown to its player, rests on files that no power cut takes back. Nothing here knows what
is in them. Implements reliability.md, promises 1 and 2, and sealed.md 1.5, "Secrets at the player's".
"""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def sync(path: Path) -> None:
    """Have a file, or the names in a folder, on the disk."""
    file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(file)
    finally:
        os.close(file)


def make_folder(folder: Path, sync: Callable[[Path], None] = sync) -> None:
    """Have a folder there, and the names of all that had to be made on the disk; they are for their owner alone."""
    missing = [one for one in (folder, *folder.parents) if not one.exists()]
    # What is there may have been made a moment ago, by another process, or by one that was killed before it synced.
    there = missing[-1].parent if missing else folder
    with suppress(OSError):  # somebody else's folder, perhaps on a file system that syncs none
        sync(there.parent)
    for one in reversed(missing):
        one.mkdir(mode=0o700, exist_ok=True)
        sync(one.parent)


def write(path: Path, content: bytes, *, new: bool = False) -> None:
    """Have this in a file for its owner alone; its name is another matter. `new`: raises FileExistsError."""
    flags = os.O_WRONLY | os.O_CREAT | (os.O_EXCL if new else os.O_TRUNC)
    with os.fdopen(os.open(path, flags, 0o600), "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def replace(path: Path, content: bytes) -> None:
    """Have this, all of it or nothing, in a file for its owner alone; its folder is made where there is none."""
    make_folder(path.parent)
    draft = path.with_name(f"{path.name}.new")
    write(draft, content)
    draft.replace(path)
    sync(path.parent)
