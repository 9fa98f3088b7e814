"""A reply: what one command gives back, and its outcome.

Whether a reply address is used up, or the same words may have their effect again, follows from the outcome and from
the row of the command in the table, never from the text of the reply.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import msgspec

from pbem.games import Fault
from pbem.phrase import Phrase

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from pbem.desk.caller import Caller
    from pbem.desk.seats import SeatContext
    from pbem.json_object import JsonObject
    from pbem.letters.draft import Enclosed, OutgoingLetter
    from pbem.mail.commands import AnyCommand, Command

    Handler = Callable[[Caller, Command[Any]], "Reply"]
    """The function of a command, with what it may touch."""

Outcome = Literal["done", "asked", "unplaced", "refused", "again"]
"""The outcome of a command: it was obeyed; something is asked first that its writer must send; its place is missing,
and the whole sentence goes back; it was refused; or the same was said before, and changes nothing."""


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


SHORT = Phrase("[pbem] Your letter")
"""The subject of an answer that repeats nothing."""

NOT_REGISTERED = Phrase("your address is not registered here; write `help register`")

IN_YOUR_NAME = Phrase(
    "so many such letters came in your name that somebody else may have written them. Answer this letter with your"
    " command: only somebody who reads your mail can do that"
)

NOT_TO_BE_ASKED = Phrase("no player is called {name}, or {name} wants no mail about new matches")
"""Both alike: who wanted to hear no more is not to be found by asking. Its fact: the name."""


def refusal(command: AnyCommand, message: Phrase, reply_to: str | None = None) -> Reply:
    """A refusal that undoes nothing, not even what was counted."""
    faults = [Fault(command.name, None, message)]
    facts = {"faults": faults, "shift": 0, "command": command, "form": None, "stands": False}
    return Reply("refused", facts, reply_to=reply_to, outcome="refused")
