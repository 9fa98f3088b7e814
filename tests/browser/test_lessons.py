"""The lesson of each game, clicked through on a phone: each step says what came of it, a wrong answer says why."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from axe_playwright_python.sync_playwright import Axe

from pbem.games import BUILT_IN
from pbem.i18n import LANGUAGES
from pbem.pages import lesson_page

if TYPE_CHECKING:
    from pathlib import Path

    from playwright.sync_api import Page


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("game", BUILT_IN)
def test_a_lesson_is_finished_by_clicking(tmp_path: Path, tab: Page, game: str, language: str) -> None:
    page = tmp_path / "lesson.html"
    page.write_text(lesson_page(game, "play.example", (), language), "utf-8")
    tab.set_viewport_size({"width": 390, "height": 844})
    tab.goto(page.as_uri())
    places = set()
    for number in range(5):
        step = tab.evaluate(f"LESSON.steps[{number}]")
        assert tab.locator("#words").inner_text() == step["words"]
        assert tab.locator("#said").inner_text() == ""
        box = tab.locator("table.grid button").first.bounding_box()
        assert box
        assert min(box["width"], box["height"]) >= 32, "a finger hits it"
        for answer, why in step.get("choose", {}).items():
            if answer != step["right"]:
                tab.locator(f'#choices [data-name="{answer}"]').click()
                assert tab.locator("#said").inner_text() == why
        for name in (*step.get("click", ()), *filter(None, [step.get("right")])):
            tab.locator(f'button[data-name="{name}"]').click()
        assert tab.locator("#said").inner_text() == step["done"]
        assert set(step["then"]) <= {
            square.get_attribute("data-name") for square in tab.locator("table.grid button").all()
        }
        places.add(str(tab.locator("#back").bounding_box()))
        if number < 4:
            tab.locator("#next").click()
    assert len(places) == 1, "the buttons stay where they are"
    assert tab.locator("#end").is_visible()
    assert [one["id"] for one in Axe().run(tab).response["violations"]] == []
    assert tab.evaluate("document.documentElement.scrollWidth") <= 390


def test_the_lesson_at_home_leads_to_a_game_and_to_the_rules(tmp_path: Path, tab: Page) -> None:
    page = tmp_path / "lesson.html"
    page.write_text(lesson_page("spaceships"), "utf-8")
    tab.goto(page.as_uri())
    links = tab.locator("#end a")
    assert links.all_text_contents() == ["Play now", "Rules"]
    assert [link.get_attribute("href") for link in links.all()] == ["./#play-spaceships", "rules?game=spaceships"]


def test_a_click_elsewhere_is_told_apart(tmp_path: Path, tab: Page) -> None:
    page = tmp_path / "lesson.html"
    page.write_text(lesson_page("spaceships"), "utf-8")
    tab.goto(page.as_uri())
    tab.locator('button[data-name="Rv1"]').click()
    assert "Not there" in tab.locator("#said").inner_text()
