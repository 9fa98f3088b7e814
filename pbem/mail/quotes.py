"""Quotes in plain text that a mail program left without `>`: by which lines they are known, and where they end.

Outlook, Yahoo and phones put a header above the letter that is answered, and all below it is the quote. Here live
these headers: in English and German by their words, in other languages by an address and a time in their fields.
Signed text is never read in this way. Implements docs/bundle.md, 6.6.
"""

from __future__ import annotations

import re
from itertools import takewhile

_DASHES = "[-\u2010-\u2015]{2,}"
SEPARATOR = re.compile(
    rf"{_DASHES} ?(?:original[ -]?message|original[ -]?nachricht|urspr(?:ü|ue)ngliche nachricht|forwarded message"
    rf"|weitergeleitete nachricht) ?{_DASHES}"
    r"|begin forwarded message:|anfang der weitergeleiteten (?:nachricht|e-mail):",
    re.I,
)
"""The line above a quote that says what it is."""

_RULE = re.compile(r"[_\u2010-\u2015-]{5,}")
_FIELD = re.compile(r"[*_]{0,2}(?:(from|von)|(sent|date|gesendet|datum)|(to|an|subject|betreff))[*_]{0,2} ?:", re.I)
_KINDS, _WITHIN = 3, 6
"""The kinds of fields that a block has, and the lines within which: a mail program breaks long ones."""

_NAMED = re.compile(r"(?:\| )?[*_]{0,2}[^\W\d_][^|:\uff1a<>@]{0,40}[:\uff1a|].*")
"""A field by any name; 163.com writes them between bars."""
_DASH = frozenset("_-\u2010\u2011\u2012\u2013\u2014\u2015")

_BROKEN, _LONGEST = 3, 500
"""The most lines and characters of what says who wrote, and when."""
_WHEN = re.compile(r"\d[:.]\d\d|\d{4}")
_WROTE = re.compile(r"(?:on|am) (?>.*?\b(?:wrote|schrieb|geschrieben)\b)[^:]*+:(?: |\Z)", re.I)
_WROTE_ON = re.compile(r"[^:<>]*<[^<>@ ]+@[^<>@ ]+> (?:wrote|schrieb)\b.*:", re.I)
_ON = re.compile(r"(?:on|am) ", re.I)
_BY = re.compile(r"[^:<>]*<[^<>@ ]+@[^<>@ ]+>")
_CLOCK = re.compile(r"\b[0-9]{1,2}:[0-9]{2}\b")


def marked(text: str) -> str:
    """A clean text in which each line of a quote has its `>`, and one more for each quote around it."""
    lines = [line.strip() for line in text.split("\n")]
    marks: list[str] = []
    around = ""
    above = False
    while len(marks) < len(lines):
        at = len(marks)
        end = _after_header(lines, at)
        if end == at:
            above = above or bool(lines[at] and not _is_marked(lines[at]))
            marks.append(around)
        elif _is_marked_below(lines, end, above=above and _begun(lines, at) > 0):
            marks += [f"{around}>"] * (end - at)
        else:
            around += ">"
            # A field may be broken: no other header begins in this paragraph.
            while end < len(lines) and lines[end]:
                end += 1
            marks += [around] * (end - at)
    return "\n".join(f"{mark} {line}" if mark else line for mark, line in zip(marks, text.split("\n"), strict=True))


def _is_marked_below(lines: list[str], at: int, *, above: bool) -> bool:
    """True if marks say what is quoted below a header.

    Our answers begin with a marked paragraph, too: what they answer. Below the reply to one it is just that.
    """
    marked = []
    while at < len(lines) and (not lines[at] or _is_marked(lines[at])):
        marked.append(lines[at].strip("> "))
        at += 1
    while marked and not marked[-1]:
        marked.pop()
    return bool(marked) and (not above or not all(marked))


def _after_header(lines: list[str], at: int) -> int:
    """The first line that is neither of the header that begins here nor empty; `at` if none begins."""
    count = _begun(lines, at) or _introduced(lines, at)
    while count:
        at = _next(lines, at + count - 1)
        is_field = at < len(lines) and _FIELD.match(lines[at]) is not None
        count = 0 if at == len(lines) else _begun(lines, at) or int(is_field) or _introduced(lines, at)
    return at


def _begun(lines: list[str], at: int) -> int:
    """The number of lines by which a header begins here."""
    line = lines[at]
    if not line or _is_marked(line):
        return 0
    if SEPARATOR.fullmatch(line) or _begins_block(lines, at):
        return 1
    if _RULE.fullmatch(line) and (after := _next(lines, at)) < len(lines) and _begins_block(lines, after):
        return 1
    count = next((count for count in range(1, _BROKEN + 1) if _says_who_wrote(lines[at : at + count])), 0)
    if count == 0 and len(line) >= 5 and {*line[:3], *line[-3:]} <= _DASH:
        return int((after := _next(lines, at)) < len(lines) and _fields_of_a_sender(lines, after) > 0)
    return count or _fields_of_a_sender(lines, at)


def _introduced(lines: list[str], at: int) -> int:
    """The number of lines from here that end in a colon above a mark, in whatever language they say who wrote."""
    if not lines[at]:
        return 0
    for count in range(1, _BROKEN + 1):
        some = lines[at : at + count]
        if not some[-1].endswith((":", "\uff1a")) or not all(some) or any(map(_is_marked, some)):
            continue
        clocks = [_CLOCK.search(line) is not None for line in some]
        timed = count == 1 or clocks == [True, *[False] * (count - 1)]
        following = _next(lines, at + count - 1)
        if timed and following < len(lines) and _is_marked(lines[following]):
            return count
    return 0


def _begins_block(lines: list[str], at: int) -> bool:
    """True if fields of all kinds begin here."""
    kinds: set[int | None] = set()
    for _ in range(_WITHIN):
        if at == len(lines) or _is_marked(lines[at]):
            break
        field = _FIELD.match(lines[at])
        if field is None and not kinds:
            return False
        if field is not None:
            kinds.add(field.lastindex)
        at = _next(lines, at)
    return len(kinds) == _KINDS


def _fields_of_a_sender(lines: list[str], at: int) -> int:
    """The number of fields that begin here, if the first has an address, and another one a time; otherwise 0."""
    fields = list(takewhile(_NAMED.fullmatch, lines[at : at + _WITHIN]))
    timed = any(map(_WHEN.search, fields[1:]))
    return len(fields) if len(fields) >= _KINDS and "@" in fields[0] and timed else 0


def _says_who_wrote(some: list[str]) -> bool:
    """True if these lines say who wrote what is below them, and when."""
    first, said = some[0], " ".join(some)
    if len(said) > _LONGEST or not all(some) or any(map(_is_marked, some)):
        return False
    wrote = (_ON.match(first) and _WROTE.match(said)) or (_BY.match(first) and _WROTE_ON.fullmatch(said))
    return bool(wrote and _WHEN.search(said))


def _next(lines: list[str], at: int) -> int:
    """The next line that is not empty; their number if there is none."""
    at += 1
    while at < len(lines) and not lines[at]:
        at += 1
    return at


def _is_marked(line: str) -> bool:
    return line.startswith(">")
