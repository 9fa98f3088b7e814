"""A mailbox that is a Maildir: a folder of files, one for each letter, that a mail server on this machine fills.

Letters in `new` and in `cur` count, and those in the folders of spam beside them; what is done with is renamed into
the folder `.pbem.done` (Maildir++), so that nothing is ever lost. Implements mailbox.md.
"""

from __future__ import annotations

import threading
from contextlib import suppress
from typing import TYPE_CHECKING

from pbem.mailbox import DONE, Found, Handle, Unreachable

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = ["Maildir", "put"]

SPAM = (".Junk", ".Spam")
PARTS = ("new", "cur", "tmp")
LOOK = 0.5  # seconds between two looks at the folders


class Maildir:
    """The letters in a Maildir, of which each is read up to `most` octets and one more; a `Mailbox`."""

    def __init__(self, path: Path, *, most: int) -> None:
        self._path = path
        self._most = most
        self._done = path / f".{'.'.join(DONE)}"
        self._stop = threading.Event()

    def letters(self) -> Iterator[Found]:
        """The letters that lie there, those of spam last; raises `Unreachable` when the folder is none."""
        for folder in ("", *SPAM):
            for path in self._files(self._path / folder):
                try:
                    with path.open("rb") as file:
                        raw = file.read(self._most + 1)
                except FileNotFoundError:
                    continue  # a mail program renamed it: it comes at the next look
                except OSError as error:
                    raise Unreachable(f"{path}: {error.strerror}") from error
                yield Found(_with_crlf(raw), Handle(str(path.parent), path.name))

    def done(self, handle: Handle) -> None:
        """Rename a letter into the folder of those that were read."""
        source = self._path / handle.folder / handle.name
        target = self._done / "cur" / f"{handle.name.partition(':')[0]}:2,S"
        try:
            _make(self._done)
            with suppress(FileNotFoundError):
                source.rename(target)
        except OSError as error:
            raise Unreachable(f"{target}: {error.strerror}") from error

    def wait(self, seconds: float) -> None:
        """Look again and again whether something lies in `new`."""
        left = seconds
        while left > 0 and not self._stop.wait(min(LOOK, left)):
            left -= LOOK
            if any(self._files(self._path)):
                return

    def interrupt(self) -> None:
        """Let whoever waits return."""
        self._stop.set()

    def close(self) -> None:
        """Nothing is held open."""

    def _files(self, folder: Path) -> list[Path]:
        """The letters in `new` and `cur` of a folder, oldest first, less those that are flagged as trashed."""
        found = []
        try:
            for part in PARTS[:2]:
                if folder == self._path or (folder / part).is_dir():
                    found += [path for path in (folder / part).iterdir() if not path.name.startswith(".")]
            dated = [(path.stat().st_mtime_ns, path) for path in found if "T" not in path.name.partition(":2,")[2]]
        except FileNotFoundError as error:
            if (folder / "new").is_dir():
                return []  # renamed between two looks: the next one sees it
            raise Unreachable(f"{folder} is no Maildir: {error.filename} is missing") from error
        except OSError as error:
            raise Unreachable(f"{folder}: {error.strerror}") from error
        return [path for _, path in sorted(dated)]


def put(path: Path, name: str, raw: bytes) -> None:
    """Put a letter into a Maildir, which is made if there is none: all of it, or nothing. Raises OSError."""
    _make(path)
    draft = path / "tmp" / name
    draft.write_bytes(raw)
    draft.rename(path / "new" / name)


def _make(folder: Path) -> None:
    for part in PARTS:
        (folder / part).mkdir(mode=0o700, parents=True, exist_ok=True)


def _with_crlf(raw: bytes) -> bytes:
    """Octets as they came over the wire: most servers write the files of a Maildir with line feeds alone."""
    return raw if b"\r\n" in raw else raw.replace(b"\n", b"\r\n")
