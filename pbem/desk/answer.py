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
    waits: bool = False
    """Whether the key or the address is not the player's yet: then nothing but `confirm` counts."""

    @property
    def signed(self) -> Signed:
        """The letter as a signed one."""
        return Signed(self.letter.raw, "key", self.verdict.key or "")


@dataclass(slots=True)
class Answer:
    """What stands beneath the echo of a command; letters of their own go out beside the answer."""

    template: str
    facts: dict[str, Any] = field(default_factory=dict)
    attachments: list[Attachment] = field(default_factory=list)
    match: tuple[Match, MatchRow, int] | None = None
    """The match, its row and the seat, when the answer belongs into that thread."""
    letters: list[Out] = field(default_factory=list)
