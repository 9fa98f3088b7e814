"""A text made ready to be read, and a cursor over its words.

Nothing here knows any command. Implements protocol.md, "Commands" (quotes, blanks and line ends).
"""

from __future__ import annotations

import re
from bisect import bisect_left
from itertools import accumulate

from pbem.linked_names import unlinked

_INVISIBLE = dict.fromkeys(map(ord, "\u00ad\u200b\u200c\u200d\u2060\ufeff"))
_LINE_END = re.compile(r"\r\n?|[\n\v\f\x85\u2028\u2029]")
_BLANK = re.compile(r"[^\S\n]")
_WORD = re.compile(r"\S+")
_UNCLEAN = re.compile(r"[^\n -~]")


def clean(text: str) -> str:
    """Make line ends LF, other white space blanks; remove invisible characters, and links that repeat names."""
    if _UNCLEAN.search(text):
        text = _BLANK.sub(" ", _LINE_END.sub("\n", text).translate(_INVISIBLE))
    return unlinked(text)


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

    def move_to(self, offset: int) -> None:
        """Move to the first word that begins at this offset or after it."""
        self.at = bisect_left(self._starts, offset)

    def take_line(self) -> None:
        """Move past the last word of this line."""
        while self.same_line():
            self.at += 1

    def line(self, offset: int) -> int:
        """1-based line, in the text as it came, of an offset."""
        at = min(bisect_left(self._line_starts, offset + 1), len(self._numbers))
        return self._numbers[at - 1] if self._numbers else 1
