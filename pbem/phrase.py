"""A phrase: something that the program itself says to a player, in English, so that it can be translated.

Only the text lives here; the languages are in `pbem/i18n.py`, and the translations in the catalogues beside
the templates. Every room may use it, even the games: it knows nothing of any of them.
"""

from __future__ import annotations

import re
from functools import lru_cache, reduce
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime

_PLACE = re.compile(r"\{([a-z_]+)\}")


class Phrase(str):
    """An English sentence that remembers its template and the facts in it.

    A place in the template is only a fact's name in braces: `no player is called {name}`. A fact may be
    a phrase itself.
    """

    __slots__ = ("facts", "template")

    template: str
    facts: dict[str, object]

    def __new__(cls, template: str, /, **facts: object) -> Self:
        """The sentence with its facts filled in; places without a fact stay as they are."""
        phrase = str.__new__(cls, fill(template, facts) if facts else template)
        phrase.template = template
        phrase.facts = facts
        return phrase

    def given(self, **facts: object) -> Phrase:
        """A copy of the sentence with other facts."""
        return Phrase(self.template, **facts)

    @staticmethod
    def read(document: object) -> Phrase:
        """The phrase of such a document as `document` gives; raises ValueError."""
        match document:
            case {"moment": str(time)}:
                from datetime import datetime

                return Moment(datetime.fromisoformat(time))
            case {"seconds": int(seconds)}:
                return Span(seconds)
            case {"template": str(template), "facts": dict(facts)}:
                known = {
                    str(name): Phrase.read(fact) if isinstance(fact, dict) else fact for name, fact in facts.items()
                }
                return Phrase(template, **known)
        raise ValueError("no phrase")

    @property
    def document(self) -> dict[str, object]:
        """The phrase in plain values, to be sent between processes."""
        facts = {name: fact.document if isinstance(fact, Phrase) else fact for name, fact in self.facts.items()}
        return {"template": self.template, "facts": facts}


class _Constant(Phrase):
    """A phrase without places for facts."""

    __slots__ = ()

    def given(self, **facts: object) -> Phrase:
        """The same: there are no other facts in it."""
        assert not facts
        return self


class Moment(_Constant):
    """A local time, written out: `Sunday 8 March 2026, 13:00`."""

    __slots__ = ("time",)

    time: datetime

    def __new__(cls, time: datetime) -> Self:
        """The time as its zone shows it."""
        phrase = super().__new__(cls, f"{time:%A} {time.day} {time:%B %Y, %H:%M}")
        phrase.time = time
        return phrase

    def __getnewargs__(self) -> tuple[datetime]:  # type: ignore[override]  # not those of a text
        return (self.time,)

    @property
    def document(self) -> dict[str, object]:
        """The time in plain values."""
        return {"moment": self.time.isoformat()}


class Span(_Constant):
    """A length of time in words, its two largest parts: `2 days and 1 hour`."""

    __slots__ = ("seconds",)

    seconds: int

    def __new__(cls, seconds: int) -> Self:
        """A number of seconds, at least one."""
        said = [f"{count} {unit}{'s' if count > 1 else ''}" for unit, count in _parts(seconds)]
        phrase = super().__new__(cls, " and ".join(said))
        phrase.seconds = seconds
        return phrase

    @staticmethod
    @lru_cache
    def of(seconds: int) -> Phrase:
        """A number of seconds, or that there are none."""
        return Span(seconds) if seconds else Phrase("none")

    def __getnewargs__(self) -> tuple[int]:  # type: ignore[override]  # not those of a text
        return (self.seconds,)

    @property
    def parts(self) -> list[tuple[str, int]]:
        """Its two largest units in English, the larger first, and how many there are of each."""
        return _parts(self.seconds)

    @property
    def document(self) -> dict[str, object]:
        """The seconds."""
        return {"seconds": self.seconds}


def _parts(seconds: int) -> list[tuple[str, int]]:
    found = []
    for unit, size in (("day", 86400), ("hour", 3600), ("minute", 60), ("second", 1)):
        count, seconds = divmod(seconds, size)
        if count:
            found.append((unit, count))
    return found[:2]


def either(words: Iterable[object]) -> Phrase:
    """The words as a choice: `2 or 3 or 4`; raises ValueError if there are none."""
    first, *others = words
    return reduce(lambda before, word: Phrase("{first} or {last}", first=before, last=word), others, _phrased(first))


def _phrased(word: object) -> Phrase:
    return word if isinstance(word, Phrase) else Phrase("{word}", word=word)


def fill(template: str, facts: dict[str, object]) -> str:
    """The template with the facts in their places."""
    pieces = list(_pieces(template))
    for at in range(1, len(pieces), 2):
        pieces[at] = str(facts.get(pieces[at], f"{{{pieces[at]}}}"))
    return "".join(pieces)


def harmless(text: str, kept: str = "") -> str:
    """The text with its control characters written out, but for those kept: strangers must not move the cursor."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() or char in kept else ascii(char)[1:-1] for char in text)


def clean(text: str) -> str:
    """Others' words: nothing in them can move the cursor."""
    return harmless(text, kept="\n")


@lru_cache(maxsize=4096)
def _pieces(template: str) -> list[str]:
    """The text before the first place, the name of that place, the text after it, and so on."""
    return _PLACE.split(template)
