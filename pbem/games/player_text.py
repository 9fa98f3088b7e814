"""A player's text: its faults in the order in which they were written, and the slips of the pen in every notation.

Slips (dashes, commas, comments, what phones put around words) help to find what a text was probably meant to say. The
player is asked; nothing is played unasked: the notations stay strict.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from functools import cached_property
from typing import TYPE_CHECKING, Final

from pbem.games import Fault, refuse

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pbem.phrase import Phrase

WORDS: Final = re.compile(r"[^\s,;]+")
_COMMENT: Final = re.compile(r"#[^\n\r]*")
_LINE: Final = re.compile(r"\S(?:[^\n\r]*\S)?")
_LINE_END: Final = re.compile(r"\r\n|\n|\r")


def without_comments(text: str, instead: str = "") -> str:
    """A text without what stands behind a `#` in each line."""
    return _COMMENT.sub(instead, text) if "#" in text else text


def blanked(text: str) -> str:
    """A text with blanks in the place of comments, so that everything else stays where it was."""
    return _COMMENT.sub(lambda found: " " * len(found[0]), text)


class Text:
    """A text, and the faults in it."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._faults: list[tuple[int, Fault]] = []

    def lines(self) -> Iterator[tuple[int, str]]:
        """The lines that are not blank, with the place of each."""
        for found in _LINE.finditer(self.text):
            yield found.start(), found[0]

    def before(self, at: int) -> str:
        """The part of a line before a place."""
        ends = bisect_right(self._line_ends, at)
        return self.text[self._line_ends[ends - 1] if ends else 0 : at]

    def blame(self, rule: str, token: str | None, message: Phrase, at: int | None = None) -> None:
        """Note a fault at a place of the text; what is missing stands behind everything, in no line."""
        line = None if at is None else bisect_right(self._line_ends, at) + 1
        self._faults.append((len(self.text) + 1 if at is None else at, Fault(rule, token, message, line)))

    def refuse_faults(self) -> None:
        """Raise `Refused` with all faults, the first written first, if there are any."""
        refuse(fault for _, fault in sorted(self._faults, key=lambda placed: placed[0]))

    @cached_property
    def _line_ends(self) -> list[int]:
        return [end.end() for end in _LINE_END.finditer(self.text)]


_DASHES: Final = dict.fromkeys(map(ord, "\u2010\u2011\u2012\u2013\u2014\u2015\u2212\ufe58\ufe63\uff0d"), "-")
_SEPARATORS: Final = dict.fromkeys(map(ord, ",;"), " ")
_PUT_AROUND: Final = re.compile(r"""(?<!\S)["'`]+|(?<=[\w)])[.!?"'`]++(?!\S)""")
_PICTURES: Final = re.compile(r"[^\w\s\x00-\x7f]")


def plain(text: str) -> str:
    """A text with plain dashes, with blanks for commas and pictures, and without comments and quotes; its lines stay.

    A sentence's end may stand behind a word: phones write it unasked.
    """
    words = without_comments(text).translate(_DASHES | _SEPARATORS)
    return _PUT_AROUND.sub(" ", _PICTURES.sub(" ", words))
