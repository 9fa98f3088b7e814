"""Catalogues: every language says every message, with the same facts and the same commands; no template says more.

`make catalogue` brings new messages into them; templates/README.md is for translators.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jinja2
import pytest
from babel.messages.pofile import read_po
from judges.german import WIDTH
from judges.messages import LEFT_ALONE, PHRASES, PLACE, Message, messages, pseudo_language

import pbem
from pbem import i18n
from pbem.games import GAMES
from pbem.i18n import LANGUAGES, languages, template_folder
from pbem.letters.render import Templates
from pbem.mail.commands import COMMANDS, FIELDS, SETTINGS
from pbem.match import events
from pbem.pages import messages as messages_of_pages

if TYPE_CHECKING:
    from babel.messages.catalog import Catalog


TEMPLATES = template_folder()
OTHERS = LANGUAGES[1:]

TYPED = {
    *COMMANDS,
    *FIELDS,
    *{word for form in COMMANDS.values() for word in form.usage.split()},
    *{"accept", "confirm", "continued", "end", "games", "keep", "key", "kind", "open", "settle", "stop", "with"},
    *{"bob", "anna", "home", "30m", "NAME", "AAAAC3NzaC1lZDI1NTE5AAAAI", "ssh", "ed25519", "tYw4JkQ", "SHA256"},
    *{"3f2a", "91bc", "sha256", "head", "signature"},
    *{"at", "closes", "double", "format", "once", "reason", "robin", "round"},
}
"""Words that are typed or signed, and the field names beneath a signed head: the same in every language."""

PROGRAMS = re.compile(r"(?:ssh-keygen|gpg|openssl|pbem|\\)\s.*|-(?:in|out|f|signer)\s.*|\.sig", re.DOTALL)
"""A line of a shell, or what follows a file's name in it."""


def catalogue(language: str) -> Catalog:
    with (TEMPLATES / language / "messages.po").open("rb") as file:
        return read_po(file, locale=language, abort_invalid=True)


def said(language: str) -> dict[Message, str | tuple[str, ...]]:
    known: dict[Any, Any] = {(message.context, message.id): message.string for message in catalogue(language)}
    return {place: own for place, own in known.items() if place[1]}


def pairs(language: str) -> list[tuple[str, str]]:
    """Each English text with what it is: one by one, where several forms are."""
    found: list[tuple[str, str]] = []
    for (_, english), own in said(language).items():
        if isinstance(own, str):
            assert isinstance(english, str)
            found.append((english, own))
        else:
            found += [(english[0] if number == 0 else english[1], form) for number, form in enumerate(own)]
    return found


def test_there_is_a_language_for_each_catalogue() -> None:
    assert "de" in OTHERS
    assert SETTINGS["language"] == LANGUAGES == languages(TEMPLATES)
    for language in OTHERS:
        assert i18n.catalogue((TEMPLATES,), language).info()["language"] == language


def test_a_language_is_added_by_its_folder(tmp_path: Path) -> None:
    pseudo_language(tmp_path, "eo")
    assert languages(tmp_path) == ("en", "eo")
    templates = Templates(TEMPLATES, tmp_path)
    assert templates.of("eo").render("answers/press.txt") == "⟦Śéńť óń.⟧\n"
    assert templates.of("en").render("answers/press.txt") == "Sent on.\n"
    assert templates.of("de").render("answers/press.txt") == "Weitergeleitet.\n"


@pytest.mark.parametrize("language", OTHERS)
def test_every_message_is_in_the_catalogue_and_no_other(language: str) -> None:
    assert set(said(language)) == set(messages())


@pytest.mark.parametrize("language", OTHERS)
def test_every_message_is_translated_in_all_forms_that_the_language_has(language: str) -> None:
    whole = catalogue(language)
    assert not [message.id for message in whole if message.id and message.fuzzy]
    for (_, english), own in said(language).items():
        forms = [own] if isinstance(own, str) else own
        assert all(forms), english
        assert len(forms) == (1 if isinstance(english, str) else whole.num_plurals), english


@pytest.mark.parametrize("language", OTHERS)
def test_a_translation_has_the_same_facts_the_same_commands_and_the_same_marks(language: str) -> None:
    for english, own in pairs(language):
        assert set(PLACE.findall(english)) == set(PLACE.findall(own)), english
        kept = [Counter(mark for mark in LEFT_ALONE.findall(text) if mark[0] in "`<") for text in (english, own)]
        assert kept[0] == kept[1], english
        assert english.endswith("\n") == own.endswith("\n"), english
        assert [len(re.findall("%(?![(%])", text.replace("%%", ""))) for text in (english, own)] == [0, 0], english


@pytest.mark.parametrize("language", OTHERS)
def test_lines_fit_a_terminal(language: str) -> None:
    for english, own in pairs(language):
        if english.endswith("\n") and not PLACE.search(own):  # those without are wrapped where they are written
            assert not [line for line in own.split("\n") if len(line) > WIDTH], own


def test_pages_find_their_messages_as_translators_do() -> None:
    found: set[Any] = set()
    for path in (TEMPLATES / "pages").rglob("*.js"):
        found |= messages_of_pages((path.relative_to(TEMPLATES / "pages").as_posix(),), "de").keys()
    assert found == {
        text for (_, text), places in messages().items() if any(place.endswith(".js") for place in places)
    }


def test_phrases_are_given_the_facts_that_they_name() -> None:
    room = Path(pbem.__file__).parent
    makers = {room / "phrase.py", room / "player" / "__init__.py"}
    for path in {*room.rglob("*.py")} - makers:
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in PHRASES):
                continue
            first = node.args[0]
            given = {f"{{{keyword.arg}}}" for keyword in node.keywords}
            # A phrase without facts is a constant, and gets them from `given`; an error may hold other text.
            assert isinstance(first, ast.Constant) or (node.func.id != "Phrase" and not given), (
                f"{path}:{node.lineno}"
            )
            if given:
                assert given == set(PLACE.findall(ast.literal_eval(first))), f"{path}:{node.lineno}"


def own_words(name: str) -> list[str]:
    """The words of a template that stand in no message: those that every language has in common."""
    # As `make catalogue` reads it: what is in messages is an argument, not the template's own.
    tree = jinja2.Environment(extensions=["jinja2.ext.i18n"]).parse((TEMPLATES / name).read_text("utf-8"))
    found = []
    for data in tree.find_all(jinja2.nodes.TemplateData):
        text = re.sub(r"<[^>]*>|<[^>]*\Z|\A[^<]*>", " ", data.data) if name.endswith(".html") else data.data
        found += re.findall(r"\w*[A-Za-z]\w+", re.sub(r"\b[a-z]+=", "", PROGRAMS.sub("", text)))
    return found


def documents() -> set[str]:
    """Documents that stand once a language, and are nothing but prose."""
    return {
        str(Path(*path.relative_to(TEMPLATES).parts[1:])) for tag in OTHERS for path in (TEMPLATES / tag).rglob("*")
    }


@pytest.mark.parametrize(
    "name",
    [
        str(path.relative_to(TEMPLATES))
        for room in ("answers", "letters", *GAMES)
        for path in sorted((TEMPLATES / room).iterdir())
        if path.name not in {"README.md", "about.txt", "example_setup.txt"}  # those show a game's notation
    ],
)
def test_no_template_says_anything_but_messages(name: str) -> None:
    if name not in documents():
        assert set(own_words(name)) <= TYPED


def test_the_diary_has_words_for_every_type_of_entry() -> None:
    diary = (template_folder() / "answers" / "diary.txt").read_text("utf-8")
    for kind in events.TYPES.values():
        assert (f'kind == "{kind.name}"' in diary) != kind.silent, kind.name


def test_german_tells_commands_from_orders() -> None:
    """`Befehl` would mean both."""
    texts = [(english, own) for english, own in pairs("de") if re.search(r"\bcommands?\b", english)]
    assert not [own for english, own in texts if "rder" not in english and "Befehl" in own]
    assert [own for _, own in texts if "Kommando" in own]
