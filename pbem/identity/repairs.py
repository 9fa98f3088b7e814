"""The texts that a player may have signed before mail programs changed them: readings of the text that came.

Repairs are safe whatever they do: only the very bytes that the player's key signed verify, and commands are read from
those bytes alone. Each reading costs a verification, so the likeliest come first. Implements protocol.md, "Identity".
"""

from __future__ import annotations

import codecs
import re
from functools import cache
from hashlib import sha256
from itertools import islice, product
from typing import TYPE_CHECKING

from pbem.linked_names import unlinked

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from pbem.identity.verdict import Vocabulary

_STARTS = 6
"""The most lines that look like the start of a signed form and are tried."""

_HEAD = 400
"""More words than the first line and the fields of any form have."""

_INVISIBLE = dict.fromkeys(map(ord, "\u00ad\u200b\u200c\u200d\u2060\ufeff"))
_BLANK = re.compile(r"[^\S\n]")
SMART = str.maketrans(
    {"\u2018": "'", "\u2019": "'", "\u201c": '"', "\u201d": '"', "\u2013": "-", "\u2014": "--", "\u2026": "..."}
)
"""Typographic quotes, dashes and dots, and the plain ones that a mail program replaced by them."""


def readings(text: str, words: Vocabulary) -> Iterator[bytes]:
    """The texts that a player may have signed before mail programs changed them, the likeliest first.

    The text as it came; then, from its start and from each line that begins a form: blanks at line ends,
    blank lines around, invisible characters and NBSP repaired; margins and blank lines dropped; a form's
    head lines broken again at their keywords; its body unwrapped, or put on one line; links of names left out.
    Each with LF and CRLF, with and without the last line end; the likeliest as files of Windows, too. A repair
    is safe whatever it does: only the very bytes that the player's key signed verify, and commands are read
    from those bytes alone.
    """
    return each_once(
        repaired.encode("utf-8", "replace")
        for start in _starts(text, words)
        for repaired in _repairs(text[start:], words.fields)
    )


def clear_readings(text: str, words: Vocabulary) -> Iterator[bytes]:
    """The texts of a clear-signed message: dashes unescaped, no blanks at line ends, CR LF between (RFC 9580 7.1)."""
    unescaped = readings(re.sub(r"^- ", "", text, flags=re.M), words)
    # Most readings differ only in line ends.
    for reading in each_once(reading.replace(b"\r\n", b"\n") for reading in unescaped):
        message = b"\r\n".join(line.rstrip(b" \t\r") for line in reading.split(b"\n"))
        yield message.removesuffix(b"\r\n")
        yield message


def in_other_encodings(text: str, words: Vocabulary) -> Iterator[tuple[str, bytes]]:
    """A pasted text as Windows may have encoded the file that was signed, with the encoding, only to name it."""
    for start in _starts(text, words):
        lines = _trimmed(_BLANK.sub(" ", text[start:].replace("\r\n", "\n").translate(_INVISIBLE)))
        for file in ("\r\n".join([*lines, ""]), "\r\n".join(lines)):
            # `>` of PowerShell, and Notepad's "Unicode".
            yield "UTF-16", codecs.BOM_UTF16_LE + file.encode("utf-16-le", "replace")
            yield "UTF-16", codecs.BOM_UTF16_BE + file.encode("utf-16-be", "replace")
            # Notepad's "ANSI", and a pipe of PowerShell 5, which makes `?` of each foreign character.
            if not file.isascii():
                yield "Windows-1252", file.encode("cp1252", "replace")
                yield "ASCII", file.encode("ascii", "replace")


def each_once(texts: Iterable[bytes]) -> Iterator[bytes]:
    """The texts without those that came before."""
    seen = set()
    for text in texts:
        digest = sha256(text).digest()  # the readings of a long text would fill the memory
        if digest not in seen:
            seen.add(digest)
            yield text


def _starts(text: str, words: Vocabulary) -> Iterator[int]:
    yield 0
    for match in islice(opening(words).finditer(text), _STARTS):
        yield match.start(1)


@cache
def opening(words: Vocabulary) -> re.Pattern[str]:
    """A pattern for the beginning of a form's first line."""
    names = sorted({name.partition(" ")[0] for name in words.commands})
    return re.compile(rf"^[^\S\n]*({'|'.join(map(re.escape, names))})\b", re.I | re.M)


def _repairs(text: str, fields: Collection[str]) -> Iterator[str]:
    yield text
    plain = text.replace("\r\n", "\n").replace("\r", "\n")
    yield plain
    visible = _BLANK.sub(" ", plain.translate(_INVISIBLE))
    clean = _trimmed(visible)
    layouts = _layouts(clean, fields)
    files = layouts[:2]
    if (named := _trimmed(unlinked(visible, joined=True))) != clean:
        clean = named
        layouts += _layouts(clean, fields)
        files += _layouts(clean, fields)[:2]
    layouts += _flowed(plain)
    smart = [line.translate(SMART) for line in clean]
    if smart != clean:
        layouts += _layouts(smart, fields)
    for lines in layouts:
        for line_end in ("\n", "\r\n"):
            whole = line_end.join(lines)
            yield whole + line_end
            yield whole
    # A file of Windows may begin with a byte order mark; a pipe of PowerShell adds a line end, `echo` of cmd.exe a
    # blank before that. Only what is likely to have been a file is tried so: each reading costs a verification.
    for lines, line_end in product(files, ("\n", "\r\n")):
        whole = line_end.join(lines)
        for mark, end in product(("\ufeff", ""), (line_end, "", f"{line_end}\r\n", "\r\n", " \r\n")):
            yield f"{mark}{whole}{end}"


def _trimmed(text: str) -> list[str]:
    """The lines of a text, without blanks at their ends and empty lines around."""
    return "\n".join(line.rstrip() for line in text.split("\n")).strip("\n").split("\n")


def _flowed(text: str) -> list[list[str]]:
    """Undo format=flowed (RFC 3676 4): space-stuffing, then soft line ends; none if there is nothing to undo."""
    lines = text.strip("\n").split("\n")
    stuffed = [line.removeprefix(" ") for line in lines]
    runs: list[list[str]] = []
    soft = False
    for line in stuffed:
        if soft:
            runs[-1].append(line)
        else:
            runs.append([line])
        soft = line.endswith(" ") and line != "-- "
    return [undone for undone in (stuffed, ["".join(run) for run in runs]) if undone != lines]


def _layouts(clean: list[str], fields: Collection[str]) -> list[list[str]]:
    dense = [line.strip() for line in clean if line]
    head, body, tail = _form(dense, fields)
    return [clean, dense, [*head, *body, *tail], [*head, *_unwrapped(body), *tail], [*head, " ".join(body), *tail]]


def _form(lines: list[str], fields: Collection[str]) -> tuple[list[str], list[str], list[str]]:
    """Break a form at its keywords: first line and fields, body, `end`."""
    text = "\n".join(lines)
    tail: list[str] = []
    if (closed := re.search(r"\s(end)$", text, re.I)) is not None:
        text, tail = text[: closed.start()], [closed[1]]
    # A form begins with a few words; the rest of a long text is not taken apart.
    words = list(islice(re.finditer(r"\S+", text), _HEAD))
    # The first word is the command's name, and one of them, `challenge`, is also a field's.
    at = next((at for at, word in enumerate(words) if at and word[0].lower() in fields), len(words))
    head = [" ".join(word[0] for word in words[:at])]
    while at < len(words) and words[at][0].lower() in fields:
        head.append(" ".join(word[0] for word in words[at : at + 2]))
        at += 2
    if len(head) == 1 or at == _HEAD:
        return [], text.split("\n"), tail
    if at < len(words) and words[at][0].lower() == "final":
        head.append(words[at][0])
        at += 1
    body = text[words[at].start() :].split("\n") if at < len(words) else []
    return head, body, tail


def _unwrapped(lines: list[str]) -> list[str]:
    """Join each line to the previous one if it would not have fitted there: programs wrap at 72 to 78."""
    runs: list[list[str]] = []
    last = 0
    for line in lines:
        if runs and last + 1 + len(line.split(" ", 1)[0]) > 72:
            runs[-1].append(line)
        else:
            runs.append([line])
        last = len(line)
    return [" ".join(run) for run in runs]
