"""German: what stands once a language says the same as in English, with the same facts; games read well.

`GOLDEN=write pytest tests/letters/test_german.py` writes the golden texts anew.
"""

from __future__ import annotations

import importlib
import os
import re
from pathlib import Path
from typing import Any

import jinja2
import jinja2.meta
import pytest
from judges import game_letters
from judges.german import WIDTH

from pbem.games import GAMES
from pbem.i18n import template_folder
from pbem.letters.render import Templates

TEMPLATES = template_folder()
GERMAN = Templates(language="de")
GOLDEN = Path(__file__).parent / "golden" / "de"

TWINS = sorted(str(path.relative_to(TEMPLATES / "de")) for path in (TEMPLATES / "de").rglob("*.[th]*"))
"""Whole documents."""


def source(name: str, language: str) -> str:
    return (TEMPLATES / ("" if language == "en" else language) / name).read_text("utf-8")


# Templates.


@pytest.mark.parametrize("name", TWINS)
def test_no_german_template_is_the_english_one(name: str) -> None:
    assert source(name, "de") != source(name, "en")


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
def test_what_is_typed_or_signed_is_never_translated(name: str) -> None:
    def typed(text: str) -> set[str]:
        text = " ".join(re.sub(r"\{#.*?#\}", "", text, flags=re.S).split())
        return {*re.findall(r"`[^`]+`", text), *re.findall(r"<code>.*?</code>", text)}

    def signed(text: str) -> list[str]:
        fields = "challenge|fingerprint|player|prev|proof|rev|server"
        commands = "accept|annul|claim|confirm|draw|register"
        return re.findall(rf"^(?:(?:{fields}|{commands}) \{{\{{.*|end|key keep)$", text, re.M)

    def run(text: str) -> list[str]:
        lines = re.findall(r"^ {4}((?:ssh-keygen|gpg|openssl|pbem|status|key|recover|register) .*)", text, re.M)
        return [line.partition("   ")[0] for line in lines]

    for kept in (typed, signed, run):
        assert kept(source(name, "de")) == kept(source(name, "en"))


@pytest.mark.parametrize("name", [name for name in TWINS if name.endswith(".txt")])
def test_lines_fit_a_terminal(name: str) -> None:
    prose = [line for line in source(name, "de").split("\n") if re.match(r"[\w(`]", line) and not {*'{}~"'} & {*line}]
    if not name.endswith("rulings.txt"):  # those are wrapped
        assert not [line for line in prose if len(line) > WIDTH]


HEADINGS = {
    what
    for path in TEMPLATES.glob("letters/*.txt")
    for what in re.findall(r'heading\(m, (_\("[^"]+"[^()]*\))', path.read_text("utf-8"))
}


@pytest.mark.parametrize("what", sorted(HEADINGS))
def test_headings_fit_behind_the_longest_title(what: str) -> None:
    line = '{{ _("%(title)s, match %(id)s", title=title, id="m1") }}{{ _(", game %(game)s", game=2) }}: {{ WHAT }}'
    facts = {"title": "Dueling Masters of Space-Time", "by": "ann", "turn": 2}
    english, german = (
        templates.environment.from_string(line.replace("WHAT", what)).render(facts)
        for templates in (Templates(), GERMAN)
    )
    assert len(german) <= max(WIDTH, len(english))


# Games.

MODULES = {game: importlib.import_module(f"letters.test_{game.replace('-', '_')}_templates") for game in GAMES}


@pytest.mark.parametrize(
    ("game", "name"), [(game, name) for game, module in MODULES.items() for name in sorted(module.LETTERS)]
)
def test_games_read_well_in_german(monkeypatch: pytest.MonkeyPatch, game: str, name: str) -> None:
    module: Any = MODULES[game]
    monkeypatch.setattr(game_letters, "ENV", GERMAN.environment)
    text = module.LETTERS[name]()
    path = GOLDEN / game / f"{name}.txt"
    if os.environ.get("GOLDEN") == "write":
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    assert text == path.read_text("utf-8")
    assert not [line for line in text.split("\n") if len(line) > WIDTH]
    assert not re.search(r"[ \t]$", text, re.MULTILINE)
