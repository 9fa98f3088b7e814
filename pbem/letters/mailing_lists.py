"""Letters that come without each being asked for are lists (RFC 2919), which their readers may leave.

A mail program leaves one with one click (RFC 2369), by a letter with our subject to an address that was mailed only
to that mailbox. Such a letter may leave a list and do nothing else, for players with keys as well.
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


def of_observers(match: str) -> MailingList:
    """The letters that observers of a match get."""
    return MailingList(f"{match}.observers", f"unobserve {match}")


def may_leave(tokens: Iterable[Token], command: AnyCommand) -> bool:
    """True if a command leaves a list, in a letter to an address with one of these tokens."""
    return any(token.purpose == "write" for token in tokens) and _leaves(command)


def left_by_subject(subject: str) -> list[AnyCommand]:
    """The command by which a subject leaves a list."""
    found = parse(subject).commands
    return found if len(found) == 1 and _leaves(found[0]) else []


def _leaves(command: AnyCommand) -> bool:
    if command.faults:
        return False
    request = command.request
    chosen = f"set {request.name} {request.value}" if isinstance(request, Choose) else ""
    return isinstance(request, Unobserve) or chosen in {REMINDERS.leave, DIGESTS.leave}
