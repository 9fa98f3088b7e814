"""Sorting: letters that no person wrote, or that nobody can read, are handled before their writer is identified.

A letter to a role address is for the operator, see `role_addresses`; `bounces.judge` decides which are bounces;
automatic mail is stored and never answered. Implements reliability.md, case 35, and RFC 3834.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pbem.desk import bounces, role_addresses, witnesses
from pbem.desk.authenticate import UNVOUCHED
from pbem.desk.reply import SHORT
from pbem.letters.draft import OutgoingLetter
from pbem.mail.message import automatic

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from pbem.desk.reading import Findings, Understood
    from pbem.desk.wiring import Desk
    from pbem.mail.message import Letter
    from pbem.phrase import Phrase
    from pbem.store.inbox import InboxRow


def sort(desk: Desk, row: InboxRow, findings: Findings, now: datetime) -> tuple[Letter, Understood] | str:
    """The letter and what it says, if a person wrote it; otherwise its outcome in a few words."""
    letter = findings.letter
    if passed_on := role_addresses.pass_on(desk, row, letter.subject if letter else "", now):
        return passed_on
    if letter is None:
        return "unreadable"
    # Only machines write to a return path, even if the letter looks like a person's.
    if bounced := bounces.judge(desk, row, letter, findings.delivery_report, now):
        return bounced
    if findings.beyond is not None:
        return _unreadable(desk, row, letter, findings.beyond, now)
    if witnessed := witnesses.take(desk, row, letter, now):
        return witnessed
    if reasons := _automatic(desk, row, letter):
        return "automatic: " + ", ".join(reasons)
    if letter.sender is None:
        return f"no sender: {letter.from_defect}"
    assert findings.understood is not None  # as its envelope names a sender
    return letter, findings.understood


def _unreadable(desk: Desk, row: InboxRow, letter: Letter, reason: Phrase, now: datetime) -> str:
    """Answer a letter beyond the limits, if its headers say whom."""
    if letter.sender is None or _automatic(desk, row, letter):
        return "unreadable"
    if not desk.strangers.may_be_answered(letter.sender, now):
        return f"unreadable; {UNVOUCHED}"
    text = desk.letters.draft("letters/unreadable.txt", reason=reason)
    out = OutgoingLetter(SHORT, text, language=desk.letters.language_of(None, letter))
    desk.letters.send(letter.sender, out, now)
    return "unreadable, answered"


def _automatic(desk: Desk, row: InboxRow, letter: Letter) -> Sequence[str]:
    """The signs that no person wrote a letter, or that it is one of our own that came round."""
    config, sender = desk.config, row.envelope.sender
    return automatic(letter, sender, address=config.mail_address, server=config.server, hops=config.limits.received)
