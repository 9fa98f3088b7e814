"""Several letters in one: everything that happened at one moment of a match, and what waits for a player's digest.

Pure: letters in words go in, and one letter comes out that says what each of them says. It is framed once, when it is
sent. This module also computes when a digest is sent, and which letters cannot wait for it. Implements protocol.md,
"Commands" (`set mail`).
"""

from __future__ import annotations

import html
from datetime import UTC, datetime, time, timedelta
from typing import TYPE_CHECKING, Final
from zoneinfo import ZoneInfo

from pbem.letters.draft import TALK, LetterSection, WrittenLetter, joined_subjects
from pbem.match.notices import NOTICES
from pbem.match.seat_clock import on_the_wall
from pbem.phrase import Phrase

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pbem.letters.draft import Facts
    from pbem.mail.compose import Attachment, Picture
    from pbem.match.state import Match

MORNING: Final = time(7)
"""The time of a digest, by the wall clock of its reader."""

MARGIN = timedelta(days=1)
"""A letter waits for a digest only if that goes out so long before a deadline."""

MOST = 12
"""The most letters joined into one: hundreds of turns that ask nobody are too much for mail programs."""

_MATCHES = 4
"""The most matches that the subject of a digest names."""

_RULE = "-" * 72
"""Above the proofs of a letter."""
_BETWEEN = "=" * 72
"""Between its sections."""


def next_digest(now: datetime, zone: str) -> datetime:
    """The next time at which a digest goes to somebody in this zone."""
    today = now.astimezone(ZoneInfo(zone)).date()
    mornings = (on_the_wall(datetime.combine(today + timedelta(days=ahead), MORNING), zone) for ahead in (0, 1, 2))
    return next(morning for morning in mornings if morning > now).astimezone(UTC)


def can_wait(kind: str, match: Match | None, seat: int, digest: datetime) -> bool:
    """True if a letter of this kind can wait for the digest: not if the seat must answer soon after."""
    spec = NOTICES.get(kind)
    if spec is None or not spec.can_wait:
        return False
    clock = match.clocks.get(seat) if match and match.asked(seat) else None
    deadline = clock.deadline if clock else None
    return deadline is None or deadline >= digest + MARGIN


def joined(letters: Sequence[WrittenLetter]) -> WrittenLetter:
    """One letter that says what each of these says, in their order, in the place of the last."""
    last = letters[-1]
    if len(letters) == 1:
        return last
    # Where a game ended after very many turns, a letter may hold turns alone, and the next one the end.
    subjects = [letter.subject for letter in letters if letter.named] or [letter.subject for letter in letters]
    one = WrittenLetter("", [])
    pictures: dict[str, Picture] = {}
    attachments: dict[str, Attachment] = {}
    for letter in letters:
        one.sections += letter.sections
        for item in letter.bulletin:
            if item not in one.bulletin:
                one.bulletin.append(item)
        # The last file of each name, in the place of the first.
        pictures |= {picture[0]: picture for picture in letter.pictures}
        attachments |= {file[0]: file for file in letter.attachments}
    one.pictures, one.attachments = list(pictures.values()), list(attachments.values())
    if len({tuple(letter.references[:1]) for letter in letters}) == 1:
        one.subject = joined_subjects(subjects)
        # Orders count in answer to it. Plain words are a message only if all of it is talk to everybody.
        placed = [letter for letter in letters if not (letter.detail or "").startswith(TALK)] or [last]
        one.reply_to, one.detail, one.place = placed[-1].reply_to, placed[-1].detail, placed[-1].place
        one.references = last.references
    else:
        shown = list(dict.fromkeys(subject.partition("]")[0].removeprefix("[pbem ") for subject in subjects))
        if len(shown) > _MATCHES:
            shown[_MATCHES:] = ["..."]
        one.subject = Phrase("[pbem] Your digest: {matches}", matches=", ".join(shown))
    return one


def framed_text(sections: Sequence[LetterSection]) -> str:
    """The text part of a letter: its sections, then each proof once."""
    texts = [section.text.text for section in sections]
    text = texts[0] if len(texts) == 1 else f"\n\n{_BETWEEN}\n\n".join(each.strip("\n") for each in texts) + "\n"
    proofs = _each_once(proof for section in sections for proof in section.text.proofs)
    return "\n".join([text.rstrip("\n"), "", _RULE, "\n\n".join(proofs), ""]) if proofs else text


def framed_html(letter: WrittenLetter) -> Facts | None:
    """The facts of the frame of a letter's HTML part, letters/together.html; None if all of it is text."""
    pages = [section.html for section in letter.sections if section.html]
    if not pages:
        return None
    proofs: list[str] = []
    for section in letter.sections:
        proofs += section.html.proofs if section.html else map(_preformatted, section.text.proofs)
    return {
        "title": pages[0].title if len(letter.sections) == 1 else letter.subject,
        "sections": [
            (section.html.text if section.html else _preformatted(section.text.text)).strip("\n")
            for section in letter.sections
        ],
        "proofs": _each_once(proofs),
    }


def _each_once(proofs: Iterable[str]) -> list[str]:
    """Proofs in their order; one that several sections bring is where the last of them has it."""
    return list(dict.fromkeys(reversed(list(proofs))))[::-1]


def _preformatted(text: str) -> str:
    said = html.escape(text.strip("\n"))
    return f'<pre style="white-space:pre-wrap;word-wrap:break-word;overflow-wrap:anywhere">{said}</pre>'
