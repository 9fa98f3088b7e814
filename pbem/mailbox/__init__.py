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
    from collections.abc import Callable, Iterator
    from datetime import datetime

__all__ = ["DONE", "Denied", "Found", "Handle", "LeftAlone", "Mailbox", "Unreachable", "none_skipped"]

DONE = ("pbem", "done")
"""The folder that letters are moved to, and the one above it."""


class Unreachable(Exception):
    """The mailbox cannot be used now: try again later. The text holds no word of a letter and no password."""


class Denied(Unreachable):
    """The mailbox knows no such user, or another password."""


class Handle(NamedTuple):
    """Where a letter lies: its folder, its name in there, and what makes that name unique."""

    folder: str
    name: str
    validity: str = ""


class Found(NamedTuple):
    """A letter that lies in a mailbox: its octets, with CRLF at the ends of lines, and where it lies."""

    raw: bytes
    handle: Handle


class LeftAlone(NamedTuple):
    """What lay in a mailbox before anybody read it for us: a mark by which it is known, and how many letters."""

    mark: str
    letters: int


def none_skipped(_: Handle) -> bool:
    """No letter is skipped."""
    return False


class Mailbox(Protocol):
    """The letters of one account, those that were taken for spam among them. All calls raise `Unreachable`."""

    def mark(self, now: datetime) -> LeftAlone:
        """What lies there now."""

    def leave(self, mark: str) -> None:
        """Leave alone for good what lay there when this mark was made; no call is made for it."""

    def letters(self, skips: Callable[[Handle], bool] = none_skipped) -> Iterator[Found]:
        """The letters that lie there, folder by folder, the oldest first; `done` may be called in between.

        Those that are left alone are not looked at, nor those that `skips` says.
        Of a letter longer than the mailbox's bound, no more than one octet beyond it is given.
        """

    def done(self, handle: Handle) -> None:
        """Move a letter to the folder of those that were read; one that is not there any more is no fault."""

    def wait(self, seconds: float) -> None:
        """Return when something may have come, after so many seconds at the latest, or when interrupted."""

    def interrupt(self) -> None:
        """From any thread, and for good: let whoever waits return, and whatever is under way fail."""

    def close(self) -> None:
        """Say goodbye; what goes wrong here is no fault. The mailbox opens again at the next call."""
