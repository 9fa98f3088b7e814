"""German: every template has its twin, every phrase its translation, and they say the same with the same facts.

`GOLDEN=write pytest tests/letters/test_german.py` writes the golden texts anew.
"""

from __future__ import annotations

import ast
import importlib
import os
import re
from collections import Counter
from pathlib import Path
from typing import Any

import jinja2
import jinja2.meta
import pytest
from babel.messages.pofile import read_po
from german import WIDTH

from pbem.games import GAMES
from pbem.mail.compose import Templates, template_folder
from pbem.mail.language import LANGUAGES

ROOT = Path(__file__).parents[2]
TEMPLATES = template_folder()
GERMAN = Templates(language="de")
GOLDEN = Path(__file__).parent / "golden" / "de"

WORDLESS = {
    "letters/ahead.html",
    "letters/time.html",
    "letters/together.html",
    *(f"{game}/example_setup.txt" for game in GAMES),
    *(f"{game}/{name}.{kind}" for game in GAMES for name in ("events", "position") for kind in ("txt", "html")),
}
"""Templates in which nothing is said."""

TWINS = sorted(
    str(path.relative_to(TEMPLATES))
    for folder in ("answers", "letters", *GAMES)
    for path in (TEMPLATES / folder).iterdir()
    if path.suffix in {".txt", ".html"} and str(path.relative_to(TEMPLATES)) not in WORDLESS
)

PLACE = re.compile(r"\{([a-z_]+)\}")


def source(name: str, language: str) -> str:
    return (TEMPLATES / ("" if language == "en" else language) / name).read_text("utf-8")


# Templates.


@pytest.mark.parametrize("name", TWINS)
def test_every_template_has_its_twin(name: str) -> None:
    assert source(name, "de") != source(name, "en")


def test_no_twin_is_left_over() -> None:
    found = {str(path.relative_to(TEMPLATES / "de")) for path in (TEMPLATES / "de").rglob("*") if path.is_file()}
    assert found == {*TWINS, "README.md", "messages.po"}


def facts(text: str) -> tuple[set[str], set[str]]:
    """The facts that a template is given, and what it asks of them: attributes, and items by name."""
    tree = GERMAN.environment.parse(text)
    asked = {node.attr for node in tree.find_all(jinja2.nodes.Getattr)}
    given = jinja2.meta.find_undeclared_variables(tree)
    return given, asked - {"text", "found", "get", "items", "values", "split", "RESULTS", "miss"}


@pytest.mark.parametrize("name", TWINS)
def test_twins_say_the_same_facts(name: str) -> None:
    assert facts(source(name, "de")) == facts(source(name, "en"))


@pytest.mark.parametrize("name", TWINS)
def test_twins_have_the_same_macros(name: str) -> None:
    def macros(text: str) -> set[str]:
        return set(re.findall(r"\{% macro (\w+)", text))

    assert macros(source(name, "en")) <= macros(source(name, "de"))


@pytest.mark.parametrize("name", TWINS)
def test_what_is_typed_or_signed_is_never_translated(name: str) -> None:
    def typed(text: str) -> set[str]:
        text = " ".join(re.sub(r"\{#.*?#\}", "", text, flags=re.S).split())
        return {*re.findall(r"`[^`]+`", text), *re.findall(r"<code>.*?</code>", text)}

    def signed(text: str) -> list[str]:
        fields = "challenge|fingerprint|player|prev|proof|rev|server"
        commands = "accept|annul|claim|confirm|draw|register"
        return re.findall(rf"^(?:(?:{fields}|{commands}) \{{\{{.*|end|key keep)$", text, re.M)

    def run(text: str) -> list[str]:
        lines = re.findall(
            r"^ {4}((?:ssh-keygen|gpg|minisign|openssl|pbem|status|key|recover|register) .*)", text, re.M
        )
        return [line.partition("   ")[0] for line in lines]

    for kept in (typed, signed, run):
        assert kept(source(name, "de")) == kept(source(name, "en"))


@pytest.mark.parametrize("name", [name for name in TWINS if name.endswith(".txt")])
def test_lines_fit_a_terminal(name: str) -> None:
    prose = [line for line in source(name, "de").split("\n") if re.match(r"[\w(`]", line) and not {*'{}~"'} & {*line}]
    if not name.endswith(("sheet.txt", "rulings.txt")):  # those are printed, or wrapped
        assert not [line for line in prose if len(line) > WIDTH]


# Phrases.


def phrases() -> dict[str, list[tuple[Path, ast.Call]]]:
    """Each phrase of the program with the calls that make it."""
    found: dict[str, list[tuple[Path, ast.Call]]] = {}
    for path in (ROOT / "pbem").rglob("*.py"):
        if path.name == "phrase.py":
            templates = ["{word}", "{first} or {last}"]
            found |= {template: [] for template in templates if f'"{template}"' in path.read_text("utf-8")}
            continue
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Phrase":
                first = node.args[0]
                assert isinstance(first, ast.Constant), f"{path}:{node.lineno}: not a constant"
                found.setdefault(str(first.value), []).append((path, node))
    return found


def catalogue() -> dict[str, str]:
    with (TEMPLATES / "de" / "messages.po").open("rb") as file:
        found = read_po(file, locale="de", abort_invalid=True)
    assert not [message.id for message in found if message.id and message.fuzzy]
    return {str(message.id): str(message.string) for message in found if message.id}


def test_every_phrase_is_in_the_catalogue_and_no_other() -> None:
    assert set(phrases()) == set(catalogue())


def test_translations_have_the_same_places_and_the_same_commands() -> None:
    for english, german in catalogue().items():
        assert german
        assert set(PLACE.findall(english)) == set(PLACE.findall(german)), english
        assert Counter(re.findall("`[^`]+`", english)) == Counter(re.findall("`[^`]+`", german)), english
        assert re.findall("[{}]", english) == re.findall("[{}]", german), english


def test_phrases_are_given_the_facts_that_they_name() -> None:
    for english, calls in phrases().items():
        for path, call in calls:
            given = {keyword.arg for keyword in call.keywords}
            if given:  # else it is a constant, and gets its facts from `given`
                assert given == set(PLACE.findall(english)), f"{path}:{call.lineno}"


def test_whoever_reads_no_german_gets_the_english_as_it_was() -> None:
    assert LANGUAGES == ("en", "de")
    assert Templates().of("en").render("answers/press.txt") == "Sent on.\n"
    assert Templates().of("de").render("answers/press.txt") == "Weitergeleitet.\n"


# Games.

MODULES = {game: importlib.import_module(f"letters.test_{game.replace('-', '_')}_templates") for game in GAMES}


@pytest.mark.parametrize(
    ("game", "name"), [(game, name) for game, module in MODULES.items() for name in sorted(module.LETTERS)]
)
def test_games_read_well_in_german(monkeypatch: pytest.MonkeyPatch, game: str, name: str) -> None:
    module: Any = MODULES[game]
    monkeypatch.setattr(module, "ENV", GERMAN.environment)
    text = module.LETTERS[name]()
    path = GOLDEN / game / f"{name}.txt"
    if os.environ.get("GOLDEN") == "write":
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    assert text == path.read_text("utf-8")
    assert not [line for line in text.split("\n") if len(line) > WIDTH]
    assert not re.search(r"[ \t]$", text, re.MULTILINE)
