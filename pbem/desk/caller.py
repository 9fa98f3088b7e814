"""A caller and a reply: what the function of a command is handed, and what it gives back.

The caller is the sender of a letter, with the right by which the letter counts, as `authenticate` decides. Whether a
reply address is used up, or the same words may have their effect again, follows from a reply's outcome and from the
row of the command, never from the text of the reply. Implements protocol.md, "Identity".
"""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from pbem.games import Fault, Refused
from pbem.match.step import Signed
from pbem.match.transcript import written
from pbem.phrase import Phrase

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from datetime import datetime

    from pbem.desk.reading import Understood
    from pbem.desk.reply_tokens import MailboxProof
    from pbem.desk.seats import SeatContext
    from pbem.identity import Verdict
    from pbem.json_object import JsonObject
    from pbem.letters.draft import Enclosed, OutgoingLetter
    from pbem.mail.commands import AnyCommand, Command
    from pbem.mail.message import Letter
    from pbem.store.players import HandledRow, PlayerRow
    from pbem.store.tokens import Place, Token

    Handler = Callable[["Caller", Command[Any]], "Reply"]
    """The function of a command, with what it may touch."""


class Trust(IntEnum):
    """The right by which a letter counts, from the least."""

    STRANGER = 0
    """Nobody vouches for its sender: little is answered, and nothing that was written is repeated."""
    VOUCHED = 1
    """It is from where it says, or brings back what only its sender was told."""
    MAILBOX = 2
    """It proves the mailbox of a player without a key, or of somebody who registers."""
    KEY = 3
    """A key of its player signed it."""


class Said(IntEnum):
    """The novelty of words that were proved: said for the first time, or before."""

    NEW = 0
    SEEN = 1
    """They did, and come from their sender again."""
    REPEATED = 2
    """They did, and somebody else may have sent them again."""
    SILENT = 3
    """The same, and an answer would be one too many today: they get one only if they are obeyed now."""


class Caller(msgspec.Struct, frozen=True):
    """The sender of a letter: the address, the player if registered, and the proofs that the letter brings."""

    address: str
    player: PlayerRow | None
    verdict: Verdict
    letter: Letter
    now: datetime
    received: datetime
    """The time of arrival, which may be long before."""
    language: str
    """The language of the answer."""
    trust: Trust
    said: Said
    proof: MailboxProof | None
    """The mailbox's proof, of somebody without a key; None where none is needed, or where there is a key."""
    understood: Understood
    """The sandbox's findings about the letter."""
    tokens: tuple[Token, ...] = ()
    """Those that came back unused to us: only who reads the mail of this address can have sent the letter."""
    answers: Place | None = None
    """The place of a match in the letter to a player without a key that this one answers, perhaps not for the first
    time."""
    seen: HandledRow | None = None
    """The outcome of these words when they were said before."""
    misdated: Phrase | None = None
    """The reason why the letter's date cannot be true: then it proves nothing later."""
    quiet: bool = False
    """True if the letter bears the mark of a machine with which an answer could begin a loop."""

    @property
    def new(self) -> bool:
        """True if this is proved to be by its sender, and nobody else could have sent it before."""
        return self.trust >= Trust.MAILBOX and self.said is Said.NEW

    @property
    def repeated(self) -> bool:
        """True if somebody else may have sent these words again."""
        return self.said >= Said.REPEATED

    @property
    def waits(self) -> bool:
        """True if the key or the address is not the player's yet: then nothing but `confirm` counts.

        With such a key anybody can sign what the player is going to say.
        """
        return self.verdict.kind == "valid" and self.player is not None and self.trust is not Trust.KEY

    @property
    def words(self) -> str:
        """SHA-256 of what was signed, whatever its dress; empty where nothing was."""
        return self.understood.heard.words

    @property
    def known_player(self) -> PlayerRow:
        """The player, where only a player may give the command."""
        assert self.player is not None
        return self.player

    @property
    def again(self) -> str | None:
        """The time at which these words had an effect that they have only once; None if they had none."""
        return self.seen.time if self.seen is not None and self.seen.effect else None

    @property
    def signed(self) -> Signed:
        """The letter as one that counts for its player, at the caller's level."""
        if self.verdict.kind == "valid":
            key = self.verdict.key or ""
            return Signed(self.letter.raw, "key", key, written(self.received), pasted=self.verdict.pasted)
        assert self.proof is not None
        assert self.proof.holds
        return Signed(self.letter.raw, "mailbox", self.proof.key, written(self.received), self.proof.evidence)


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


def refused(rule: str, token: str | None, message: Phrase) -> Refused:
    """The refusal of a command for one fault."""
    return Refused(Fault(rule, token, message))
