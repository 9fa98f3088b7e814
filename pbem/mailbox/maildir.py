"""A mailbox that is a Maildir: a folder of files, one for each letter, that a mail server on this machine fills.

Letters in `new` and in `cur` count, and those in the spam folders beside them; letters that are done are renamed into
the folder `.pbem.done` (Maildir++), so that nothing is ever lost. Implements operating.md, "A mailbox is enough".
"""

from __future__ import annotations

import itertools
import os
import stat
import tempfile
import threading
from contextlib import suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from pbem.mailbox import DONE, FetchedLetter, Handle, LeftAlone, MailboxUnreachable, Withheld, none_skipped

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

SPAM = (".Junk", ".Spam")
PARTS = ("new", "cur", "tmp")
NAME = 200  # octets of a name that are kept; file systems take 255
LOOK = 0.5  # seconds between two looks at the folders


class Maildir:
    """The letters in a Maildir, each read up to `most` octets and one more; a `Mailbox`."""

    def __init__(self, path: Path, *, most: int) -> None:
        self._path = path
        self._most = most
        self._done = path / f".{'.'.join(DONE)}"
        self._since = 0.0  # seconds since the epoch, as files have them
        self._stop = threading.Event()

    def mark(self, now: datetime) -> LeftAlone:
        """The present time, by the clock that dates files: older ones are left alone."""
        del now  # perhaps a database's, which may differ by any amount
        there = sum(len(self._files(self._path / folder)) for folder in ("", *SPAM))
        try:
            _make(self._done)
            with tempfile.TemporaryFile(dir=self._done / "tmp") as file:
                present = os.fstat(file.fileno()).st_mtime
        except OSError as error:
            raise MailboxUnreachable(f"{self._done}: {error.strerror}") from error
        return LeftAlone(datetime.fromtimestamp(present, UTC).isoformat(), there)

    def leave(self, mark: str) -> None:
        """Leave alone the files that are older."""
        self._since = datetime.fromisoformat(mark).timestamp()

    def letters(self, skips: Callable[[Handle], bool] = none_skipped) -> Iterator[FetchedLetter]:
        """The letters there, spam last; raises `MailboxUnreachable` if the folder is not a Maildir.

        Files that cannot be read do not block the others: `Withheld` names them at the end.
        """
        withheld, trouble = list[Handle](), ""
        for folder in ("", *SPAM):
            for path in self._files(self._path / folder):
                handle = Handle(str(path.parent), path.name)
                if skips(handle):
                    continue
                try:
                    with os.fdopen(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb") as file:
                        raw = file.read(self._most + 1)
                except FileNotFoundError:
                    continue  # a mail program renamed it: it comes at the next look
                except OSError as error:
                    withheld.append(handle)
                    trouble = f"{str(path)!a}: {error.strerror}"
                    continue
                # As it came over the wire: most servers write bare line feeds. The first line shows which they are: a
                # CRLF further on was put there by the letter's writer.
                if not raw.partition(b"\n")[0].endswith(b"\r"):
                    raw = raw.replace(b"\n", b"\r\n")
                yield FetchedLetter(raw, handle)
        if withheld:
            raise Withheld(withheld, trouble)

    def done(self, handle: Handle) -> None:
        """Rename a letter into the folder of read letters."""
        source = self._path / handle.folder / handle.name
        try:
            _make(self._done)
            # To an unused name: a rename would replace a letter of the same name.
            base = os.fsdecode(os.fsencode(handle.name.partition(":")[0])[:NAME])
            names = (f"{base}{f'_{number}' if number else ''}:2,S" for number in itertools.count())
            target = next(place for place in map((self._done / "cur").joinpath, names) if not os.path.lexists(place))
            with suppress(FileNotFoundError):
                source.rename(target)
        except OSError as error:
            raise MailboxUnreachable(f"{str(source)!a}: {error.strerror}") from error

    def wait(self, seconds: float) -> None:
        """Look repeatedly whether something is in `new`."""
        left = seconds
        while left > 0 and not self._stop.wait(min(LOOK, left)):
            left -= LOOK
            if self._files(self._path, PARTS[:1]):
                return

    def interrupt(self) -> None:
        """Make waiting calls return."""
        self._stop.set()

    def close(self) -> None:
        """Nothing is held open."""

    def _files(self, folder: Path, parts: tuple[str, ...] = PARTS[:2]) -> list[Path]:
        """The letters in `new` and `cur` of a folder, oldest first, except those left alone or flagged as trashed.

        Links, pipes and folders are not letters: no mail server makes them.
        """
        found = []
        try:
            for part in parts:
                if folder == self._path or (folder / part).is_dir():
                    found += [path for path in (folder / part).iterdir() if not path.name.startswith(".")]
        except FileNotFoundError as error:
            raise MailboxUnreachable(f"{folder} is no Maildir: {error.filename} is missing") from error
        except OSError as error:
            raise MailboxUnreachable(f"{folder}: {error.strerror}") from error
        dated = []
        for path in found:
            with suppress(OSError):  # renamed between two looks: the next one sees it
                at = path.lstat()
                if (
                    stat.S_ISREG(at.st_mode)
                    and at.st_mtime >= self._since
                    and "T" not in path.name.partition(":2,")[2]
                ):
                    dated.append((at.st_mtime_ns, path))
        return [path for _, path in sorted(dated)]


def put(path: Path, name: str, raw: bytes) -> None:
    """Put a letter into a Maildir, which is made if need be: the whole letter, or nothing. Raises OSError."""
    _make(path)
    draft = path / "tmp" / name
    draft.write_bytes(raw)
    draft.rename(path / "new" / name)


def _make(folder: Path) -> None:
    for part in PARTS:
        (folder / part).mkdir(mode=0o700, parents=True, exist_ok=True)
