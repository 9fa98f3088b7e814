"""Sorting: letters that no person wrote, that nobody can read, or that are for the operator.

A letter to a role address (RFC 2142) goes on to the operator as it came, and nobody answers it. `bounces.judge`
decides which are bounces. Marks of machines go with the letter: `authenticate` knows whether a person wrote it all
the same. Implements reliability.md, cases 28, 28b and 35, and RFC 3834.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pbem.desk import bounces, outcomes
from pbem.desk.authenticate import Sorted, kept_marks, spoken
from pbem.desk.daily_limits import PASSED_ON
from pbem.desk.outcomes import SHORT
from pbem.desk.strangers import EACH
from pbem.letters.draft import OutgoingLetter
from pbem.mail.marks import Arrival, marks_of, was_here
from pbem.phrase import Phrase

if TYPE_CHECKING:
    from datetime import datetime

    from pbem.desk.reading import Findings
    from pbem.desk.wiring import Desk
    from pbem.store.inbox import InboxRow

_NO_SENDER = Phrase(
    "Its line `From:` names no clear sender ({defect}). Set your name and address anew in your mail program."
)


_MOST = 1024 * 1024
"""The most octets of a letter that are attached; of a longer one the operator is told where it is."""


def sort(desk: Desk, row: InboxRow, findings: Findings, now: datetime) -> Sorted | str:
    """The letter, if a person may have written it; otherwise its outcome in a few words."""
    letter, understood = findings.letter, findings.understood
    config = desk.config
    arrival = Arrival(letter, row.envelope.sender, config.mail_address, config.limits.received, config.delimiter)
    if passed_on := pass_on(desk, row, arrival, now):
        return passed_on
    if desk.letters.is_own(letter):
        return outcomes.OWN.outcome
    # Only machines write to a return path, even if the letter looks like a person's; but they sign nothing.
    signed = understood is not None and understood.heard.verdict.kind == "valid"
    if not signed and (bounced := bounces.judge(desk, row, letter, findings.delivery_report, now)):
        return bounced
    marks = marks_of(arrival)
    if findings.beyond is None and letter.sender is not None:
        assert understood is not None
        return Sorted(letter, understood, marks)
    # What nobody could read may say anything.
    signed = understood is None or understood.heard.verdict.kind != "none"
    reading = None if understood is None else understood.reading
    if marks := kept_marks(marks, spoken(letter, reading, signed=signed)):
        return outcomes.AUTOMATIC.of(", ".join(mark.name for mark in marks))
    reason = findings.beyond or _NO_SENDER.given(defect=letter.from_defect)
    silence = outcomes.UNATTRIBUTED if findings.beyond is None else outcomes.UNREADABLE
    # Its sender, or the envelope's where that is unclear.
    address = letter.sender or row.envelope.sender
    if not desk.strangers.may_be_answered(address, now):
        return silence.of(outcomes.UNVOUCHED.outcome)
    text = desk.letters.draft("letters/unreadable.txt", reason=reason, most=EACH)
    out = OutgoingLetter(SHORT, text, language=desk.letters.language_of(None, letter))
    desk.letters.send(address, out, now)
    return f"{silence.outcome}, answered"


def pass_on(desk: Desk, row: InboxRow, arrival: Arrival, now: datetime) -> str | None:
    """Send a letter to a role address on to the operator; returns the outcome, None if it was for somebody else."""
    if not row.envelope.for_operator:
        return None
    operator = desk.config.operator
    ours = {operator.lower(), desk.config.mail_address.lower()}
    # An operator who is reached here, perhaps by a forwarder, would get it again and again.
    round_about = was_here(arrival) or operator.lower() in {to.lower() for to in row.envelope.recipients}
    if not operator or round_about or row.envelope.sender.lower() in ours:
        return outcomes.KEPT.outcome
    attached = [("letter.eml", "application/octet-stream", row.raw)] if len(row.raw) <= _MOST else []
    facts = {
        "to": ", ".join(row.envelope.recipients),
        "sender": row.envelope.sender or "<>",
        "about": arrival.letter.subject,
        "received": row.received,
        "inbox": row.id,
        "attached": bool(attached),
    }
    to_role = Phrase("[pbem] A letter to {to}", to=facts["to"])
    passed_on = desk.letters.tell_operator(PASSED_ON, now, to_role, facts, attached=attached)
    return "passed on to the operator" if passed_on else outcomes.ENOUGH_PASSED_ON.outcome
