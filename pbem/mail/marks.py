"""Marks of machines: signs that no person wrote a letter (RFC 3834 2), and which proof lifts each of them.

One table: a mark decides at most that nothing is *answered*, never that a person is unheard. `pbem/desk/sorting.py`
applies it, after the signature was judged. No sockets, no store. Implements reliability.md, case 28.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pbem.mail.message import Letter

VACATION = re.compile(
    r"\s*(?:auto(?:matic)?[ -]?(?:reply|response|answer)|auto(?:mated)?:|out of (?:the )?office|on vacation"
    r"|automatische antwort|abwesenheits\w*|abwesend|r[eé]ponse automatique|absence|risposta automatica"
    r"|respuesta autom[aá]tica|automatisch antwoord|undeliver(?:ed|able)|delivery status notification"
    r"|mail delivery failed|returned mail|failure notice)\b",
    re.IGNORECASE,
)
_WORD_END = re.compile(r"[;(\s]")


class Arrival(NamedTuple):
    """A letter as it arrived here."""

    letter: Letter
    sender: str
    """The envelope's."""
    address: str
    """That of this server's mailbox."""
    hops: int
    """The most Received headers of a letter that travels straight."""


class Mark(NamedTuple):
    """One sign of a machine."""

    name: str
    holds: Callable[[Arrival], bool]
    lifted_by: Literal["command", "mailbox", "key"]
    """The least that shows a person all the same: a command in the text; a command at a live reply address, for which
    the mailbox's provider vouches; or new words signed by a player's key."""
    answered: bool = False
    """True if an answer cannot begin a loop, once the mark is lifted."""


def _first_words(letter: Letter, name: str) -> set[str]:
    return {_WORD_END.split(value.strip(), maxsplit=1)[0].lower() for value in letter.values(name)}


def _is_own(sender: str, address: str) -> bool:
    """True if a letter claims to come from the mailbox that received it, or from a sub-address of it."""
    local, _, domain = sender.lower().rpartition("@")
    mailbox, _, host = address.lower().rpartition("@")
    return domain == host and (local == mailbox or local.startswith((f"{mailbox}+", f"{mailbox}-")))


def _has(*names: str) -> Callable[[Arrival], bool]:
    return lambda at: any(at.letter.values(name) for name in names)


MARKS = (
    Mark("own address", lambda at: _is_own(at.letter.sender or "", at.address), "key"),
    Mark("null sender", lambda at: at.sender in {"", "<>"}, "mailbox"),
    # RFC 3834 5; an empty one says nothing.
    Mark("Auto-Submitted", lambda at: not _first_words(at.letter, "auto-submitted") <= {"no", ""}, "key"),
    Mark("answering machine", _has("x-autoreply", "x-autorespond", "x-auto-reply"), "key"),
    Mark(
        "own loop mark",
        lambda at: any(at.address.lower() in value.lower() for value in at.letter.values("x-loop")),
        "key",
    ),
    Mark(
        "report",
        lambda at: at.letter.root.content_type in {"multipart/report", "message/delivery-status"},
        "mailbox",
    ),
    Mark(
        "daemon",
        lambda at: (at.letter.sender or at.sender).partition("@")[0].lower() in {"mailer-daemon", "postmaster"},
        "mailbox",
    ),
    Mark("too many hops", lambda at: at.letter.hops > at.hops, "mailbox"),
    Mark("mailing list", _has("list-id", "list-post"), "mailbox", answered=True),
    Mark(
        "Precedence",
        lambda at: not _first_words(at.letter, "precedence").isdisjoint({"bulk", "list", "junk"}),
        "mailbox",
        answered=True,
    ),
    # Relays add it to what people write, too.
    Mark("List-Unsubscribe", _has("list-unsubscribe"), "command", answered=True),
    Mark("vacation subject", lambda at: VACATION.match(at.letter.subject) is not None, "command", answered=True),
)


def marks_of(arrival: Arrival) -> Sequence[Mark]:
    """The marks that a letter bears; none of most people's."""
    return tuple(mark for mark in MARKS if mark.holds(arrival))
