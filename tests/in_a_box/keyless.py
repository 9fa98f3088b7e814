"""Players without keys at a referee in a box: their domain, which signs what they send, and their answers."""

from __future__ import annotations

import email.utils
from itertools import count
from typing import TYPE_CHECKING

from in_a_box.referee import SERVER
from signing.domains import Domain, rsa_key

if TYPE_CHECKING:
    from email.message import EmailMessage

    from in_a_box.referee import Mailbox, Referee

PBEM = f"pbem@{SERVER}"
HOME = Domain("mail.example", key=rsa_key(1024))
"""Everybody's, whose key is in the DNS of the desk's tests."""
SIGNED = ("from", "to", "subject", "message-id", "content-type")
"""The headers that it signs as a rule."""


def reply_to(letter: EmailMessage) -> str:
    """The address at which a letter is answered."""
    return email.utils.parseaddr(str(letter["Reply-To"] or letter["From"]))[1]


_NUMBERS = count(1)


def craft(text: str, *heads: str, sender: str = "ann <ann@mail.example>", to: str = PBEM) -> bytes:
    """A letter with these headers beside the usual ones; a header named here stands in place of the usual one."""
    usual = {
        "From": sender,
        "To": to,
        "Subject": "orders",
        "Message-ID": f"<{next(_NUMBERS)}@mua.mail.example>",
        "Content-Type": "text/plain; charset=utf-8",
    }
    named = {head.partition(":")[0] for head in heads}
    lines = [f"{name}: {value}" for name, value in usual.items() if name not in named]
    return "\r\n".join([*lines, *heads, "", *text.split("\n")]).encode()


def answer(
    referee: Referee,
    person: Mailbox,
    text: str,
    *heads: str,
    letter: EmailMessage | None = None,
    envelope: str | None = None,
) -> None:
    """Answer a letter, the latest by default, or write the first one; the sender's domain signs it."""
    letter = letter or (person.last if person.letters else None)
    to = reply_to(letter) if letter else PBEM
    if not any(head.startswith("Subject:") for head in heads):
        heads = (f"Subject: Re: {letter['Subject'] if letter else ''}", *heads)
    raw = craft(text, *heads, sender=f"{person.name} <{person.address}>", to=to)
    referee.deliver(HOME.craft(raw, headers=SIGNED), person.address if envelope is None else envelope, to)


def registered(referee: Referee, name: str) -> Mailbox:
    """A player without a key, who answered the first letter."""
    person = referee.person(name)
    for _ in range(2):
        answer(referee, person, f"register {name}\n")
    assert referee.desk.players.level(name) == "mailbox"
    return person
