"""Outcomes: the reply to a command, and the table of silences, with the reason why each is right.

Whether a reply address is used up, or the same words may have their effect again, follows from a reply's outcome and
from the row of the command, never from its text. An outcome of a letter that is none of the silences has an answer,
or else it is a defect: a test walks over them. docs/operating.md shows them to operators. Implements reliability.md,
cases 28 and 28b.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import msgspec

from pbem.games import Fault
from pbem.phrase import Phrase

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from contextlib import AbstractContextManager

    from pbem.desk.caller import Caller
    from pbem.desk.seats import SeatContext
    from pbem.json_object import JsonObject
    from pbem.letters.draft import Enclosed, OutgoingLetter
    from pbem.mail.commands import AnyCommand, Command

    Handler = Callable[[Caller, Command[Any]], "Reply"]
    """The function of a command, with what it may touch."""

    Decision = Callable[[], AbstractContextManager[None]]
    """Opens a decision, or a part of the open one: if the block raises, nothing of it is left."""

Outcome = Literal["done", "declined", "asked", "unplaced", "refused", "again"]
"""The outcome of a command: it was obeyed; it declines a seat, and enters nothing; something is asked first that its
writer must send; its place is missing, and the whole sentence goes back; it was refused; or the same was said before,
and changes nothing."""


SHORT = Phrase("[pbem] Your letter")
"""The subject of an answer that repeats nothing."""

NOT_REGISTERED = Phrase("your address is not registered here; write `help register`")

OTHER_ADDRESS = Phrase(
    "you answered a letter that went to another address, and your answer counts only from there. Players with a key"
    " may have several addresses: see `help keys`"
)
"""The refusal of an answer from a mailbox that is not the one we wrote to."""

IN_YOUR_NAME = Phrase(
    "so many such letters came in your name that somebody else may have written them. Answer this letter with your"
    " command: only somebody who reads your mail can do that"
)

NOT_TO_BE_ASKED = Phrase("no player is called {name}, or {name} wants no mail about new matches")
"""Both alike: who wanted to hear no more is not to be found by asking. Its fact: the name."""


class Reply(msgspec.Struct):
    """The answer below the echo of a command; separate letters may go out with it."""

    template: str
    facts: Mapping[str, Any] = msgspec.field(default_factory=dict)
    attachments: Sequence[Enclosed] = ()
    at: SeatContext | None = None
    """The seat in a match, when the answer belongs into that thread."""
    letters: list[OutgoingLetter] = msgspec.field(default_factory=list)
    reply_to: str | None = None
    """The sub-address that the answer is to be answered to, where it is not the match's."""
    outcome: Outcome = "done"
    open: bool = False
    """True if it holds nothing that only its reader may know, and is needed by somebody who cannot decrypt."""
    items: Sequence[JsonObject] = ()
    """The bulletin's items beside the outcome, for programs."""


def refusal(command: AnyCommand, message: Phrase, reply_to: str | None = None) -> Reply:
    """A refusal that undoes nothing, not even what was counted."""
    faults = [Fault(command.name, None, message)]
    facts = {"faults": faults, "shift": 0, "command": command, "form": None, "stands": False}
    return Reply("refused", facts, reply_to=reply_to, outcome="refused")


class Silence(NamedTuple):
    """One row: the outcome, as `pbem inbox list` shows it, and why nothing is answered."""

    outcome: str
    why: str
    informed: str
    """The people who learn of the letter nevertheless, and how."""

    def of(self, detail: object) -> str:
        """The outcome of one letter, with a detail."""
        return f"{self.outcome}: {detail}"


KEPT = Silence("to the operator, kept", "the operator's own letter, or one that would come back here", "the inbox")
ENOUGH_PASSED_ON = Silence("to the operator, one too many", "the day's limit of such letters", "the inbox")
OWN = Silence("our own letter", "a letter of this server came round, by its keyed mark", "nobody")
BOUNCE = Silence("bounce", "machines read return paths", "operator and opponents, if a player is cut off by it")
AUTOMATIC = Silence("automatic", "two machines would write to each other for ever", "nobody")
UNREADABLE = Silence("unreadable", "the day's limit of short answers, which each names", "nobody")
UNATTRIBUTED = Silence("no sender", "there is nobody to answer, or the day's limit is reached", "nobody")
BAD_SIGNATURE = Silence("signature", "the day's limit of notices, which the last one names", "the registered address")
UNVOUCHED = Silence("nobody vouches for the sender", "the day's limit of short answers, which each names", "nobody")
NEW_MAILBOX = Silence("one mailbox too many", "the day's limit of its domain's new mailboxes", "whoever writes again")
TOO_MANY = Silence(
    "too many unsigned letters today", "the day's limit, which a letter named", "the address, once a day"
)
SAID_BEFORE = Silence("said before", "somebody repeats a player's words, and is over the day's limit", "nobody")
CAME_TWICE = Silence("came twice", "the same octets came in the same second, and were answered", "nobody again")
STOP = Silence("stop, unproved", "the address was asked this week, or wants no mail", "the address, once a week")
CHANGES_NOTHING = Silence("changes nothing", "the day's limit, which the last answer names", "the sender, once a day")
SAME_WORDS = Silence("the same words", "the day's limit, which the last answer names", "the sender, once a day")
QUIET = Silence("obeyed", "a machine's mark stands on a letter that a key signed", "the players whom it concerns")
