"""A letter to postmaster or abuse is the operator's: passed on as it came, and nobody's command."""

from __future__ import annotations

import pytest
from in_a_box.referee import SERVER, Mailbox, Referee, sent_from

from pbem.store.inbox import Envelope


def come(referee: Referee, to: tuple[str, ...], text: str = "Your server writes to me.\n") -> bytes:
    eve = referee.person("eve")
    raw = referee.raw(eve, text, subject="spam", headers=sent_from(eve.address))
    referee.inbox.put(Envelope(eve.address, to), raw, referee.now)
    referee.work()
    return raw


@pytest.mark.parametrize("role", ["postmaster", "abuse", "PostMaster"])
def test_it_is_passed_on_as_it_came(referee: Referee, operator: Mailbox, role: str) -> None:
    raw = come(referee, (f"{role}@{SERVER}",))
    (letter,) = operator.letters
    assert letter["Subject"] == f"[pbem] A letter to {role}@{SERVER}"
    assert "eve@mail.example" in operator.text
    assert "subject    spam" in operator.text
    (attached,) = letter.iter_attachments()
    assert attached.get_payload(decode=True) == raw
    assert not referee.people["eve@mail.example"].letters


def test_a_letter_to_the_referee_too_is_read_as_any_other(referee: Referee, operator: Mailbox) -> None:
    come(referee, (f"postmaster@{SERVER}", f"pbem@{SERVER}"), "games\n")
    assert not operator.letters
    assert "spaceships" in referee.people["eve@mail.example"].text


@pytest.mark.parametrize("message_id", [b"", b"Message-ID: <1@club.example>\r\n"])
def test_an_operator_whose_mail_is_forwarded_here_gets_each_once(
    referee: Referee, operator: Mailbox, message_id: bytes
) -> None:
    """Its return path has a token of ours, or the forwarder's; some write a Message-ID of their own."""
    come(referee, (f"abuse@{SERVER}",))
    raw = operator.letters.came[-1]
    if message_id:
        raw = message_id + b"\r\n".join(line for line in raw.split(b"\r\n") if not line.startswith(b"Message-ID"))
    for sender in (f"pbem+b{'0' * 20}@{SERVER}", "list-bounces@club.example"):
        referee.inbox.put(Envelope(sender, (f"postmaster@{SERVER}",)), raw, referee.now)
        referee.work()
    assert len(operator.letters) == 1


def test_a_long_one_is_not_attached(referee: Referee, operator: Mailbox) -> None:
    come(referee, (f"postmaster@{SERVER}",), ("x" * 70 + "\n") * 16_000)
    (letter,) = operator.letters
    assert not list(letter.iter_attachments())
    assert "pbem inbox show" in operator.text
