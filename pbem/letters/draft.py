"""A letter before it is composed, as facts and then in words: subject, sections, files, and the list it belongs to.

A subject names the match, and is short enough to be read whole.
"""

from __future__ import annotations

import re
from datetime import datetime  # noqa: TC003 - msgspec decodes letters that waited
from typing import TYPE_CHECKING, Any, Final

import msgspec

from pbem.json_object import JsonObject  # noqa: TC001 - the same
from pbem.letters.render import InWords  # noqa: TC001 - the same
from pbem.mail.commands import masked
from pbem.mail.compose import Attachment, MailingList, Picture  # noqa: TC001 - the same
from pbem.phrase import Phrase

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from pbem.boards.drawn import DrawnBoard
    from pbem.games.squares import Board
    from pbem.mail.message import Letter

    Enclosed = tuple[str, str, bytes | Callable[[], bytes]]
    """A file to be attached: its name, its media type, and its content, or what makes that."""

Facts = dict[str, Any]
"""The facts of a template, by name."""


_REPLIED = re.compile(r"\A\s*+(?:(?:re|aw|antw|sv)\s*+:\s*+)++", re.I)
"""The prefixes that mail programs add to the subject of an answer, in their language, each time anew."""


TALK: Final = "press-"
"""The beginning of the detail of an address to which plain words go as a message to the other players."""

LONGEST: Final = 69
"""The most characters of a subject of ours: lists of letters show no more."""

_ABOUT: Final = Phrase("[pbem {match}] {title}, {subject}")

_BRIEF: Final = Phrase("[pbem {match}] {subject}")

_MORE: Final = " ..."

_TOLD: Final = re.compile(r"(?:Re: )?\[pbem(?: [mt][0-9]{1,9})?\]")
"""The part of a subject that everybody may know: mail programs sort letters by it."""


class TemplateText(msgspec.Struct, frozen=True):
    """A text that is yet to be written, in the language of its reader: its template and its facts."""

    template: str
    facts: Mapping[str, object]


class Drawing(msgspec.Struct, frozen=True):
    """A picture that is yet to be drawn: its boards, the names by seat, and the file's name."""

    boards: Sequence[Board | DrawnBoard]
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


class Posted(msgspec.Struct, kw_only=True):
    """The way of a letter: where it answers and is answered, to which list it belongs, and what it starts."""

    pictures: list[Picture] = []
    bulletin: list[JsonObject] = []
    """Its items for programs, beside its files: docs/attachments.md."""
    reply_to: str | None = None
    detail: str | None = None
    """The detail of `reply_to` where that is good for one letter."""
    place: tuple[int, int, int] | None = None
    """The position of its match: an answer to the letter is good only for that."""
    references: list[str] = []
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
    open: bool = False
    """True if it is never encrypted: it holds nothing that only its reader may know, and is needed by somebody who
    cannot decrypt any more."""
    asks: bool = False
    """True if `reply_to` is good for the answer to a question of ours, and for nothing else."""


class OutgoingLetter(Posted):
    """A letter that is yet to be put into its reader's words: subject and text, and what is attached."""

    subject: str
    """A phrase, where the words are ours."""
    text: TemplateText | str
    html: TemplateText | None = None
    drawing: Drawing | None = None
    """The picture in `html`."""
    composing: Composing | None = None
    """The answer that it asks for; `composer` in `text` and `html` becomes the link to the page."""
    attachments: list[Enclosed] = []
    room: int | None = None
    """The most octets of its text and attachments together; it names those that are left out."""

    def answer(self, letter: Letter) -> None:
        """Let this be the answer to a letter, in its thread and under its subject."""
        subject = _REPLIED.sub("", masked(letter.subject)).strip() or Phrase("your letter")
        self.subject = Phrase("Re: {subject}", subject=subject)
        self.in_reply_to = letter.message_id
        self.references = [*self.references, *letter.references[-10:], *filter(None, [letter.message_id])]


class LetterSection(msgspec.Struct, frozen=True):
    """The words of a letter, without a frame."""

    text: InWords
    html: InWords | None = None


class WrittenLetter(Posted):
    """A letter in words: it can wait, and be joined with others, until it is framed and sent."""

    subject: str
    sections: list[LetterSection]
    attachments: list[Attachment] = []


def subject_about(match: str, title: str, subject: str) -> Phrase:
    """The subject of a letter about a match."""
    return _ABOUT.given(match=match, title=title, subject=subject)


def subject_fitting(subject: str, say: Callable[[str], str]) -> str:
    """A subject; if it is too long, without the game's title, and then cut."""
    said = say(subject)
    if len(said) > LONGEST and isinstance(subject, Phrase) and subject.template == _ABOUT.template:
        said = say(_BRIEF.given(**subject.facts))
    return said if len(said) <= LONGEST else said[: LONGEST - len(_MORE)].rstrip() + _MORE


def subject_outside(subject: str) -> str:
    """The subject that an encrypted letter has for everybody: it names at most a match or a tournament."""
    told = _TOLD.match(subject)
    return told[0] if told else "[pbem]"


def joined_subjects(subjects: Sequence[str]) -> str:
    """The subject of a letter that joins letters with these subjects; what they share is said once.

    If there is no room for all, the first and the last are named.
    """
    first, *others = dict.fromkeys(subjects)
    for number, subject in enumerate(others):
        # Without the beginning that it shares with the first: the match, the title and the game.
        rest, left = subject, first
        for end in ("] ", ", ", ", "):
            head, mark, behind = left.partition(end)
            if not rest.startswith(head + mark) or not mark:
                break
            rest, left = rest.removeprefix(head + mark), behind
        others[number] = rest
    for shown in ([first, *others], [first, "...", *others[-1:]]):
        if len(named := "; ".join(shown)) <= LONGEST:
            return named
    return first + _MORE if len(first) + len(_MORE) <= LONGEST else first
