"""The languages of letters: which there are, and how each is said.

A language is a folder among the templates, named by its tag (RFC 5646). Its catalogue `messages.po`, in the format
of GNU gettext, holds every message of the templates and every `Phrase` of the program; whole documents beside it
replace the English ones of the same name. What a language lacks is said in English, the language of the source.
No templates and no letters live here; every room may use it.
"""

from __future__ import annotations

import gettext
from functools import cache
from io import BytesIO
from pathlib import Path

from pbem.phrase import Moment, Phrase, Span, fill

ENGLISH = "en"

Catalogue = gettext.NullTranslations
"""The messages of a language; the null catalogue leaves every text as it stands."""


def template_folder() -> Path:
    """The folder of templates: inside the installed package, or beside it in a checkout."""
    package = Path(__file__).parent
    installed = package / "templates"
    return installed if installed.is_dir() else package.parent / "templates"


def languages(*folders: Path) -> tuple[str, ...]:
    """The tags of all languages in folders of templates, English first."""
    found = {path.parent.name for folder in folders for path in folder.glob("*/messages.po")}
    return ENGLISH, *sorted(found)


LANGUAGES = languages(template_folder())


@cache  # a server writes many letters, and a catalogue is read in a hundredth of a second
def catalogue(folders: tuple[Path, ...], language: str) -> Catalogue:
    """The messages of a language, from the catalogues in these folders; the first that has a message counts."""
    known = Catalogue()
    if language == ENGLISH:
        return known
    from babel.messages.mofile import write_mo
    from babel.messages.pofile import read_po

    for folder in reversed(folders):
        path = folder / language / "messages.po"
        if path.is_file():
            with path.open("rb") as file:
                found = read_po(file, locale=language, abort_invalid=True)
            compiled = BytesIO()
            write_mo(compiled, found)
            compiled.seek(0)
            translations = gettext.GNUTranslations(compiled)
            translations.add_fallback(known)
            known = translations
    return known


def say(text: object, known: Catalogue) -> object:
    """A phrase in the words of a catalogue, including its facts; everything else as it is."""
    if not isinstance(text, Phrase):
        return text
    if type(known) is Catalogue:  # the null one: a phrase is its own English sentence
        return str(text)
    language = known.info().get("language")
    if isinstance(text, Moment):
        return _moment(text, known, language) if language else str(text)
    if isinstance(text, Span):
        return _span(text, language) if language else str(text)
    facts = {name: say(fact, known) for name, fact in text.facts.items()}
    return fill(known.gettext(text.template) if text.template else "", facts)


def _moment(moment: Moment, known: Catalogue, language: str) -> str:
    from babel.dates import format_datetime

    pattern = known.pgettext("date", "EEEE d MMMM yyyy, HH:mm")
    return format_datetime(moment.time, pattern, locale=language)


def _span(span: Span, language: str) -> str:
    from babel.lists import format_list
    from babel.units import format_unit

    return format_list(
        [format_unit(count, f"duration-{unit}", locale=language) for unit, count in span.parts], locale=language
    )
