"""Role addresses: a letter to postmaster or abuse is for the operator, and goes there as it came.

Such a letter is no command, whoever wrote it, and nobody answers it. Implements RFC 2142 and RFC 5321, 4.5.1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pbem.desk import silences
from pbem.desk.alarms import tell_operator
from pbem.desk.daily_limits import PASSED_ON
from pbem.mail.marks import was_here
from pbem.phrase import Phrase

if TYPE_CHECKING:
    from datetime import datetime

    from pbem.desk.wiring import Desk
    from pbem.mail.marks import Arrival
    from pbem.store.inbox import InboxRow

_MOST = 1024 * 1024
"""The most octets of a letter that are attached; of a longer one the operator is told where it is."""


def pass_on(desk: Desk, row: InboxRow, arrival: Arrival, now: datetime) -> str | None:
    """Send a letter to a role address on to the operator; returns the outcome, None if it was for somebody else."""
    if not row.envelope.for_operator:
        return None
    operator = desk.config.operator
    ours = {operator.lower(), desk.config.mail_address.lower()}
    # An operator who is reached here, perhaps by a forwarder, would get it again and again.
    round_about = was_here(arrival) or operator.lower() in {to.lower() for to in row.envelope.recipients}
    if not operator or round_about or row.envelope.sender.lower() in ours:
        return silences.KEPT.outcome
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
    passed_on = tell_operator(desk, PASSED_ON, now, to_role, facts, attached=attached)
    return "passed on to the operator" if passed_on else silences.ENOUGH_PASSED_ON.outcome
