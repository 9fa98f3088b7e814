"""A caller and an answer: what every command is given, and what it gives back.

Plain values alone; who may do what is decided in `answers.py` and beside it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pbem.match.life import Signed

if TYPE_CHECKING:
    from datetime import datetime

    from pbem.desk.clerk import Out
    from pbem.desk.mailbox import Proof
    from pbem.identity import Verdict
    from pbem.mail.compose import Attachment
    from pbem.mail.letter import Letter
    from pbem.match.life import Match
    from pbem.store.matches import MatchRow
    from pbem.store.players import PlayerRow

__all__ = ["Answer", "Caller"]


@dataclass(frozen=True, slots=True)
class Caller:
    """Who wrote, and how we know: the address, the player if registered, the verdict over the signature."""

    address: str
    player: PlayerRow | None
    verdict: Verdict
    letter: Letter
    match: int | None
    """The match whose Reply-To token the letter was sent to: proof of the player's mailbox, no more."""
    now: datetime
    language: str
    """What the answer is written in."""
    proof: Proof | None = None
    """What a letter of somebody without a key proves; None where it need not, or where there is a key."""
    waits: bool = False
    """Whether the key or the address is not the player's yet: then nothing but `confirm` counts."""

    @property
    def signed(self) -> Signed:
        """The letter as one that counts for its player, at its level."""
        if self.verdict.kind == "valid":
            return Signed(self.letter.raw, "key", self.verdict.key or "")
        assert self.proof is not None
        assert self.proof.holds
        return Signed(self.letter.raw, "mailbox", self.proof.key, self.proof.evidence)


@dataclass(slots=True)
class Answer:
    """What stands beneath the echo of a command; letters of their own go out beside the answer."""

    template: str
    facts: dict[str, Any] = field(default_factory=dict)
    attachments: list[Attachment] = field(default_factory=list)
    match: tuple[Match, MatchRow, int] | None = None
    """The match, its row and the seat, when the answer belongs into that thread."""
    letters: list[Out] = field(default_factory=list)
    reply_to: str | None = None
    """The detail of the sub-address that the answer is to be answered to, where it is not the match's."""
