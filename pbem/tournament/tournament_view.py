"""How a tournament stands for a reader: what a bulletin has as JSON, and what a player's program decodes.

An item of another form is not believed, whoever signed it. Implements docs/attachments.md, "`about`: `tournament`".
"""

from __future__ import annotations

from typing import Annotated, Any

import msgspec

from pbem.match.state import Count, Line
from pbem.match.view import Hash, Number, TranscriptHead, Word


class TableCell(msgspec.Struct, frozen=True):
    """A meeting of two lines of a table; it has no points if it does not count, or not yet."""

    match: Word
    """Empty where none begins or none has begun."""
    points: Count | None
    annulled: bool


class TableLine(msgspec.Struct, frozen=True):
    """A line of a tournament's table, with its meetings with each line of its group, where all play all."""

    name: Word
    player: Word
    played: Count
    points: Count
    out: bool
    cells: list[list[TableCell]]


class TournamentView(msgspec.Struct, frozen=True):
    """The state of a tournament for this player, who may have no place in it, when the server wrote a letter."""

    tournament: Annotated[str, msgspec.Meta(pattern=r"\At[1-9][0-9]{0,8}\Z")]
    head: TranscriptHead
    generation: Number
    """The number of times that the server was restored from a backup, plus one, as its transcript says."""
    restored: Count
    """The last entry that tells of a restored backup; 0 if none does."""
    format: Line
    phase: Annotated[str, msgspec.Meta(pattern=r"\A(open|playing|ended)\Z")]
    rules: Word
    organiser: Word
    entrants: Count
    agreement: dict[str, Any]
    hash: Hash
    entered: bool
    place: Count | None
    of: Count | None
    points: Count | None
    running: Count
    table: list[list[TableLine]]

    @property
    def seq(self) -> int:
        """The number of the last entry."""
        return self.head.seq
