"""The rules as pages: no word of the text is lost, and each ruling is at an anchor of its own."""

from __future__ import annotations

import html
import json
import os
import re
from collections import Counter

import pytest
from click.testing import CliRunner

from pbem.cli.group import group
from pbem.games import GAMES
from pbem.i18n import LANGUAGES
from pbem.letters.render import Templates
from pbem.pages import composer, rules_page
from pbem.pages.rules_text import rules_text, rulings
from pbem.player.account_file import places
from pbem.player.page_room import PlayRoom


def words(text: str) -> Counter[str]:
    """The words of a text; the dots of drawn boards are empty squares."""
    return Counter(word for word in text.replace("`", "").split() if word not in {".", "*"})


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("game", GAMES)
def test_no_word_of_the_text_is_lost(game: str, language: str) -> None:
    text = Templates().of(language).render(f"{game}/rules.txt")
    page = str(rules_text(game, language).body)
    page = re.sub('<li id="ruling-([0-9]+)"', r"\1. <li", page)  # the number is the item's own
    shown = html.unescape(re.sub("<(?!/?(?:strong|code)>)[^>]*>", " ", page))
    title = rules_text(game, language).title
    assert words(title) + words(re.sub("</?(?:strong|code)>", "", shown)) == words(text)


@pytest.mark.parametrize("game", GAMES)
def test_each_ruling_is_at_its_number(game: str) -> None:
    source = Templates().render(f"{game}/rulings.txt")
    numbers = re.findall(r"(?m)^([0-9]+)\. ", source)
    page = rules_page(game)
    assert [*rulings(game, "en")] == numbers
    assert re.findall('<li id="ruling-([0-9]+)" value', page) == numbers
    found = re.search('<script type="application/json" id="rulings">(.*?)</script>', composer(game), re.DOTALL)
    assert found is not None
    assert json.loads(found[1]) == rulings(game, "en")


def test_the_drawings_and_tables_of_the_text_are_drawn() -> None:
    page = rules_page("spaceships")
    assert page.count('<div class="plane" data-plane=') == 5
    assert '<tr><th scope="row">KC</th><td>kill cruiser</td><td>6</td><td>6</td><td>rectangle 3x2x1</td></tr>' in page
    assert "<strong>LOOSELY</strong> <strong>ADJACENT</strong>" in page
    assert '<p class="eyebrow">You</p>' in page


def test_the_terminal_shows_rules_and_rulings(monkeypatch: pytest.MonkeyPatch) -> None:
    def play(*said: str) -> str:
        return CliRunner().invoke(group, ["play", "rules", *said]).output

    monkeypatch.setenv("LANG", "C")
    assert "pbem play rules spaceships" in play()
    assert play("spaceships").startswith("SPACESHIPS\n\nTwo players")
    assert play("spaceships", "17").startswith("17. Beam: one for each death star")
    assert "spaceships has no ruling 99" in play("spaceships", "99")
    monkeypatch.setenv("LANG", "de_DE.UTF-8")
    assert "Zwei Spieler" in play("spaceships")


def test_the_page_at_home_has_the_rules_and_the_lessons() -> None:
    room = PlayRoom(places(os.environ), "", "en", lambda _: None)
    shown = room.view("rules", {"game": "spaceships"})
    assert shown is not None
    assert b'id="ruling-17"' in shown.content
    assert room.view("rules", {"game": "chess"}) is None
    lesson = room.view("lesson", {"game": "shoot-em-up"})
    assert lesson is not None
    assert b"LESSON" in lesson.content
    assert room.view("lesson", {"game": "chess"}) is None
