"""Several letters in one: everything that happened at one moment of a match, and what waits for a player's digest.

Pure: finished letters go in, and one letter comes out that says what each of them says. This module also computes
when a digest is sent, and which letters cannot wait for it. Implements protocol.md, "Commands" (`set mail`).
"""

from __future__ import annotations

import html
import re
from datetime import UTC, datetime, time, timedelta
from typing import TYPE_CHECKING, Any, Final
from zoneinfo import ZoneInfo

import msgspec

from pbem.letters.draft import OutgoingLetter, TemplateText, joined_subjects
from pbem.match.notices import NOTICES
from pbem.match.seat_clock import on_the_wall
from pbem.phrase import Phrase

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

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
"""Above the proofs of a letter, as `proofs` of letters/parts.txt prints it."""
_BETWEEN = "=" * 72
_PROOF = re.compile("(?:<hr>)?<!-- proof -->\n")
"""The mark before each proof in the HTML part."""


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


def joined(outs: Sequence[OutgoingLetter], *, digest: bool) -> OutgoingLetter:
    """One letter that will say what each of these says, in their order, in the place of the last."""
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
    """The words, pictures and files of letters that are joined.

    Proofs come last, each once, in one block.
    """
    told = [_words(out.text).strip("\n").partition(f"{_RULE}\n") for out in outs]
    texts = [text.rstrip("\n") for text, _, _ in told]
    parts = [preface.strip("\n"), *texts] if preface else texts
    proofs = _each_once(proof for _, _, found in told for proof in found.split("\n\n"))
    text = f"\n\n{_BETWEEN}\n\n".join(parts) + "\n"
    if proofs:
        text += f"\n{_RULE}\n" + "\n\n".join(proofs) + "\n"
    one = OutgoingLetter(_subject(outs, same=_one_thread(outs)), text)
    if any(out.html for out in outs):
        inner, shown = [], list[str]()
        for out, (_, _, found), text in zip(outs, told, texts, strict=True):
            page, *sections = _PROOF.split(_inner(_words(out.html))) if out.html else [_preformatted(text)]
            inner.append(page)
            shown += sections or [_preformatted(proof) for proof in found.split("\n\n")]
        if preface:
            inner.insert(0, _preformatted(preface.strip("\n")))
        one.html = render("letters/together.html", title=one.subject, parts=inner, proofs=_each_once(shown))
    one.pictures = list({picture[0]: picture for out in outs for picture in out.pictures}.values())
    for item in (item for out in outs for item in out.bulletin):
        if item not in one.bulletin:
            one.bulletin.append(item)
    one.attachments = list({attached[0]: attached for out in outs for attached in out.attachments}.values())
    return one


def _each_once(proofs: Iterable[str]) -> list[str]:
    """Proofs in their order; one that several letters bring is where the last of them has it."""
    found = [proof.strip("\n") for proof in proofs if proof.strip()]
    return list(dict.fromkeys(reversed(found)))[::-1]


def _subject(outs: Sequence[OutgoingLetter], *, same: bool) -> str:
    """The subject of joined letters."""
    # Where a game ended after very many turns, a letter may hold turns alone, and the next one the end.
    subjects = [out.subject for out in outs if out.named] or [out.subject for out in outs]
    if same:
        return joined_subjects(subjects)
    matches = list(dict.fromkeys(subject.partition("]")[0].removeprefix("[pbem ") for subject in subjects))
    named = matches if len(matches) <= _MATCHES else [*matches[:_MATCHES], "..."]
    return Phrase("[pbem] Your digest: {matches}", matches=", ".join(named))


def _inner(text: str) -> str:
    """The content of the one <div> in the one <body>, with which letters/letter.html frames every HTML part."""
    body = text.partition("<body>")[2].rpartition("</body>")[0].strip()
    assert body.startswith("<div")
    return body.partition(">")[2].removeprefix("\n").removesuffix("</div>").removesuffix("\n")


def _words(text: TemplateText | str | None) -> str:
    assert isinstance(text, str), "what is put together was put into words before"
    return text


def _preformatted(text: str) -> str:
    return f'<pre style="white-space:pre-wrap;word-wrap:break-word;overflow-wrap:anywhere">{html.escape(text)}</pre>'


class _Kept(msgspec.Struct):
    """The stored form of a letter that waits for its digest."""

    subject: str
    text: str
    html: str | None
    pictures: list[tuple[str, str, bytes]]
    attachments: list[tuple[str, str, bytes]]
    reply_to: str | None
    detail: str | None
    place: tuple[int, int, int] | None
    references: list[str]
    watch: tuple[int, int, datetime] | None
    bulletin: list[dict[str, Any]]
    due: str | None


def pack(out: OutgoingLetter) -> bytes:
    """A letter as it is kept until its digest goes: what is in it was made before."""
    return msgspec.json.encode({name: getattr(out, name) for name in _Kept.__struct_fields__})


def unpack(content: bytes) -> OutgoingLetter:
    """The letter again."""
    return OutgoingLetter(**msgspec.structs.asdict(msgspec.json.decode(content, type=_Kept)))
