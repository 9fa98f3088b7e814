"""The form of a bulletin's item about a match: an item of another form is not believed, whoever signed it.

These values go into forms that the player signs, into addresses, and onto the terminal: no text may hold more
than its line. Pure. Implements docs/attachments.md, "`about`: `match`".
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

import msgspec

from pbem.mail.message import ADDRESS
from pbem.match.transcript import is_time

if TYPE_CHECKING:
    from pbem.json_object import JsonObject

__all__ = ["OVER", "misshapen"]

OVER = frozenset({"closed", "declined", "withdrawn"})
"""The phases after which nothing comes."""

_Number = Annotated[int, msgspec.Meta(ge=0, le=10**9)]
_Word = Annotated[str, msgspec.Meta(pattern=r"\A[!-~]{0,200}\Z")]
_Hash = Annotated[str, msgspec.Meta(pattern=r"\A[0-9a-f]{64}\Z")]
_Line = Annotated[str, msgspec.Meta(max_length=400)]


class _Head(msgspec.Struct):
    seq: _Number
    head: _Hash
    signature: Annotated[str, msgspec.Meta(pattern=r"\A[0-9a-f]{128}\Z")]


class _Ended(msgspec.Struct):
    winner: _Number
    scores: list[int]
    reason: _Line
    turns: _Number


class _Sealed(msgspec.Struct):
    owes: dict[_Word, list[_Word]]


class _Standing(msgspec.Struct):
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
    ended: list[_Ended]
    outcome: dict[str, Any] | None
    head: _Head | None
    address: _Word
    sealed: _Sealed | None = None
    programs: list[_Number] = []
    claim: bool = False

    def __post_init__(self) -> None:
        if self.seat > len(self.players):
            raise ValueError("there is no such seat")
        if self.deadline is not None and not is_time(self.deadline):
            raise ValueError("its deadline is no time")
        if not ADDRESS.fullmatch(self.address):
            raise ValueError("its address is none")
        winner = (self.outcome or {}).get("winner")
        if winner is not None and not (type(winner) is int and 0 <= winner <= len(self.players)):
            raise ValueError("nobody can have won so")


def misshapen(item: JsonObject) -> str | None:
    """The fault in the form of an item about a match; None if there is none."""
    try:
        msgspec.convert(item, _Standing)
    except msgspec.ValidationError as error:
        return str(error)
    return None
