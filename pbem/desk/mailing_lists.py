"""Letters that come without each being asked for, as lists (RFC 2919), and how to leave a list (RFC 2369).

A mail program leaves a list with one click: it sends a letter with our subject, with an empty text or a sentence of
its own, to an address that was mailed only to that mailbox and is good for one letter. Such a letter may leave a
list and do nothing else, for players with keys as well. Implements protocol.md, "Commands" (`set`, `unobserve`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pbem.mail.commands import AnyCommand, parse
from pbem.mail.compose import MailingList
from pbem.requests import Choose, Unobserve

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pbem.store.tokens import Token

REMINDERS = MailingList("reminders", "set reminders off")
DIGESTS = MailingList("digest", "set mail each")


def observers_of(match: str) -> MailingList:
    """The letters that observers of a match get."""
    return MailingList(f"{match}.observers", f"unobserve {match}")


def may_leave(tokens: Iterable[Token], command: AnyCommand) -> bool:
    """True if a command leaves a list, in a letter to an address with one of these tokens."""
    return any(token.purpose == "write" for token in tokens) and _leaves(command)


def asked_by_subject(subject: str) -> list[AnyCommand]:
    """The command by which a subject leaves a list."""
    found = parse(subject).commands
    return found if len(found) == 1 and _leaves(found[0]) else []


def _leaves(command: AnyCommand) -> bool:
    if command.faults:
        return False
    request = command.request
    chosen = f"set {request.name} {request.value}" if isinstance(request, Choose) else ""
    return isinstance(request, Unobserve) or chosen in {REMINDERS.leave, DIGESTS.leave}
