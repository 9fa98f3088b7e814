"""The sections of a block: what the letters of sealed matches bring between their place and their `end`.

One table says what each section holds. Line ends do not matter, as in everything that is signed. The game judges what
the lines of a section mean. Implements docs/playing.md, "Sealed matches".
"""

from __future__ import annotations

import base64
import binascii
import re
import textwrap
from typing import TYPE_CHECKING

import msgspec

from pbem.mail.commands.cursor import Words
from pbem.phrase import Phrase, either
from pbem.requests import Section

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

NOTE = 4096
"""The most octets of a note to oneself."""

_WIDTH = 72
_HASH = re.compile(r"[0-9a-fA-F]{64}")
_NUMBER = re.compile(r"[1-9][0-9]{0,8}")
_COMMENT = re.compile(r"#[^\n]*")


class _Section(msgspec.Struct, frozen=True):
    """The form of a section: its arguments in order, and whether lines follow up to `done`."""

    arguments: tuple[str, ...] = ()
    lines: bool = False
    hashes: bool = False
    """True if any number of hashes leads the lines: how many, the paper says that the game has for this step."""
    many: bool = False
    """True if there may be several, with different arguments."""


SECTIONS: Mapping[str, Mapping[str, _Section]] = {
    "seal": {"commitment": _Section(("hash",)), "note": _Section()},
    "step": {
        "commit": _Section(("hash",)),
        **dict.fromkeys(("open", "answers", "flash", "departs", "setup"), _Section(lines=True, hashes=True)),
        "note": _Section(),
    },
    "reveal": {
        "seed": _Section(("hash",)),
        "setup": _Section(lines=True),
        "orders": _Section(("number",), lines=True, many=True),
    },
}
"""The sections that a block may hold, by command. A note is the last one: it has all that is left."""

_ARGUMENTS = {
    "hash": (_HASH, Phrase("64 hex digits")),
    "number": (_NUMBER, Phrase("the number of a turn")),
}


def read_sections(command: str, block: str) -> tuple[tuple[Section, ...], list[tuple[str | None, Phrase]]]:
    """The sections of a command's block, in their order, and its faults: a token as written, and a sentence."""
    reader = _Reader(SECTIONS[command], block)
    found = tuple(reader.sections())
    return found, reader.wrong


class _Reader:
    """A block being read: faults are collected; the reading ends where sections cannot be told apart."""

    def __init__(self, known: Mapping[str, _Section], block: str) -> None:
        text = _COMMENT.sub(lambda found: " " * len(found[0]), block)
        self.known = known
        self.words = Words(list(enumerate(text.split("\n"), start=1)))
        self.wrong: list[tuple[str | None, Phrase]] = []

    def sections(self) -> Iterator[Section]:
        seen = set[tuple[str, ...]]()
        while self.words.more:
            word = self.words.take()
            name = word.lower()
            if name not in self.known:
                wanted = either(f"`{known}`" for known in self.known)
                self.wrong.append((word, Phrase("expected here: {wanted}", wanted=wanted)))
                return
            section = self._note() if name == "note" else self._section(name, self.known[name])
            if section is None:
                return
            one = (name, *section.words) if self.known[name].many else (name,)
            if one in seen:
                self.wrong.append((" ".join(one), Phrase("`{name}` appears twice.", name=" ".join(one))))
            seen.add(one)
            yield section

    def _section(self, name: str, holds: _Section) -> Section | None:
        arguments = []
        for kind in holds.arguments:
            form, wanted = _ARGUMENTS[kind]
            if not form.fullmatch(word := self.words.word()):
                self.wrong.append(
                    (word or None, Phrase("`{name}`: expected here: {wanted}", name=name, wanted=wanted))
                )
                return None
            arguments.append(self.words.take().lower())
        while holds.hashes and _HASH.fullmatch(self.words.word()):
            arguments.append(self.words.take().lower())
        text = self._lines(name) if holds.lines else ""
        return None if text is None else Section(name, tuple(arguments), text)

    def _lines(self, name: str) -> str | None:
        first = last = self.words.start
        while self.words.more:
            if self.words.take().lower() == "done":
                return "\n".join(line.strip() for line in self.words.text[first:last].split("\n")).strip()
            last = self.words.passed
        self.wrong.append((None, Phrase("the line `done` of `{name}` is missing", name=name)))
        return None

    def _note(self) -> Section | None:
        joined = "".join(self.words.text[self.words.start :].split())
        self.words.move_to(len(self.words.text))
        try:
            size = len(base64.b64decode(joined, validate=True))
        except (binascii.Error, ValueError):
            size = 0
        if not size:
            self.wrong.append((joined[:20] or None, Phrase("`note` is the last section, and holds base64")))
        elif size > NOTE:
            self.wrong.append((None, Phrase("a note has at most {most} octets", most=NOTE)))
        return Section("note", (), joined)


def written(sections: Iterable[Section]) -> str:
    """A block with these sections, without its `end`, in lines that no mail program breaks."""
    lines = []
    for name, arguments, text in sections:
        if name == "note":
            lines += ["note", *(text[at : at + _WIDTH] for at in range(0, len(text), _WIDTH))]
            continue
        lines += _wrapped(" ".join([name, *arguments]))
        if any(known[name].lines for known in SECTIONS.values() if name in known):
            lines += [piece for line in text.split("\n") for piece in _wrapped(line)]
            lines.append("done")
    return "\n".join(lines)


def _wrapped(line: str) -> list[str]:
    return textwrap.wrap(line, _WIDTH, break_long_words=False, break_on_hyphens=False)
