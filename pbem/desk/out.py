"""A letter being written: plain values alone, until the clerk gives it to the composer."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from pbem.mail.compose import Attachment, Picture
    from pbem.store.tokens import Place

__all__ = ["Draft", "Out"]


@dataclass(frozen=True, slots=True)
class Draft:
    """A text that is yet to be written, in the language of its reader: its template, and what it says."""

    template: str
    facts: Mapping[str, Any]


@dataclass(slots=True)
class Out:
    """A letter being written: subject and text, what is attached, and its place in a thread."""

    subject: str
    """A phrase, where the words are ours."""
    text: Draft | str
    html: Draft | str | None = None
    pictures: list[Picture] = field(default_factory=list)
    attachments: list[Attachment] = field(default_factory=list)
    reply_to: str | None = None
    detail: str | None = None
    """The detail of `reply_to` where that is good for one letter."""
    place: Place | None = None
    """Where the match stands that the letter is about: an answer to it is good for that place."""
    references: Sequence[str] = ()
    in_reply_to: str | None = None
    language: str | None = None
    """Where it is not the reader's own choice: that of the letter that is answered."""
    watch: tuple[int, int, datetime] | None = None
    """The match and seat whose clock the letter set going, and when."""
    asks: bool = False
    """Whether `reply_to` is good for the answer to a question of ours, and for nothing else."""
