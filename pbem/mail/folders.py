"""Letters in files: a letter saved by itself, an mbox file, a Maildir, or a folder of any of these.

This module finds bytes and where they were; nothing is parsed. Implements RFC 4155 (mbox) and Maildir as far as
reading goes.
"""

from __future__ import annotations

import errno
import mailbox
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


def letters(path: Path, most: int) -> Iterator[tuple[str, bytes]]:
    """Each letter of a file or folder, with the name of its place; raises OSError if it cannot be read.

    Of a letter with more than this many octets, only one octet more is read. Within a folder, anything but a file
    (a pipe may never end) is left out, and each folder is looked into once, whatever links lead to it.
    """
    if not path.is_dir() and not path.is_file():
        raise OSError(errno.EINVAL, "neither a file nor a folder", str(path))
    yield from _in(path, most + 1, set())


def _in(path: Path, most: int, seen: set[tuple[int, int]]) -> Iterator[tuple[str, bytes]]:
    if not path.is_dir():
        if path.is_file() and path.stat().st_size:
            yield from _in_file(path, most)
        return
    found = path.stat()
    place = found.st_dev, found.st_ino
    if place in seen:
        return
    seen.add(place)
    if (path / "cur").is_dir() and (path / "new").is_dir():
        for inner in sorted(path.rglob("*")):
            if inner.parent.name in {"cur", "new"} and inner.is_file():
                yield str(inner), _beginning(inner, most)
    else:
        for inner in sorted(path.iterdir()):
            yield from _in(inner, most, seen)


def _in_file(path: Path, most: int) -> Iterator[tuple[str, bytes]]:
    if _beginning(path, 5) != b"From ":
        yield str(path), _beginning(path, most)
        return
    box = mailbox.mbox(path, create=False)
    try:
        for number, key in enumerate(box.keys(), start=1):
            # What an mbox escapes is the same in every dialect but for how often (mboxo, mboxrd): once is undone.
            raw = box.get_file(key).read(most)
            yield f"{path}, letter {number}", raw.replace(b"\n>From ", b"\nFrom ")
    finally:
        box.close()


def _beginning(path: Path, octets: int) -> bytes:
    with path.open("rb") as file:
        return file.read(octets)
