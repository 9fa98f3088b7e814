"""Several letters in one: what happened at one moment of a match, and what waits for a player's digest.

Pure: finished letters go in, and one letter comes out that says what each of them says. This module also computes
when a digest is sent, and what cannot wait for it. Implements protocol.md, "Commands" (`set mail`).
"""

from __future__ import annotations

import base64
import html
import json
import re
from datetime import UTC, datetime, time, timedelta
from typing import TYPE_CHECKING, Final
from zoneinfo import ZoneInfo

from pbem.letters.draft import OutgoingLetter, TemplateText
from pbem.letters.notices import NOTICES
from pbem.match.clock import on_the_wall
from pbem.phrase import Phrase

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pbem.json_object import JsonObject
    from pbem.match.state import Match

__all__ = ["MOST", "can_wait", "joined", "next_digest", "pack", "together", "unpack"]

MORNING: Final = time(7)
"""When a digest goes, by the wall clock of its reader."""

MARGIN = timedelta(days=1)
"""So long before a deadline the last digest must be there, for its letters to wait: else they go at once."""

MOST = 12
"""How many letters make one: hundreds of turns that ask nobody are more than anybody's mail program takes."""

_NAMED = 4
"""Of so many and more the subject names the first and the last ones."""

_RULE = "-" * 72
_HEAD = re.compile(r"(?<!\n)\n*^\S.*:\n  head +[0-9a-f]{64}\n  signature .*\n +[0-9a-f]+\n  key .*\n?", re.MULTILINE)
"""What `head` of letters/parts.txt prints, in any language: the words before it are a line of their own."""


def next_digest(now: datetime, zone: str) -> datetime:
    """The next time at which a digest goes to somebody in this zone."""
    today = now.astimezone(ZoneInfo(zone)).date()
    mornings = (on_the_wall(datetime.combine(today + timedelta(days=ahead), MORNING), zone) for ahead in (0, 1, 2))
    return next(morning for morning in mornings if morning > now).astimezone(UTC)


def can_wait(kind: str, match: Match | None, seat: int, digest: datetime) -> bool:
    """Whether a letter of this kind can wait for the digest: not when the seat must answer soon after."""
    spec = NOTICES.get(kind)
    if spec is None or not spec.can_wait:
        return False
    clock = match.clocks.get(seat) if match and match.asked(seat) else None
    deadline = clock.deadline if clock else None
    return deadline is None or deadline >= digest + MARGIN


def joined(outs: Sequence[OutgoingLetter], *, digest: bool) -> OutgoingLetter:
    """One letter that is to say what each of these says, in their order; the last one's place is its own."""
    last = outs[-1]
    if len(outs) == 1:
        return last
    one = OutgoingLetter("", "", parts=outs, digest=digest)
    if _one_thread(outs):
        one.reply_to, one.detail, one.place = last.reply_to, last.detail, last.place
        one.references = last.references
    return one


def _one_thread(outs: Sequence[OutgoingLetter]) -> bool:
    return len({tuple(out.references[:1]) for out in outs}) == 1


def together(outs: Sequence[OutgoingLetter], render: Callable[..., str], preface: str = "") -> OutgoingLetter:
    """The words of letters that are joined, their pictures and files; of these letters everything is made."""
    texts = [_words(out.text).strip("\n") for out in outs]
    for at, text in enumerate(texts):
        if (head := _HEAD.search(text)) and any(head[0].strip() in later for later in texts[at + 1 :]):
            texts[at] = _HEAD.sub("", text).rstrip("\n")
    parts = [preface.strip("\n"), *texts] if preface else texts
    one = OutgoingLetter(_subject(outs, same=_one_thread(outs)), f"\n\n{_RULE}\n\n".join(parts) + "\n")
    if any(out.html for out in outs):
        inner = [
            _inner(_words(out.html)) if out.html else _preformatted(text)
            for out, text in zip(outs, texts, strict=True)
        ]
        if preface:
            inner.insert(0, _preformatted(preface.strip("\n")))
        one.html = render("letters/together.html", title=one.subject, parts=inner)
    one.pictures = list({picture[0]: picture for out in outs for picture in out.pictures}.values())
    for item in (item for out in outs for item in out.bulletin):
        if item not in one.bulletin:
            one.bulletin.append(item)
    one.attachments = list({attached[0]: attached for out in outs for attached in out.attachments}.values())
    return one


def _subject(outs: Sequence[OutgoingLetter], *, same: bool) -> str:
    """What the letter is about: the subjects one after the other, what they have in common once."""
    subjects = list(dict.fromkeys(out.subject for out in outs))
    if not same:
        matches = dict.fromkeys(subject.partition("]")[0].removeprefix("[pbem ") for subject in subjects)
        return Phrase("[pbem] Your digest: {matches}", matches=", ".join(matches))
    first = subjects[0]
    common = first.partition(", ")[0] + ", "
    others = [subject.removeprefix(common) for subject in subjects[1:]]
    return "; ".join([first, *(others if len(others) < _NAMED else ["...", *others[-2:]])])


def _inner(text: str) -> str:
    """What stands in the one <div> of the one <body>: letters/letter.html frames every HTML part so."""
    body = text.partition("<body>")[2].rpartition("</body>")[0].strip()
    assert body.startswith("<div")
    return body.partition(">")[2].removeprefix("\n").removesuffix("</div>").removesuffix("\n")


def _words(text: TemplateText | str | None) -> str:
    assert isinstance(text, str), "what is put together was put into words before"
    return text


def _octets(content: bytes | Callable[[], bytes]) -> bytes:
    assert isinstance(content, bytes), "what is kept was made before"
    return content


def _preformatted(text: str) -> str:
    return f'<pre style="white-space:pre-wrap">{html.escape(text)}</pre>'


def pack(out: OutgoingLetter) -> bytes:
    """A letter as it is kept until its digest goes."""
    document = {
        "subject": out.subject,
        "text": out.text,
        "html": out.html,
        "pictures": [[one, name, _to_text(content)] for one, name, content in out.pictures],
        "attachments": [[name, kind, _to_text(_octets(content))] for name, kind, content in out.attachments],
        "reply_to": out.reply_to,
        "detail": out.detail,
        "place": out.place,
        "references": list(out.references),
        "bulletin": out.bulletin,
        "watch": [*out.watch[:2], out.watch[2].isoformat()] if out.watch else None,
    }
    return json.dumps(document).encode()


def unpack(content: bytes) -> OutgoingLetter:
    """The letter again."""
    document: JsonObject = json.loads(content)
    watch = document["watch"]
    return OutgoingLetter(
        document["subject"],
        document["text"],
        document["html"],
        pictures=[(one, name, base64.b64decode(content)) for one, name, content in document["pictures"]],
        attachments=[(name, kind, base64.b64decode(content)) for name, kind, content in document["attachments"]],
        reply_to=document["reply_to"],
        detail=document["detail"],
        place=tuple(document["place"]) if document["place"] else None,
        references=document["references"],
        bulletin=document.get("bulletin", []),  # what was kept before letters had any has none
        watch=(watch[0], watch[1], datetime.fromisoformat(watch[2])) if watch else None,
    )


def _to_text(content: bytes) -> str:
    return base64.b64encode(content).decode()
