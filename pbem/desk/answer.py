"""A caller and an answer: what every command is given, and what it gives back.

Plain values alone; who may do what is decided in `answers.py` and beside it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pbem.games import Fault
from pbem.match.life import Signed
from pbem.match.transcript import written
from pbem.phrase import Phrase

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from pbem.desk.mailbox import Proof
    from pbem.desk.out import Enclosed, Out
    from pbem.identity import Verdict
    from pbem.mail.commands import Command
    from pbem.mail.letter import Letter
    from pbem.match.life import Match
    from pbem.store.matches import MatchRow
    from pbem.store.players import HandledRow, PlayerRow
    from pbem.store.tokens import Token

__all__ = ["IN_YOUR_NAME", "NOT_TO_BE_ASKED", "Answer", "Caller", "refusal"]


@dataclass(frozen=True, slots=True)
class Caller:
    """Who wrote, and how we know: the address, the player if registered, the verdict over the signature."""

    address: str
    player: PlayerRow | None
    verdict: Verdict
    letter: Letter
    now: datetime
    received: datetime
    """When the letter was received, which may be long before."""
    language: str
    """What the answer is written in."""
    proof: Proof | None = None
    """What a letter of somebody without a key proves; None where it need not, or where there is a key."""
    words: str = ""
    """SHA-256 of what was signed, whatever its dress; empty where nothing was."""
    waits: bool = False
    """Whether the key or the address is not the player's yet: then nothing but `confirm` counts."""
    tokens: tuple[Token, ...] = ()
    """Those that came back unused to us: only who reads the mail of this address can have sent the letter."""

    short: bool = False
    """Whether nobody vouches for the address: then little is answered, and nothing that was written is repeated."""

    repeated: bool = False
    """Whether these words were signed and said before, and somebody else may have sent them again."""
    seen: HandledRow | None = None
    """What became of these words when they were said before."""

    @property
    def signed(self) -> Signed:
        """The letter as one that counts for its player, at its level."""
        if self.verdict.kind == "valid":
            return Signed(self.letter.raw, "key", self.verdict.key or "", received=written(self.received))
        assert self.proof is not None
        assert self.proof.holds
        return Signed(self.letter.raw, "mailbox", self.proof.key, self.proof.evidence, written(self.received))


@dataclass(slots=True)
class Answer:
    """What stands beneath the echo of a command; letters of their own go out beside the answer."""

    template: str
    facts: dict[str, Any] = field(default_factory=dict)
    attachments: Sequence[Enclosed] = ()
    match: tuple[Match, MatchRow, int] | None = None
    """The match, its row and the seat, when the answer belongs into that thread."""
    letters: list[Out] = field(default_factory=list)
    reply_to: str | None = None
    """The sub-address that the answer is to be answered to, where it is not the match's."""


IN_YOUR_NAME = Phrase(
    "so many such letters came in your name that somebody else may have written them. Answer this letter with your"
    " command: only who reads your mail can do that"
)

NOT_TO_BE_ASKED = Phrase("no player is called {name}, or {name} wants no mail about new matches")
"""Both alike: who wanted to hear no more is not to be found by asking. Its fact: the name."""


def refusal(command: Command, message: Phrase, reply_to: str | None = None) -> Answer:
    """A refusal that undoes nothing, not even what was counted."""
    facts = {"faults": [Fault(command.name, None, message)], "shift": 0, "command": command}
    return Answer("refused", facts, reply_to=reply_to)
