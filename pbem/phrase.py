"""A phrase: what the program itself says to a player, in English, so that it can be said in other languages.

Here lives the text alone; the languages are in `pbem/i18n.py`, and the translations in the catalogues beside
the templates. Every room may use it, the games among them: it knows nothing of any.
"""

from __future__ import annotations

import re
from functools import reduce
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["Phrase", "either"]

_PLACE = re.compile(r"\{([a-z_]+)\}")


class Phrase(str):
    """An English sentence that remembers its template and the facts in it.

    A place in the template is a fact's name in braces, and nothing else: `no player is called {name}`. A fact may be
    a phrase itself.
    """

    __slots__ = ("facts", "template")

    template: str
    facts: dict[str, object]

    def __new__(cls, template: str, /, **facts: object) -> Self:
        """The sentence with its facts filled in; places without a fact stay as they are."""
        phrase = super().__new__(cls, fill(template, facts) if facts else template)
        phrase.template = template
        phrase.facts = facts
        return phrase

    def given(self, **facts: object) -> Phrase:
        """The same sentence about other facts."""
        return Phrase(self.template, **facts)

    @classmethod
    def read(cls, document: object) -> Phrase:
        """The phrase of such a document as `document` gives; raises ValueError."""
        if not isinstance(document, dict) or not isinstance(facts := document.get("facts"), dict):
            raise ValueError("no phrase")
        known = {str(name): cls.read(fact) if isinstance(fact, dict) else fact for name, fact in facts.items()}
        return cls(str(document.get("template")), **known)

    @property
    def document(self) -> dict[str, object]:
        """The phrase in plain values, to be sent between processes."""
        facts = {name: fact.document if isinstance(fact, Phrase) else fact for name, fact in self.facts.items()}
        return {"template": self.template, "facts": facts}


def either(words: Iterable[object]) -> Phrase:
    """The words as a choice: `2 or 3 or 4`; raises ValueError when there is none."""
    first, *others = words
    return reduce(lambda before, word: Phrase("{first} or {last}", first=before, last=word), others, _alone(first))


def _alone(word: object) -> Phrase:
    return word if isinstance(word, Phrase) else Phrase("{word}", word=word)


def fill(template: str, facts: dict[str, object]) -> str:
    """The template with the facts in their places."""
    return _PLACE.sub(lambda found: str(facts.get(found[1], found[0])), template)
