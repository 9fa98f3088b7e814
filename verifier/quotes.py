"""6.6 Quotes without marks."""

from __future__ import annotations

import itertools
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

DASH = "\u2010\u2011\u2012\u2013\u2014\u2015-"
SAYS = (
    "original( |-)?message|original( |-)?nachricht|(ursprüngliche|urspruengliche) nachricht|forwarded message"
    "|weitergeleitete nachricht"
)
SEPARATOR = re.compile(
    f"[{DASH}][{DASH}]+ ?({SAYS}) ?[{DASH}][{DASH}]+"
    "|begin forwarded message:|anfang der weitergeleiteten (nachricht|e-mail):",
    re.IGNORECASE,
)
RULE = re.compile(f"[_{DASH}]{{5,}}")
FIELD = re.compile(r"[*_]{0,2}([a-z]+)[*_]{0,2} ?:", re.IGNORECASE)
NAMED = re.compile(r"(\| )?[*_]{0,2}[^\W\d_][^|:\uff1a<>@]{0,40}[:\uff1a|].*")
KINDS = {"from": 1, "von": 1, "sent": 2, "date": 2, "gesendet": 2, "datum": 2}
KINDS |= {"to": 3, "an": 3, "subject": 3, "betreff": 3}
MAILBOX = "[^:<>]*<[^<>@ ]+@[^<>@ ]+>"
TIME = re.compile(r"\b[0-9]{1,2}:[0-9]{2}\b")


def marked(text: str) -> str:
    """A clean text whose quotes all have their marks."""
    lines = text.split("\n")
    done: list[str] = []
    level, above = "", False
    while lines:
        count = header(lines)
        here, rest = level, lines[count:]
        if not count:
            above = above or not (quoted(lines[0]) or lines[0].isspace() or not lines[0])
            count = 1
        elif marks_tell(rest, above=above and begun(lines) > 0):
            here += ">"
        else:
            here = level = level + ">"
            count += next((at for at, line in enumerate(rest) if not line.strip()), len(rest))
        done += [f"{here} {line}" if here else line for line in lines[:count]]
        lines = lines[count:]
    return "\n".join(done)


def marks_tell(rest: Sequence[str], *, above: bool) -> bool:
    """Whether the lines below a header bear marks, and are not just what our answer repeats."""
    said = [line.strip("> ") for line in itertools.takewhile(lambda line: quoted(line) or not line.strip(), rest)]
    last = max((at for at, line in enumerate(said) if line), default=-1)
    return last >= 0 and (not above or "" in said[:last])


def quoted(line: str) -> bool:
    return line.lstrip(" ").startswith(">")


def header(lines: Sequence[str]) -> int:
    """How many lines belong to the header that begins with the first, with the empty ones below it; 0: none does."""
    at = 0
    while at < len(lines):
        more = begun(lines[at:]) or (1 if at and kind(lines[at]) else 0) or introduced(lines[at:])
        if not more:
            break
        at += more
        while at < len(lines) and not lines[at].strip():
            at += 1
    return at


def kind(line: str) -> int:
    found = FIELD.match(line.strip())
    return KINDS.get(found[1].casefold(), 0) if found else 0


def begun(lines: Sequence[str]) -> int:
    first = lines[0].strip()
    if not first or quoted(first):
        return 0
    if SEPARATOR.fullmatch(first) or is_block(lines) or (RULE.fullmatch(first) and is_block(below(lines[1:]))):
        return 1
    said = next((said for said in beginnings(lines) if is_attribution(said)), [])
    if not said and len(first) > 4 and all(one in f"_{DASH}" for one in first[:3] + first[-3:]):
        return min(named(below(lines[1:])), 1)
    return len(said) or named(lines)


def named(lines: Sequence[str]) -> int:
    """How many fields in any language begin here, of which the first has an address, and another a time."""
    fields = [line.strip() for line in itertools.takewhile(lambda line: NAMED.fullmatch(line.strip()), lines[:6])]
    if len(fields) < 3 or "@" not in fields[0]:
        return 0
    return len(fields) if any(re.search(r"\d[:.]\d\d|\d{4}", line) for line in fields[1:]) else 0


def introduced(lines: Sequence[str]) -> int:
    found = (len(said) for said in beginnings(lines) if introduces(said, below(lines[len(said) :])))
    return next(found, 0)


def beginnings(lines: Sequence[str]) -> Iterator[list[str]]:
    """The first one, two and three lines, as far as none is empty or marked."""
    for count in (1, 2, 3):
        said = [line.strip() for line in lines[:count]]
        if len(said) < count or "" in said or any(map(quoted, said)):
            return
        yield said


def below(lines: Sequence[str]) -> Sequence[str]:
    """What begins at the first line that is not empty."""
    return lines[next((at for at, line in enumerate(lines) if line.strip()), len(lines)) :]


def is_block(lines: Sequence[str]) -> bool:
    if not lines or not kind(lines[0]):
        return False
    found: list[int] = []
    for line in lines:
        if quoted(line) or len(found) == 6:
            break
        found += [kind(line)] if line.strip() else []
    return {1, 2, 3} <= {*found}


def is_attribution(said: Sequence[str]) -> bool:
    text = " ".join(said)
    if len(text) > 500 or not re.search(r"\d[:.]\d\d|\d{4}", text):
        return False
    wrote = re.search(r"(?i)\b(wrote|schrieb|geschrieben)\b", text)
    if re.match("(?i)(on|am) ", said[0]) and wrote and re.match(r"[^:]*:( |\Z)", text[wrote.end() :]):
        return True
    return bool(re.match(MAILBOX, said[0]) and re.fullmatch(rf"(?i){MAILBOX} (wrote|schrieb)\b.*:", text))


def introduces(said: Sequence[str], following: Sequence[str]) -> bool:
    if said[-1][-1] not in ":\uff1a" or not following or not quoted(following[0]):
        return False
    return len(said) == 1 or [bool(TIME.search(line)) for line in said] == [True] + [False] * (len(said) - 1)
