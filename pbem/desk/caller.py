"""A caller: the sender of a letter, and the right by which the letter counts, as `authenticate` decides.

Only plain values live here; `dispatch` decides who may do what. Implements protocol.md, "Identity".
"""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING

import msgspec

from pbem.games import Fault, Refused
from pbem.match.step import Signed
from pbem.match.transcript import written

if TYPE_CHECKING:
    from datetime import datetime

    from pbem.desk.reading import Understood
    from pbem.desk.reply_tokens import MailboxProof
    from pbem.identity import Verdict
    from pbem.mail.message import Letter
    from pbem.phrase import Phrase
    from pbem.store.players import HandledRow, PlayerRow
    from pbem.store.tokens import Place, Token


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
    def keyless(self) -> bool:
        """True for a player without a key."""
        return self.player is not None and self.player.level == "mailbox"

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


def refused(rule: str, token: str | None, message: Phrase) -> Refused:
    """The refusal of a command for one fault."""
    return Refused(Fault(rule, token, message))
