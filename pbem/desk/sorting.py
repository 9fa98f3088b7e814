"""Sorting: letters that no person wrote, or that nobody can read, are handled before their writer is identified.

A letter to a role address is for the operator, see `role_addresses`; a letter to a return path is a bounce, see
`bounces`; automatic mail is stored and never answered. Implements reliability.md, case 35, and RFC 3834.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypedDict

from pbem.desk import bounces, role_addresses, witnesses
from pbem.desk.answer_letter import SHORT
from pbem.desk.authenticate import UNVOUCHED
from pbem.desk.reading import ReaderError
from pbem.letters.draft import OutgoingLetter
from pbem.mail.message import Unreadable, automatic

if TYPE_CHECKING:
    from datetime import datetime

    from pbem.desk.wiring import Desk
    from pbem.mail.message import Letter
    from pbem.store.inbox import InboxRow

__all__ = ["sort"]


def sort(desk: Desk, row: InboxRow, letter: Letter | Unreadable | ReaderError, now: datetime) -> Letter | str:
    """The letter, if a person wrote it; otherwise its outcome in a few words."""
    if isinstance(letter, ReaderError):
        raise letter
    if passed_on := role_addresses.pass_on(desk, row, letter, now):
        return passed_on
    if isinstance(letter, Unreadable):
        return _unreadable(desk, row, letter, now)
    # Whoever writes to a return path is a machine, whatever else it looks like.
    if bounced := bounces.bounce(desk, row, letter, now):
        return bounced
    if witnessed := witnesses.take(desk, row, letter, now):
        return witnessed
    if reasons := automatic(letter, row.envelope.sender, **_ours(desk)):
        return "automatic: " + ", ".join(reasons)
    if letter.sender is None:
        return f"no sender: {letter.from_defect}"
    return letter


def _unreadable(desk: Desk, row: InboxRow, error: Unreadable, now: datetime) -> str:
    """Answer a letter beyond the limits, if its headers say whom."""
    if error.letter is None:
        return "unreadable"
    if bounced := bounces.bounce(desk, row, error.letter, now):
        return bounced
    if error.letter.sender is None or automatic(error.letter, row.envelope.sender, **_ours(desk)):
        return "unreadable"
    if not desk.strangers.may_be_answered(error.letter.sender, now):
        return f"unreadable; {UNVOUCHED}"
    text = desk.letters.draft("letters/unreadable.txt", reason=error.reason)
    out = OutgoingLetter(SHORT, text, language=desk.letters.language_of(None, error.letter))
    desk.letters.send(error.letter.sender, out, now)
    return "unreadable, answered"


class _Ours(TypedDict):
    """How a server's own letters are recognised, and how far others have come at most."""

    address: str
    server: str
    hops: int


def _ours(desk: Desk) -> _Ours:
    config = desk.config
    return {"address": config.mail_address, "server": config.server, "hops": config.limits.received}
