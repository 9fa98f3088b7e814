"""The state of a match, by a bulletin's item: an item of another form is not believed, whoever signed it.

These values go into forms that the player signs, into addresses, and onto the terminal: no text may hold more
than its line. Pure. Implements docs/attachments.md, "`about`: `match`" and "`about`: `tournament`".
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec

from pbem.mail.message import ADDRESS
from pbem.match.transcript import is_time

OVER = frozenset({"closed", "declined", "withdrawn"})
"""The phases after which nothing comes."""

_Number = Annotated[int, msgspec.Meta(ge=0, le=10**9)]
_Score = Annotated[int, msgspec.Meta(ge=-(10**9), le=10**9)]
_Word = Annotated[str, msgspec.Meta(pattern=r"\A[!-~]{0,200}\Z")]
_Hash = Annotated[str, msgspec.Meta(pattern=r"\A[0-9a-f]{64}\Z")]
_Line = Annotated[str, msgspec.Meta(max_length=400)]


class TranscriptHead(msgspec.Struct, frozen=True):
    """A head of the transcript, as the server signed it."""

    seq: _Number
    head: _Hash
    signature: Annotated[str, msgspec.Meta(pattern=r"\A[0-9a-f]{128}\Z")]


class EndedGame(msgspec.Struct, frozen=True):
    """The result of a game that is over; seat 0 has won a draw."""

    winner: _Number
    scores: list[_Score]
    reason: _Line
    turns: _Number


class ClosedMatch(msgspec.Struct, frozen=True):
    """The result of a match that is over; seat 0 has won a draw."""

    winner: _Number
    scores: list[_Score]
    reason: _Line


class SealedOwes(msgspec.Struct, frozen=True):
    """The steps that are due in a sealed match, by seat."""

    owes: dict[_Word, list[_Word]]


class MatchStanding(msgspec.Struct, frozen=True):
    """The state of a match for this player's seat when the server wrote a letter."""

    match: Annotated[str, msgspec.Meta(pattern=r"\Am[1-9][0-9]{0,8}\Z")]
    rules: _Word
    phase: Literal["open", "proposed", "setup", "playing", "closed", "declined", "withdrawn"]
    paused: bool
    game: _Number
    turn: _Number
    seat: Annotated[int, msgspec.Meta(ge=1, le=99)]
    player: _Word
    players: list[_Word | None]
    asked: bool
    deadline: _Word | None
    accepted: bool
    agreement: dict[str, Any] | None
    hash: _Hash
    prev: _Hash
    rev: Annotated[int, msgspec.Meta(ge=1, le=10**9)]
    said: dict[_Word, _Number]
    offers: list[_Word]
    ended: list[EndedGame]
    outcome: ClosedMatch | None
    head: TranscriptHead | None
    generation: Annotated[int, msgspec.Meta(ge=1, le=10**9)]
    """The number of times that the server was restored from a backup, plus one."""
    restored: _Number
    """The last entry that tells of a restored backup; 0 if none does."""
    address: _Word
    sealed: SealedOwes | None = None
    programs: list[_Number] = []
    claim: bool = False
    miss: _Word = ""
    tournament: _Word | None = None

    def __post_init__(self) -> None:
        if self.seat > len(self.players):
            raise ValueError("there is no such seat")
        if self.deadline is not None and not is_time(self.deadline):
            raise ValueError("its deadline is no time")
        if not ADDRESS.fullmatch(self.address):
            raise ValueError("its address is none")
        if self.outcome is not None and self.outcome.winner > len(self.players):
            raise ValueError("nobody can have won so")

    @property
    def seq(self) -> int:
        """The number of the last entry, 0 before the first."""
        return self.head.seq if self.head else 0

    @property
    def owes(self) -> list[str]:
        """The steps that are due from this player's seat now in a sealed match, in their order."""
        return self.sealed.owes.get(str(self.seat), []) if self.sealed and not self.paused else []


class TableCell(msgspec.Struct, frozen=True):
    """A meeting of two lines of a table; it has no points if it does not count, or not yet."""

    match: _Word
    points: _Number | None
    annulled: bool


class TableLine(msgspec.Struct, frozen=True):
    """A line of a tournament's table, with its meetings with each line of its group, where all play all."""

    name: _Word
    player: _Word
    played: _Number
    points: _Number
    out: bool
    cells: list[list[TableCell]]


class TournamentStanding(msgspec.Struct, frozen=True):
    """The state of a tournament for this player, who may have no place in it, when the server wrote a letter."""

    tournament: Annotated[str, msgspec.Meta(pattern=r"\At[1-9][0-9]{0,8}\Z")]
    head: TranscriptHead
    generation: Annotated[int, msgspec.Meta(ge=1, le=10**9)]
    """The number of times that the server was restored from a backup, plus one, as its transcript says."""
    restored: _Number
    """The last entry that tells of a restored backup; 0 if none does."""
    format: _Line
    phase: Literal["open", "playing", "ended"]
    rules: _Word
    organiser: _Word
    entrants: _Number
    agreement: dict[str, Any]
    hash: _Hash
    entered: bool
    place: _Number | None
    of: _Number | None
    points: _Number | None
    running: _Number
    table: list[list[TableLine]]

    @property
    def seq(self) -> int:
        """The number of the last entry."""
        return self.head.seq
