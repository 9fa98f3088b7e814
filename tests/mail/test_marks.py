"""Marks of machines: which letters bear them, and which people's do not."""

from __future__ import annotations

import pytest

from pbem.mail.marks import Arrival, marks_of
from pbem.mail.message import read_letter

HEAD = b"From: Anna <anna@example.org>\r\nSubject: hi\r\nMessage-ID: <1@play.example>\r\n"


def marks(head: bytes = b"", sender: str = "anna@example.org", base: bytes = HEAD) -> tuple[str, ...]:
    found = read_letter(base + head + b"\r\ntext\r\n")
    return tuple(mark.name for mark in marks_of(Arrival(found, sender, "pbem@play.example", 50)))


@pytest.mark.parametrize(
    ("head", "mark"),
    [
        (b"Auto-Submitted:\r\nAuto-Submitted: auto-generated\r\n", "Auto-Submitted"),
        (b"List-Unsubscribe: <https://relay.example/u/1>\r\n", "List-Unsubscribe"),
    ],
)
def test_a_machine_is_known_by_its_headers(head: bytes, mark: str) -> None:
    assert marks(head) == (mark,)


@pytest.mark.parametrize(
    "subject",
    ["Out of Office: turn 5", "Automatic reply: turn 5", "Abwesenheitsnotiz", "Undelivered Mail Returned to Sender"],
)
def test_a_vacation_answer_is_known_by_its_subject(subject: str) -> None:
    assert marks(base=f"From: anna@example.org\r\nSubject: {subject}\r\n".encode()) == ("vacation subject",)


def test_a_machine_is_known_by_its_addresses() -> None:
    assert marks(sender="") == ("null sender",)
    for daemon in (b"MAILER-DAEMON", b"Postmaster"):
        assert marks(base=b"From: " + daemon + b"@example.org\r\n") == ("daemon",)
    for own in (b"pbem", b"PBEM", b"pbem+m1.x"):
        assert marks(base=b"From: " + own + b"@play.example\r\n") == ("own address",)
    for other in (b"pbem@mail.example", b"pbemx@play.example", b"pbem-fan@play.example", b"anna@play.example"):
        assert not marks(base=b"From: " + other + b"\r\n")


@pytest.mark.parametrize(
    "head",
    [
        b"",
        b"Auto-Submitted: no\r\n",
        b"Auto-Submitted:\r\n",
        b"Precedence: first-class\r\n",
        b"In-Reply-To: <x@play.example>\r\n",
    ],
)
def test_people_bear_no_mark(head: bytes) -> None:
    assert marks(head) == ()


def test_an_answer_to_a_report_is_no_vacation_answer() -> None:
    assert marks(base=b"From: anna@example.org\r\nSubject: Re: [pbem m17] Spaceships, turn 5\r\n") == ()
