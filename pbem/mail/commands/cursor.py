"""A text made ready to be read: cleaned, its quotes left out; and a cursor over its words.

Nothing here knows any command. Implements protocol.md, "Commands" (quotes, blanks and line ends).
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from itertools import accumulate
from typing import NamedTuple

from pbem.linked_names import unlinked
from pbem.mail.quotes import marked

ARMOR = "-----BEGIN SSH SIGNATURE-----"
_ARMOR_END = "-----END SSH SIGNATURE-----"
_CLOCK = re.compile(r"\b[0-9]{1,2}:[0-9]{2}\b")
_INVISIBLE = dict.fromkeys(map(ord, "\u00ad\u200b\u200c\u200d\u2060\ufeff"))
_LINE_END = re.compile(r"\r\n?|[\n\v\f\x85\u2028\u2029]")
_BLANK = re.compile(r"[^\S\n]")
_WORD = re.compile(r"\S+")
_NARROW = 66
"""The columns that mail programs leave to a line, at least."""
_UNCLEAN = re.compile(r"[^\n -~]")


def clean(text: str) -> str:
    """Make line ends LF, other white space blanks; remove invisible characters, and links that repeat names."""
    if _UNCLEAN.search(text):
        text = _BLANK.sub(" ", _LINE_END.sub("\n", text).translate(_INVISIBLE))
    return unlinked(text)


class Lines(NamedTuple):
    """The lines of a text: those to be read, runs of quotes, each with its 1-based number, and what is below."""

    kept: list[tuple[int, str]]
    quotes: list[tuple[int, str]]
    tail: list[str]


def own_lines(text: str, *, signed: bool) -> Lines:
    """Separate the numbered lines to be read from the quotes, and from what follows `-- ` or a signature."""
    text, _, after = text.partition(ARMOR)
    text = text if signed else marked(text)
    after = after.partition(_ARMOR_END)[2].strip()
    kept: list[tuple[int, str]] = []
    quotes: list[tuple[int, list[str]]] = []
    tail = [after] if after else []
    lines = text.split("\n")
    for number, line in enumerate(lines, 1):
        # A mail signature begins here (RFC 3676 4.3); many programs drop the blank behind the dashes.
        if line.rstrip() == "--":
            tail.insert(0, "\n".join(lines[number - 1 :]).strip())
            break
        if not line.lstrip().startswith(">"):
            kept.append((number, line))
        elif quotes and quotes[-1][0] + len(quotes[-1][1]) == number:
            quotes[-1][1].append(line)
        else:
            quotes.append((number, [line]))
    return Lines(kept, [(number, "\n".join(run)) for number, run in quotes], tail)


def own_text(text: str) -> str:
    """The lines of an unsigned text that its commands are read from: no quotes, and nothing below `-- `."""
    return "\n".join(line for _, line in own_lines(clean(text), signed=False).kept)


def own_runs(text: str) -> list[str]:
    """The lines of an unsigned text, as `own_text` has them, and the runs of its quotes between them."""
    lines = own_lines(clean(text), signed=False)
    return [run for _, run in sorted((*lines.kept, *lines.quotes))]


def first_paragraph(text: Lines) -> str:
    """The first paragraph, without the line that introduces a quote, such as `On 3 May, 10:15, Bob wrote:`."""
    lines: list[str] = []
    before, ended = 0, False
    # A quote may also be the last of the text.
    end = 1 + max((number for number, _ in (*text.kept, *text.quotes)), default=0)
    for number, line in (*text.kept, (end, "")):
        quoted = number != before + 1
        # The quote itself is gone; a colon above it ends the line that introduced it.
        if quoted and lines and lines[-1].endswith(":"):
            lines = unattributed(lines)
        if lines and (quoted or (ended and line.strip())):
            break
        ended = not line.strip()
        lines += filter(None, [line.strip()])
        before = number
    return "\n".join(lines)


def unattributed(lines: list[str]) -> list[str]:
    """The lines above a quote, without its introduction, which a mail program may have broken into three lines."""
    begins = (count for count, line in enumerate(reversed(lines[-3:]), start=1) if _CLOCK.search(line))
    return lines[: -next(begins, 1)]


class Words:
    """A cursor over the words of a text whose quotes are removed."""

    def __init__(self, numbered: list[tuple[int, str]]) -> None:
        self.text = "\n".join(line for _, line in numbered)
        self._numbers = [number for number, _ in numbered]
        self._line_starts = list(accumulate([len(line) + 1 for _, line in numbered], initial=0))
        found = list(_WORD.finditer(self.text))
        self._words = [word[0] for word in found]
        self._starts = [word.start() for word in found]
        self.at = 0

    def word(self, ahead: int = 0) -> str:
        """The word at the cursor as written, "" after the last."""
        try:
            return self._words[self.at + ahead]
        except IndexError:
            return ""

    def low(self, ahead: int = 0) -> str:
        """The word in lower case."""
        return self.word(ahead).lower()

    def bare(self, ahead: int = 0) -> str:
        """The word without the punctuation that people put after arguments."""
        return self.word(ahead).rstrip(",;.:")

    def take(self) -> str:
        """The word at the cursor; moves the cursor on."""
        self.at += 1
        return self.word(-1)

    @property
    def more(self) -> bool:
        """True if any word is left."""
        return self.at < len(self._words)

    @property
    def start(self) -> int:
        """Offset of the word at the cursor."""
        return self._starts[self.at] if self.more else len(self.text)

    @property
    def passed(self) -> int:
        """Offset after the word before the cursor."""
        return self._starts[self.at - 1] + len(self._words[self.at - 1]) if self.at else 0

    def same_line(self) -> bool:
        """True if the word at the cursor is on the line of the word before it."""
        return self.more and "\n" not in self.text[self.passed : self.start]

    def is_wrapped(self) -> bool:
        """True if the line above was too long with the word at the cursor: a mail program may have broken it."""
        line = self.text[self.text.rfind("\n", 0, self.passed) + 1 : self.start]
        return self.more and line.count("\n") == 1 and len(" ".join([*line.split(), self.word()])) > _NARROW

    def move_to(self, offset: int) -> None:
        """Move to the first word that begins at this offset or after it."""
        self.at = bisect_left(self._starts, offset)

    def take_line(self) -> None:
        """Move past the last word of this line."""
        while self.same_line():
            self.at += 1

    def line(self, offset: int) -> int:
        """1-based line, in the text as it came, of an offset."""
        return self._numbers[bisect_right(self._line_starts, offset) - 1] if self._numbers else 1
