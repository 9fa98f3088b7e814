"""A mailbox that others fill: reading its letters as they came, and moving them away.

Here live what all kinds of mailboxes have in common, and the kinds themselves: `imap` and `maildir`; the password
that opens a mailbox; and the envelope that a letter still shows there. Nothing is kept or understood here: the
caller keeps a letter first, and only then marks it as done. A crash in between brings the same octets again. Every
call may block. Only one thread at a time uses a mailbox, and any other may interrupt it. Implements mailbox.md,
"Exactly once".
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from datetime import datetime

__all__ = [
    "DONE",
    "Denied",
    "FetchedLetter",
    "Handle",
    "LeftAlone",
    "Mailbox",
    "MailboxUnreachable",
    "Withheld",
    "none_skipped",
]

DONE = ("pbem", "done")
"""The folder that letters are moved to, and the one above it."""


class MailboxUnreachable(Exception):
    """The mailbox cannot be used now: try again later. The text holds no word of a letter and no password."""


class Denied(MailboxUnreachable):
    """The mailbox knows no such user, or another password."""


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
