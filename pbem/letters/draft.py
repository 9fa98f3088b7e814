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

Facts = dict[str, Any]
"""The facts of a template, by name."""


_REPLIED = re.compile(r"\A\s*+(?:(?:re|aw|antw|sv)\s*+:\s*+)++", re.I)
"""The prefixes that mail programs add to the subject of an answer, in their language, each time anew."""


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
    """The rest of its content, yet to be put into words."""
    pages: str
    """The address at which the pages lie, "" where they are not served."""
    game: str
    enclose: bool
    """True if the letter brings the page itself."""
    place: int
    """Its place among the attached files."""


class OutgoingLetter(msgspec.Struct):
    """A letter being written: subject and text, what is attached, and its place in a thread."""

    subject: str
    """A phrase, where the words are ours."""
    text: TemplateText | str
    html: TemplateText | str | None = None
    drawing: Drawing | None = None
    """The picture in `html`."""
    composing: Composing | None = None
    """The answer that it asks for; `composer` in `text` and `html` becomes the link to the page."""
    pictures: list[Picture] = msgspec.field(default_factory=list)
    attachments: list[Enclosed] = msgspec.field(default_factory=list)
    parts: Sequence[OutgoingLetter] = ()
    """The letters that this one puts together; then their words are its own."""
    room: int | None = None
    """The most octets of its text and attachments together; it names those that are left out."""
    digest: bool = False
    """True if these waited for a digest."""
    reply_to: str | None = None
    detail: str | None = None
    """The detail of `reply_to` where that is good for one letter."""
    place: Place | None = None
    """The position of its match: an answer to the letter is good only for that."""
    references: Sequence[str] = ()
    in_reply_to: str | None = None
    language: str | None = None
    """The language of the letter that is answered; None for the reader's own choice."""
    watch: tuple[int, int, datetime] | None = None
    """The match and seat whose clock the letter set going, and when."""
    due: str | None = None
    """The deadline of what it asks for, or reminds of ("": there is none), for the reader's topic beside the mail."""
    named: bool = True
    """True if the subject of a letter that puts this one together with others names it."""
    mailing: MailingList | None = None
    """The list that it belongs to, where it comes without being asked for."""
    bulletin: list[JsonObject] = msgspec.field(default_factory=list)
    """Its items for programs, beside its files: docs/attachments.md."""
    open: bool = False
    """True if it is never encrypted: it holds nothing that only its reader may know, and is needed by somebody who
    cannot decrypt any more."""
    asks: bool = False
    """True if `reply_to` is good for the answer to a question of ours, and for nothing else."""

    def answer(self, letter: Letter) -> None:
        """Let this be the answer to a letter, in its thread and under its subject."""
        subject = _REPLIED.sub("", masked(letter.subject)).strip() or Phrase("your letter")
        self.subject = Phrase("Re: {subject}", subject=subject)
        self.in_reply_to = letter.message_id
        self.references = [*self.references, *letter.references[-10:], *filter(None, [letter.message_id])]
