"""A mailbox that others fill: reading its letters as they came, and moving them away; and the password that opens it.

Nothing is kept or understood here: the caller keeps a letter first, and only then marks it as done. A crash in
between brings the same octets again. Every call may block. Only one thread at a time uses a mailbox, and any other
may interrupt it. Implements operating.md, "A mailbox is enough".
"""

from __future__ import annotations

import shlex
import stat
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from datetime import datetime

DONE = ("pbem", "done")
"""The folder that letters are moved to, and the one above it."""

OTHERS = stat.S_IRWXG | stat.S_IRWXO
SECONDS = 30.0  # that a command may take, such as one that asks a key ring


class MailboxUnreachable(Exception):
    """The mailbox cannot be used now: try again later. The text holds no word of a letter and no password."""


class Denied(MailboxUnreachable):
    """The mailbox knows no such user, or another password."""


class PasswordError(MailboxUnreachable):
    """There is no password, or no token; the text says why, without any part of it. A key ring may be open later."""


class Handle(NamedTuple):
    """The place of a letter: its folder, its name there, and what makes that name unique."""

    folder: str
    name: str
    validity: str = ""


class Withheld(MailboxUnreachable):
    """The mailbox can be used, but did not give these letters."""

    def __init__(self, handles: Sequence[Handle], trouble: str, *, broken_off: bool = False) -> None:
        super().__init__(f"letters that cannot be fetched: {len(handles)}, {trouble}")
        self.handles = handles
        self.broken_off = broken_off
        """True if letters after these were not asked for."""


class FetchedLetter(NamedTuple):
    """A letter in a mailbox: its octets, with CRLF at the ends of lines, and its place."""

    raw: bytes
    handle: Handle


class LeftAlone(NamedTuple):
    """The letters in a mailbox before we first read it: a mark by which they are recognised, and their number."""

    mark: str
    letters: int


def none_skipped(_: Handle) -> bool:
    """No letter is skipped."""
    return False


class Mailbox(Protocol):
    """The letters of one account, including those taken for spam. All calls raise `MailboxUnreachable`."""

    def mark(self, now: datetime) -> LeftAlone:
        """A mark of the letters that are there now."""

    def leave(self, mark: str) -> None:
        """Leave alone for good the letters that were there when this mark was made; makes no call to the server."""

    def letters(self, skips: Callable[[Handle], bool] = none_skipped) -> Iterator[FetchedLetter]:
        """The letters there, folder by folder, the oldest first; `done` may be called in between.

        Letters that are left alone are not looked at, nor those that `skips` names. If single letters cannot be
        fetched, `Withheld` names them after the others.
        Of a letter longer than the mailbox's limit, one octet beyond the limit is given.
        """

    def done(self, handle: Handle) -> None:
        """Move a letter to the folder of read letters; it is no fault if it is not there any more."""

    def wait(self, seconds: float) -> None:
        """Return when something may have come, after this many seconds at the latest, or when interrupted."""

    def interrupt(self) -> None:
        """From any thread, and for good: make waiting calls return, and calls under way fail."""

    def close(self) -> None:
        """Say goodbye; errors here do not matter. The mailbox opens again at the next call."""


def password(file: str, command: str) -> str:
    """The first line of a file (mode 0600), or of a command's output; empty without either.

    The command is split as a shell would do it, and run without one. Raises `PasswordError`.
    """
    if not file:
        return _printed(command, "password") if command else ""
    path = Path(file)
    try:
        mode = path.stat().st_mode
        if mode & OTHERS and path.is_file():
            raise PasswordError(f"{path} can be read by others: chmod 600 {path}")
        return _first_line(path.read_bytes(), file, "password")
    except OSError as error:
        raise PasswordError(f"{path}: {error.strerror}") from error


def token(command: str) -> str:
    """The access token (OAuth 2.0, RFC 6749 1.4) that a command prints on its first line. Raises `PasswordError`."""
    return _printed(command, "token")


def _printed(command: str, what: str) -> str:
    try:
        done = subprocess.run(  # noqa: S603 - the operator's own command, from the operator's own file
            shlex.split(command), stdin=subprocess.DEVNULL, capture_output=True, timeout=SECONDS, check=True
        )
    except subprocess.CalledProcessError as error:
        raise PasswordError(f"{command}: ended with status {error.returncode}") from None
    except (OSError, ValueError, subprocess.TimeoutExpired) as error:
        raise PasswordError(f"{command}: {type(error).__name__}") from None
    return _first_line(done.stdout, command, what)


def _first_line(data: bytes, where: str, what: str) -> str:
    try:
        line = data.decode("utf-8-sig").partition("\n")[0].rstrip("\r")
    except UnicodeDecodeError:
        line = ""
    if not line:
        raise PasswordError(f"{where}: no {what} in its first line")
    return line
