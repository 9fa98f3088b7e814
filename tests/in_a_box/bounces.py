"""Letters that come back: what a mail server writes that could not deliver one of ours."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from in_a_box.referee import Mailbox, Referee

DSN = """From: MAILER-DAEMON@mx.example
To: {to}
Subject: Undelivered Mail Returned to Sender
Auto-Submitted: auto-replied
Content-Type: multipart/report; report-type=delivery-status; boundary="b"

--b
Content-Type: text/plain

help
--b
Content-Type: message/delivery-status

Reporting-MTA: dns; mx.example

Final-Recipient: rfc822; {lost}
Action: {action}
Status: {status}
--b--
"""


def return_path(referee: Referee, person: Mailbox) -> str:
    """That of the latest letter to a person."""
    query = "SELECT token FROM outbox WHERE recipient = ? ORDER BY id DESC"
    return f"pbem+b{referee.database.scalar(query, (person.address,))}@play.example"


def bounce(
    referee: Referee, to: str, action: str = "failed", status: str = "5.1.1", lost: str = "bob@mail.example"
) -> None:
    raw = DSN.format(to=to, action=action, status=status, lost=lost).replace("\n", "\r\n").encode()
    referee.deliver(raw, "", to)
