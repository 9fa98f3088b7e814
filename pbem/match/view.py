"""The view of a match: how it stands for a reader, said in one place for letters, pages, programs and the operator.

A bulletin has a view as JSON, and a player's program decodes the same type. Its values go into forms that the player
signs, into addresses, and onto the terminal: an item of another form is not believed, whoever signed it, and no text
may hold more than its line. Pure. Implements docs/attachments.md, "`about`: `match`".
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import msgspec

from pbem.games import GAMES, rules
from pbem.match.events import silence
from pbem.match.events.endings import agreeing
from pbem.match.state import AGREEING, PHASES, Count, Ended, MatchOutcome
from pbem.match.transcript import is_time, written
from pbem.phrase import Phrase

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pbem.match.state import Match
    from pbem.match.terms import Terms

OVER = frozenset({"closed", "declined", "withdrawn"})
"""The phases after which nothing comes."""

Word = Annotated[str, msgspec.Meta(pattern=r"\A[!-~]{0,200}\Z")]
Hash = Annotated[str, msgspec.Meta(pattern=r"\A[0-9a-f]{64}\Z")]
Number = Annotated[int, msgspec.Meta(ge=1, le=10**9)]


class TranscriptHead(msgspec.Struct, frozen=True):
    """A head of the transcript, as the server signed it."""

    seq: Count
    head: Hash
    signature: Annotated[str, msgspec.Meta(pattern=r"\A[0-9a-f]{128}\Z")]


class MatchView(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The view of a match for one of its seats, or for the public, which has seat 0."""

    match: Annotated[str, msgspec.Meta(pattern=r"\Am[1-9][0-9]{0,8}\Z")]
    rules: Word
    phase: Annotated[str, msgspec.Meta(pattern=rf"\A({'|'.join(PHASES)})\Z")]
    paused: bool
    game: Count
    turn: Count
    seat: Annotated[int, msgspec.Meta(ge=1, le=99)]
    player: Word
    players: list[Word | None]
    programs: list[Count]
    """The seats of players who said that they are programs."""
    asked: bool
    claim: bool
    miss: Annotated[str, msgspec.Meta(pattern=r"\A[a-z ]{0,20}\Z")]
    deadline: Word | None
    accepted: bool
    agreement: dict[str, Any] | None
    hash: Hash
    prev: Hash
    rev: Number
    said: dict[Word, Count]
    offers: list[Word]
    """What others offer; a draw, if all who remain would share it."""
    ended: list[Ended]
    outcome: MatchOutcome | None
    head: TranscriptHead | None
    generation: Number
    """The number of times that the server was restored from a backup, plus one."""
    restored: Count
    """The last entry that tells of a restored backup; 0 if none does."""
    address: Word
    """Where letters about the match are sent."""
    sealed: bool = False
    revealing: bool = False
    """True if a sealed game is over, and secrets are being revealed."""
    tournament: Word | None = None

    def __post_init__(self) -> None:
        if self.seat > len(self.players):
            raise ValueError("there is no such seat")
        if self.deadline is not None and not is_time(self.deadline):
            raise ValueError("its deadline is no time")
        if self.outcome is not None and max(self.outcome.winners, default=0) > len(self.players):
            raise ValueError("nobody can have won so")

    @property
    def seq(self) -> int:
        """The number of the last entry, 0 before the first."""
        return self.head.seq if self.head else 0

    @property
    def reveals(self) -> bool:
        """True if this player's secrets of a sealed game are asked for."""
        return self.revealing and self.asked and not self.paused

    @property
    def title(self) -> str:
        """The name of the game; its code if it is not played here."""
        return rules(self.rules).title if self.rules in GAMES else self.rules

    @property
    def names(self) -> dict[int, str]:
        """The players by seat, or that a seat is still free."""
        return {seat: name or Phrase("(free)") for seat, name in enumerate(self.players, start=1)}

    @property
    def totals(self) -> list[int]:
        """Each seat's scores of the finished games, added up."""
        return [sum(column) for column in zip([0] * len(self.players), *(e.scores for e in self.ended), strict=False)]

    def next_rev(self, command: str) -> int:
        """The next revision of a sentence."""
        return self.said.get(command, 0) + 1


class TermsView(MatchView, frozen=True, kw_only=True):
    """A view of a match with its terms, for the template of these."""

    terms: Terms
    levels: Mapping[int, str | None]
    """The level of each seat's player."""


def is_offered(match: Match, what: str, reader: int) -> bool:
    """True if this reader may accept such an offer, but for a draw of some: no plain `accept` agrees to that."""
    plain, others = {"draw": match.in_game}.get(what, ()), match.offers[what].items()
    return reader in agreeing(match, what) and any(sharing == plain for seat, sharing in others if seat != reader)


def view(
    match: Match,
    reader: int,
    *,
    accepted: bool = True,
    programs: Sequence[int] = (),
    head: TranscriptHead | None = None,
    generation: int = 1,
    address: str = "",
) -> MatchView:
    """The view of a match for its seat `reader`; 0: for the public.

    The rest is known outside of the match: whether the reader has agreed to it, the seats of `programs`, the latest
    head with the server's signature, the store's `generation`, and the `address` for letters.
    """
    submission = match.submissions.get(reader)
    asked = match.asked(reader) if reader else False
    terms = match.terms
    return MatchView(
        match=match.id,
        rules=terms.game,
        phase=match.phase,
        paused=bool(match.paused),
        game=match.game,
        turn=match.turn,
        seat=reader,
        player=match.name(reader) if reader else "",
        players=[None if name.startswith("?") else name for name in match.names],
        programs=list(programs),
        asked=asked,
        claim=bool(reader and silence.claimable_seats(match, reader)),
        miss=terms.miss,
        deadline=written(deadline) if (deadline := match.deadline(reader)) else None,
        accepted=accepted,
        agreement=terms.document() if match.phase in AGREEING else None,
        hash=match.rules_hash,
        prev=match.prev,
        rev=submission.rev + 1 if submission else 1,
        said={what: rev for (by, what), rev in sorted(match.sentence_revs.items()) if by == reader},
        offers=sorted(what for what in match.offers if is_offered(match, what, reader)),
        ended=list(match.games),
        outcome=None if match.outcome is None else MatchOutcome(**match.outcome),
        head=head,
        generation=generation,
        restored=match.restored,
        address=address,
        sealed=terms.sealed,
        revealing=match.awaits is not None,
        tournament=(terms.tournament or {}).get("id"),
    )
