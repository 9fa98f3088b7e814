"""What players write: their texts with the faults in them, slips of the pen in every notation, and agreed options.

Slips (dashes, commas, comments, what phones put around words) help to find what a text was probably meant to say. The
player is asked; nothing is played unasked: the notations stay strict.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, TypeVar

from pbem.games import Fault, refuse
from pbem.phrase import Phrase

if TYPE_CHECKING:
    from collections.abc import Iterator

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


Readers = Mapping[str, Callable[[object], object]]
"""The reader of each option: it turns a TOML value into the option's, or raises ValueError with a phrase."""

T = TypeVar("T")


def one_of(values: Sequence[T], says: Phrase) -> Callable[[object], T]:
    """A reader of an option with these values, all of one type: to Python, true is a 1, but not to players."""

    def read(value: object) -> T:
        if type(value) is not type(values[0]) or value not in values:
            raise ValueError(says)
        return value

    return read


def read_options(
    raw: Mapping[str, object], readers: Readers, seats: int, able: Sequence[int], otherwise: Phrase
) -> tuple[dict[str, Any], list[Fault]]:
    """The options that can be read, and the faults, each named by its option; `otherwise` is said of the seats."""
    faults = []
    if type(seats) is not int or seats not in able:
        faults.append(Fault("seats", None, otherwise))
    agreed: dict[str, Any] = {}
    for name, value in raw.items():
        if name not in readers:
            faults.append(Fault(str(name), str(name), Phrase("there is no option {name}", name=name)))
            continue
        try:
            agreed[name] = readers[name](value)
        except ValueError as error:
            faults.append(Fault(name, name, Phrase("option {name}: {reason}", name=name, reason=error.args[0])))
    return agreed, faults
