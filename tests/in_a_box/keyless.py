"""Players without keys at a referee in a box: their domain, which signs what they send, and their answers."""

from __future__ import annotations

import email.utils
from typing import TYPE_CHECKING

from signing.domains import Domain, rsa_key

if TYPE_CHECKING:
    from email.message import EmailMessage

HOME = Domain("mail.example", key=rsa_key(1024))
"""Everybody's, whose key is in the DNS of the desk's tests."""
SIGNED = ("from", "to", "subject", "message-id", "content-type")
"""The headers that it signs as a rule."""


def reply_to(letter: EmailMessage) -> str:
    """The address at which a letter is answered."""
    return email.utils.parseaddr(str(letter["Reply-To"] or letter["From"]))[1]
