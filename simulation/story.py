"""What happened in a week, for people: who did what, when, in plain words.

A failed week tells first what concerns the matches and letters that its broken promises name.
"""

from __future__ import annotations

import re
from datetime import timedelta
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import datetime

NAMED = re.compile(r"\bm[0-9]+\b|<[^\s<>]+@[^\s<>]+>")
"""The name of a match or of a letter."""
HEADER = re.compile(r"(?im)^(Subject|Message-ID|In-Reply-To): *(.*(?:\n[ \t].*)*)$")


class Line(NamedTuple):
    """One thing that happened, and the letter that it happened to, if any."""

    at: datetime
    words: str
    raw: bytes = b""

    def __str__(self) -> str:
        letter = f" {_letter(self.raw)}" if self.raw else ""
        return f"{self.at:%a %d %b %H:%M:%S}  {self.words}{letter}"


def _letter(raw: bytes) -> str:
    """A letter in a few words: its subject, its name, and the letter that it answers."""
    head = raw.replace(b"\r\n", b"\n").partition(b"\n\n")[0].decode("utf-8", "replace")
    found = {name.lower(): " ".join(value.split()) for name, value in HEADER.findall(head)}
    answers = f", in answer to {found['in-reply-to']}" if "in-reply-to" in found else ""
    return f"'{found.get('subject', '')}' {found.get('message-id', 'without a name')}{answers}"


def told(lines: Sequence[Line], broken: Sequence[str]) -> Iterator[str]:
    """The story, and before it what concerns those named in promises that were broken."""
    story = [str(line) for line in lines]
    named = {name for one in broken for name in NAMED.findall(one)}
    if named:
        yield f"What concerns {', '.join(sorted(named))}:"
        yield from (line for line in story if named & {*NAMED.findall(line)})
        yield "Everything:"
    yield from story


def span(seconds: float) -> str:
    """A length of time in words."""
    days, rest = divmod(timedelta(seconds=int(abs(seconds))), timedelta(days=1))
    hours, rest = divmod(rest, timedelta(hours=1))
    parts = (days, "d"), (hours, "h"), (rest // timedelta(minutes=1), "min")
    return " ".join(f"{number} {unit}" for number, unit in parts if number) or f"{int(abs(seconds))} s"
