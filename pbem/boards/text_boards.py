"""Boards and the words beside them as text: grids, legends and lists in columns, no line longer than its page.

Words come in as phrases, and are set once they are in the reader's language. No rules and no prose live here.
"""

from __future__ import annotations

from functools import cache, lru_cache
from itertools import zip_longest
from string import Formatter
from textwrap import wrap
from typing import TYPE_CHECKING, Final, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from pbem.games.squares import Line, Panel, Square

WIDTH: Final = 76
TITLE: Final = 74
_NO_BREAK: Final = "\xa0"


class Listed(Protocol):
    """An entry of a list: fields that a pattern names, and the parts of what is said about them."""

    @property
    def parts(self) -> Sequence[str]:
        """The parts of the text."""


def wrapped(text: str, width: int, indent: int, *, words: bool = True) -> str:
    """A text in lines of this many characters, all but the first indented; with `words`, longer words are broken."""
    if len(text) <= width and "\n" not in text:
        return text
    broken = (
        line
        for part in text.splitlines()
        for line in wrap(
            part, width, expand_tabs=False, replace_whitespace=False, break_long_words=words, break_on_hyphens=False
        )
        or [""]
    )
    return ("\n" + " " * indent).join(broken)


def columns(panels: Sequence[Panel], width: int, label: int = 1, apart: int = 1, *, named: bool = True) -> str:
    """Grids side by side: row names are `label` wide with `apart` blanks after them, columns are `width` wide.

    Columns are narrower if the page has no room for them; they have names if the grids are `named`.
    """
    blanks, between = " " * apart, " " * (2 * apart - 1)
    grids = []
    for panel in panels:
        room = width if 2 + label + apart + width * len(panel.columns) <= WIDTH else width - 1
        head = f"  {panel.name:>{label}}{blanks}" + "".join([f"{column:{room}}" for column in panel.columns])
        rows = [
            f"  {name:>{label}}{blanks}{_row(tuple(row), room)}"
            for name, row in zip(panel.rows, panel.squares, strict=True)
        ]
        grids.append([head, *rows] if named else rows)
    return "\n".join([between.join(rows).rstrip() for rows in zip(*grids, strict=True)])


@lru_cache(maxsize=4096)
def _row(squares: tuple[Square, ...], width: int) -> str:
    return "".join([square.text.ljust(width) for square in squares])


def numbered(text: str) -> str:
    """Numbered paragraphs, `1. ...`, rewrapped, with the lines after the first indented."""
    each = (paragraph.split(". ", 1) for paragraph in text.replace("\n ", " ").splitlines())
    return "".join(f"{number:>3}. {wrapped(' '.join(words.split()), 71, 5, words=False)}\n" for number, words in each)


def starting(text: str, starts: Sequence[str]) -> str:
    """The lines of a text that begin with one of these."""
    return "\n".join(line for line in text.splitlines() if line.startswith(tuple(starts)))


class TextSetter:
    """The filters with which templates set words, in one language: `say` gives a phrase's words."""

    def __init__(self, say: Callable[[object], str]) -> None:
        self.say = say

    def wrap(self, words: str, width: int = TITLE, indent: int = 0) -> str:
        """Words in lines of this many characters, all but the first indented."""
        return wrapped(self.say(words), width, indent)

    def heading(self, title: str, count: str) -> str:
        """A title at the left, a count at the right; or below it, if both are too long for a line."""
        left, right = self.say(title), self.say(count)
        if len(left) + len(right) < TITLE:
            return left + right.rjust(TITLE - len(left))
        return self.wrap(left, WIDTH) + "\n" + right.rjust(TITLE)

    def legend(self, entries: Iterable[str]) -> str:
        """A legend, three entries to a line, or as many as there is room for."""
        said = [self.say(entry) for entry in entries]
        count = next((each for each in (3, 2) if all(len(one) < 72 // each for one in said)), 1)
        lines = zip_longest(*[iter(said)] * count, fillvalue="")
        return "\n".join(["  " + "".join([f"{one:{72 // count}}" for one in line]).rstrip() for line in lines])

    def joined(self, parts: Iterable[str], between: str = "; ") -> str:
        """Parts one after another."""
        return between.join([self.say(part) for part in parts])

    def sentence(self, line: Line, between: str = ", ") -> str:
        """A line as running words."""
        return f"{self.say(line.label)}: {self.joined(line.parts, between)}"

    def lines(self, found: Iterable[Listed], pattern: str, between: str = "; ", page: int = WIDTH) -> str:
        """Lines of a list: fields by a pattern such as `{label:3}`, then the parts; no word is broken."""
        found = list(found)
        labels, indent = self._labels(found, pattern)
        told = [
            label + wrapped(self.joined(one.parts, between), page - indent, indent, words=False)
            for label, one in zip(labels, found, strict=True)
        ]
        return "\n".join([line.rstrip() for line in told])

    def pieces(self, found: Iterable[Listed], pattern: str, page: int = WIDTH) -> str:
        """Lines of a list, none of which ends within a part; an entry without parts is left out."""
        found = [one for one in found if one.parts]
        labels, indent = self._labels(found, pattern)
        told = []
        for label, one in zip(labels, found, strict=True):
            words = self.joined(one.parts, ", ")
            if len(words) > page - indent:
                # A line may end between the parts, as it may after a colon.
                words = ", ".join([self.say(part).replace(" ", _NO_BREAK) for part in one.parts])
                words = wrapped(words.replace(f":{_NO_BREAK}", ": "), page - indent, indent).replace(_NO_BREAK, " ")
            told.append(label + words)
        return "\n".join(told)

    def _labels(self, found: Sequence[Listed], pattern: str) -> tuple[list[str], int]:
        """The labels of a list by a pattern, and the column in which the text after all of them begins.

        A field is as wide as the longest words in it.
        """
        labels, indent = [""] * len(found), 0
        for before, name, pad, least in _fields(pattern):
            said = [self.say(getattr(one, name)) if name else "" for one in found]
            width = max([least, *map(len, said)]) if least else 0
            labels = [label + before + pad(words, width) for label, words in zip(labels, said, strict=True)]
            indent += len(before) + width
        return labels, indent

    def table(self, rows: Iterable[Sequence[object]], pattern: str) -> str:
        """Rows by a pattern of `str.format`, a place for each of their cells."""
        return "\n".join([pattern.format(*map(self.say, row)).rstrip() for row in rows])


@cache
def _fields(pattern: str) -> list[tuple[str, str, Callable[[str, int], str], int]]:
    """The fields of a pattern: the text before each, its name, alignment and least width; the last is only text."""
    parsed = [(before, name or "", spec or "") for before, name, spec, _ in Formatter().parse(pattern)]
    return [
        (before, name, str.rjust if spec.startswith(">") else str.ljust, int(spec.strip("<>") or 0))
        for before, name, spec in parsed
    ]
