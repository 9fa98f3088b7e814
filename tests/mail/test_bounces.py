"""Bounces: what a letter to a return path says of ours, in the forms that mail servers use."""

from __future__ import annotations

import pytest

from pbem.config.limits import Limits
from pbem.mail.delivery_status import SEARCHED, quoted_tokens, token
from pbem.mail.delivery_status import read_report as judge
from pbem.mail.message import read_letter

TOKEN = "0123456789abcdef0123"


def letter(text: str) -> bytes:
    return text.replace("\n", "\r\n").encode()


def dsn(action: str, status: str, *, before: str = "") -> bytes:
    return letter(
        "From: MAILER-DAEMON@mx.example\nTo: pbem+b@play.example\nSubject: Undelivered Mail\nMIME-Version: 1.0\n"
        'Content-Type: multipart/report; report-type=delivery-status; boundary="b"\n\n'
        "--b\nContent-Type: text/plain\n\nsorry\n"
        "--b\nContent-Type: message/delivery-status\n\n"
        f"Reporting-MTA: dns; mx.example\nArrival-Date: Sun, 1 Mar 2026 12:00:00 +0000\n\n{before}"
        f"Final-Recipient: rfc822; bob@mail.example\nAction: {action}\nStatus: {status}\n"
        "Diagnostic-Code: smtp; 550 5.1.1 no such user\n"
        "--b\nContent-Type: message/rfc822\n\nSubject: turn 4.4.4\n\nAction: delayed\n--b--\n"
    )


DELIVERED = "Final-Recipient: rfc822; ann@mail.example\nAction: delivered\nStatus: 2.0.0\n\n"


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        (dsn("failed", "5.1.1"), ("permanent", "5.1.1")),
        (dsn("Failed (no way)", "5.1.1 (bad)"), ("permanent", "5.1.1")),
        (dsn("failed", "4.4.7"), ("permanent", "4.4.7")),
        (dsn("delayed", "4.4.1"), ("temporary", "4.4.1")),
        (dsn("relayed", "2.0.0"), ("unclear", "2.0.0")),
        (dsn("", "5.0.0"), ("permanent", "5.0.0")),
        (dsn("", "4.0.0"), ("temporary", "4.0.0")),
        (dsn("", "2.0.0"), ("unclear", "2.0.0")),
        (dsn("", "x"), ("unclear", "")),
        (dsn("failed", "").replace(b"Status: \r\n", b""), ("permanent", "")),
        (dsn("nonsense", "x"), ("unclear", "")),
        (dsn("failed", "5.1.1", before=DELIVERED), ("permanent", "5.1.1")),
    ],
)
def test_a_delivery_status_notification(raw: bytes, expected: tuple[str, str]) -> None:
    bounce = judge(read_letter(raw))
    assert (bounce.kind, bounce.status) == expected


QMAIL = """From: MAILER-DAEMON@mx.example
Subject: failure notice

Hi. This is the qmail-send program at mx.example.
I'm afraid I wasn't able to deliver your message to the following addresses.
This is a permanent error; I've given up. Sorry it didn't work out.

<bob@mail.example>:
Sorry, no mailbox here by that name. (#5.1.1)
"""
EXIM = """From: Mail Delivery System <Mailer-Daemon@mx.example>
X-Failed-Recipients: bob@mail.example
Subject: Mail delivery failed: returning message to sender

This message was created automatically by mail delivery software.
"""
SLOW = """From: Mail Delivery System <MAILER-DAEMON@mx.example>
Subject: Warning: could not send message for past 4 hours

    **********************************************
    **      THIS IS A WARNING MESSAGE ONLY      **
    **  YOU DO NOT NEED TO RESEND YOUR MESSAGE  **
    **********************************************

The original message was received at Sun, 1 Mar 2026 12:00:00 +0000

   ----- The following addresses had transient non-fatal errors -----
<bob@mail.example>
"""
VACATION = """From: bob@mail.example
Subject: Out of office
Auto-Submitted: auto-replied (vacation)
X-Failed-Recipients: bob@mail.example

I am away.
"""


@pytest.mark.parametrize(
    ("text", "kind"), [(QMAIL, "permanent"), (EXIM, "permanent"), (SLOW, "temporary"), (VACATION, "unclear")]
)
def test_older_forms(text: str, kind: str) -> None:
    assert judge(read_letter(letter(text))).kind == kind


@pytest.mark.parametrize("depth", [1, 2000])
def test_no_bounce_raises(depth: int) -> None:
    assert judge(read_letter(b"Content-Type: message/rfc822\r\n\r\n" * depth + b"x")).kind == "unclear"


def test_a_hostile_bounce_is_read_up_to_a_bound() -> None:
    flood = b"Subject: x\r\n\r\n" + b"<" * 60_000 + b"\r\nX-Failed-Recipients: bob@mail.example\r\n"
    assert judge(read_letter(flood)).kind == "unclear"
    head, limits = b"X-Failed-Recipients: bob@mail.example\r\nContent-Type: ", Limits(parts=100)
    for kind, line in ((b"multipart/mixed; boundary=b", b"--b\r\n\r\nx"), (b"text/plain", b"Content-Type: x")):
        for count, found in ((63, "permanent"), (64, "unclear")):
            raw = head + kind + b"\r\n\r\n" + (line + b"\r\n") * count
            assert judge(read_letter(raw, limits)).kind == found


OTHER = "f" * 20
BACK = f"From: x@mx.example\nSubject: no\nX-Pbem-Return: {OTHER}\n{{}}\n\n"


@pytest.mark.parametrize(
    ("text", "sender", "found"),
    [
        (f"> X-Pbem-Return: {TOKEN}\n", "", [TOKEN]),
        (f" x-pbem-return:{TOKEN} \nX-Pbem-Return: {TOKEN}\n", "", [TOKEN]),
        (f"X-Pbem-Return: {TOKEN}\nX-Pbem-Return: {TOKEN[::-1]}\n", "", [TOKEN, TOKEN[::-1]]),
        ("".join(f"X-Pbem-Return: {at:020}\n" for at in range(20)), "", [f"{at:020}" for at in range(10)]),
        (f"X-Pbem-Return: {TOKEN}\n", "bob@mail.example", []),
        (f"X-Pbem-Return: {OTHER}\n", "", []),
        (f"X-Pbem-Return: {TOKEN}0\n", "", []),
        (f"my X-Pbem-Return: {TOKEN}\n", "", []),
        ("x" * SEARCHED + f"\nX-Pbem-Return: {TOKEN}\n", "", []),
    ],
)
def test_the_header_by_which_a_bounce_is_recognised(text: str, sender: str, found: list[str]) -> None:
    """Only a machine's word: it has no sender, or is a report; and not its own header."""
    limits = Limits(message_bytes=1 << 20, line_bytes=1 << 20)
    assert quoted_tokens(read_letter(letter(BACK.format("X: y") + text), limits), sender) == found
    report = read_letter(letter(BACK.format("Content-Type: multipart/report; boundary=b") + text), limits)
    if sender:
        assert quoted_tokens(report, sender) == [TOKEN]
    else:
        assert quoted_tokens(report, "") == found


@pytest.mark.parametrize(
    "recipient",
    [
        "pbem@play.example",
        "pbem+m1.0123456789abcdef@play.example",
        f"pbem+b{TOKEN}@other.example",
        f"pbem+b{TOKEN}0@play.example",
        "pbem+b17@play.example",
    ],
)
def test_other_addresses_are_no_return_path(recipient: str) -> None:
    assert token([recipient], "pbem@play.example", "+") is None


def test_a_return_path_is_known_in_any_case() -> None:
    assert token(["pbem@play.example", f"PBEM+B{TOKEN.upper()}@Play.Example"], "pbem@play.example", "+") == TOKEN
