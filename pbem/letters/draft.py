"""A letter being written: its contents, until the letter writer puts it into words, draws it and composes it.

A desk decides what is written, and to whom; the slow parts (words, pictures, files) are made when no lock is held.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import msgspec

from pbem.mail.commands import masked
from pbem.phrase import Phrase

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from datetime import datetime

    from pbem.games.squares import Board
    from pbem.json_object import JsonObject
    from pbem.mail.compose import MailingList, Picture
    from pbem.mail.message import Letter
    from pbem.store.tokens import Place

    Enclosed = tuple[str, str, bytes | Callable[[], bytes]]
    """A file to be attached: its name, its media type, and its content, or what makes that."""

__all__ = ["Composing", "Drawing", "Facts", "OutgoingLetter", "TemplateText"]

Facts = dict[str, Any]
"""What a template is told, by the names under which it knows it."""


_REPLIED = re.compile(r"\A\s*+(?:(?:re|aw|antw|sv)\s*+:\s*+)++", re.I)
"""What mail programs write before the subject of an answer, in their language, each time anew."""


class TemplateText(msgspec.Struct, frozen=True):
    """A text that is yet to be written, in the language of its reader: its template and its facts."""

    template: str
    facts: Mapping[str, object]


class Drawing(msgspec.Struct, frozen=True):
    """A picture that is yet to be drawn: its boards, the names by seat, and the file's name."""

    boards: Sequence[Board]
    names: Mapping[int, str]
    file_name: str


class Composing(msgspec.Struct, frozen=True):
    """The data for the page on which the reader composes an answer: docs/attachments.md."""

    file_name: str
    content: Mapping[str, object]
    words: Mapping[str, TemplateText | str]
    """What else is in it, yet to be put into words."""
    pages: str
    """The address at which the pages lie, "" where they are not served."""
    game: str
    enclose: bool
    """Whether the letter brings the page itself."""
    place: int
    """Which of the files it is that are attached."""
    linked: Mapping[str, object] | None = None
    """What a link carries, where that is less; none that has no room for it."""


class OutgoingLetter(msgspec.Struct):
    """A letter being written: subject and text, what is attached, and its place in a thread."""

    subject: str
    """A phrase, where the words are ours."""
    text: TemplateText | str
    html: TemplateText | str | None = None
    drawing: Drawing | None = None
    """What `html` shows as its picture."""
    composing: Composing | None = None
    """What it asks for; `composer` in `text` and `html` becomes the link to the page."""
    pictures: list[Picture] = msgspec.field(default_factory=list)
    attachments: list[Enclosed] = msgspec.field(default_factory=list)
    parts: Sequence[OutgoingLetter] = ()
    """The letters that this one puts together; then their words are its own."""
    room: int | None = None
    """How many octets its text and its attachments may have together; it says what is left out of it."""
    digest: bool = False
    """Whether these waited for a digest."""
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
    named: bool = True
    """Whether the subject of a letter that puts this one together with others names it."""
    mailing: MailingList | None = None
    """The list that it belongs to, where it comes without being asked for."""
    bulletin: list[JsonObject] = msgspec.field(default_factory=list)
    """What it says for programs, beside its files: docs/attachments.md."""
    asks: bool = False
    """Whether `reply_to` is good for the answer to a question of ours, and for nothing else."""

    def answer(self, letter: Letter) -> None:
        """Let this be the answer to a letter, in its thread and under its subject."""
        subject = _REPLIED.sub("", masked(letter.subject)).strip() or Phrase("your letter")
        self.subject = Phrase("Re: {subject}", subject=subject)
        self.in_reply_to = letter.message_id
        self.references = [*self.references, *letter.references[-10:], *filter(None, [letter.message_id])]
