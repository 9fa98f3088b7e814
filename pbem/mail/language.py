"""The languages of letters: which there are, what our phrases are in each, and which one a letter asks for.

Whole letters are translated as whole templates, in a folder for each language but English; what the program says
beside them, faults and subjects above all, is a `Phrase`, and stands in that folder's catalogue `messages.po` (the
format of GNU gettext). What it lacks is said in English. Implements protocol.md,
"Commands" (`set language`).
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING

from pbem.phrase import Phrase, fill

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from pbem.mail.letter import Letter

__all__ = ["ENGLISH", "LANGUAGES", "asked_for", "phrases", "say"]

ENGLISH = "en"
LANGUAGES = (ENGLISH, "de")
"""By their tags (RFC 5646); English is what everything is written in first."""

_RANGE = re.compile(r"\s*([A-Za-z]{1,8})(?:-[A-Za-z0-9-]+)?\s*(?:;\s*q\s*=\s*([01](?:\.[0-9]{0,3})?)\s*)?")


@cache
def phrases(folders: tuple[Path, ...], language: str) -> Mapping[str, str]:
    """What each English phrase is in a language, from the catalogues in these folders; empty for English."""
    from babel.messages.pofile import read_po  # noqa: PLC0415 - what writes no letters need not wait for it

    known: dict[str, str] = {}
    for folder in reversed(folders if language != ENGLISH else ()):
        path = folder / language / "messages.po"
        if path.is_file():
            with path.open("rb") as file:
                found = read_po(file, locale=language, abort_invalid=True)
            known |= {str(message.id): str(message.string) for message in found if message.id and message.string}
    return known


def say(text: object, known: Mapping[str, str]) -> object:
    """A phrase in the words of a catalogue, its facts too; everything else as it is."""
    if not isinstance(text, Phrase):
        return text
    if not known:  # a phrase is its own English
        return str(text)
    facts = {name: say(fact, known) for name, fact in text.facts.items()}
    return fill(known.get(text.template, text.template), facts)


def asked_for(letter: Letter) -> str | None:
    """The language that a letter asks for, or is written in, by its headers (RFC 3282); None: none of ours.

    What it asks for goes before what it is written in, and of several the one that is preferred.
    """
    for header in ("accept-language", "content-language"):
        ranges = [_RANGE.fullmatch(one) for value in letter.values(header) for one in value[:500].split(",")]
        wanted = [(float(found[2] or 1), found[1].lower()) for found in ranges if found]
        for quality, language in sorted(wanted, key=lambda one: -one[0]):
            if quality and language in LANGUAGES:
                return language
    return None
