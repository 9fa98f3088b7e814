"""A caller: who wrote a letter, and by which right, as `authenticate` found out.

Only plain values live here; `dispatch` decides who may do what. Implements protocol.md, "Identity".
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from pbem.match.signed import Signed
from pbem.match.transcript import written

if TYPE_CHECKING:
    from datetime import datetime

    from pbem.desk.reply_tokens import Proof
    from pbem.identity import Verdict
    from pbem.mail.message import Letter
    from pbem.phrase import Phrase
    from pbem.store.players import HandledRow, PlayerRow
    from pbem.store.tokens import Place, Token

__all__ = ["Caller"]


class Caller(msgspec.Struct, frozen=True):
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
    answers: Place | None = None
    """Where a match stood in the letter to a player without a key that this one answers, perhaps not for the first
    time."""

    short: bool = False
    """Whether nobody vouches for the address: then little is answered, and nothing that was written is repeated."""

    repeated: bool = False
    """Whether these words were signed and said before, and somebody else may have sent them again."""
    silent: bool = False
    """Whether an answer to such words would be one too many today: they get one only if they are obeyed now."""
    seen: HandledRow | None = None
    """What became of these words when they were said before."""
    misdated: Phrase | None = None
    """Why the date of the letter cannot be true: then it proves nothing later."""

    @property
    def new(self) -> bool:
        """Whether this is proved to be by its sender, and nobody else could have sent it before."""
        # By a key that is not the player's yet anybody can sign what the player is going to say.
        signed = self.verdict.kind == "valid" and not self.waits and bool(self.words)
        return (signed and self.seen is None) or (
            self.proof is not None and self.proof.holds and self.proof.again is None
        )

    @property
    def signed(self) -> Signed:
        """The letter as one that counts for its player, at the caller's level."""
        if self.verdict.kind == "valid":
            key = self.verdict.key or ""
            return Signed(self.letter.raw, "key", key, received=written(self.received), pasted=self.verdict.pasted)
        assert self.proof is not None
        assert self.proof.holds
        return Signed(self.letter.raw, "mailbox", self.proof.key, self.proof.evidence, written(self.received))
