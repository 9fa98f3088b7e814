"""The pages in a language that nobody speaks, as they are once their scripts run: no word of ours is English."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from contextlib import ExitStack
from typing import TYPE_CHECKING

import pytest
from cli.test_try import user
from judges.strange_place import TAG, run, strange_place
from pages.test_any_language import KNOWN
from playwright.sync_api import expect

if TYPE_CHECKING:
    from pathlib import Path

    from playwright.sync_api import Browser, Frame, Page

__all__ = ["user"]

TEXTS = """() => {
    const found = [], told = ["alt", "aria-label", "data-head", "label", "placeholder", "title"];
    const walk = (element) => {
        // Not what is typed, nor what servers write, nor a ruling: the rules are a document, English if need be.
        const others = "script, style, noscript, code, pre, [hreflang], #notation, #letters summary, .ruling > div";
        if (element.matches(others)) return;
        for (const name of told) if (element.hasAttribute(name)) found.push(element.getAttribute(name));
        for (const child of element.childNodes) {
            if (child.nodeType === Node.TEXT_NODE) found.push(child.data);
            else if (child.nodeType === Node.ELEMENT_NODE) walk(child);
        }
    };
    walk(document.body);
    return found;
}"""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All pages, as files."""
    site = tmp_path_factory.mktemp("site")
    run(strange_place(tmp_path_factory.mktemp("place")), "pages.strange_site", str(site))
    return site


def in_english(page: Page | Frame) -> set[str]:
    return {text for text in page.evaluate(TEXTS) if re.search("[A-Za-z]{2,}", KNOWN.sub("", text))}


def test_every_word_of_a_match_that_is_stepped_through(site: Path, tab: Page) -> None:
    found: dict[str, set[str]] = {}
    for path in sorted([site / f"m1.{TAG}.html", *site.glob("replay-*")]):
        tab.goto(f"file://{path}")
        tab.wait_for_selector("#proof > p", state="attached")
        texts = in_english(tab)
        for reader in tab.locator("#readers button").all():
            if reader.is_visible():
                reader.click()
            tab.keyboard.press("Home")
            while tab.locator("#next").is_enabled():
                texts |= in_english(tab)
                tab.locator("#next").click()
            texts |= in_english(tab)
        found[path.name] = texts
    assert {name: texts for name, texts in found.items() if texts} == {}


@pytest.mark.parametrize("game", ["spaceships", "dueling-masters", "shoot-em-up"])
def test_every_word_of_a_composer(game: str, site: Path, tab: Page) -> None:
    texts: set[str] = set()
    for link in ["", *json.loads((site / "links.json").read_text())[game]]:
        tab.goto("about:blank")
        tab.goto(f"file://{site}/{game}.{TAG}.html#{link}")
        tab.wait_for_timeout(200)
        texts |= in_english(tab)
        for button in tab.locator(".stage button:enabled:visible").all()[:40:4]:
            button.click()
            texts |= in_english(tab)
    assert texts == set()


@pytest.mark.parametrize("width", [1100, 390])
def test_longer_words_let_nothing_scroll_sideways(width: int, site: Path, tab: Page) -> None:
    tab.set_viewport_size({"width": width, "height": 900})
    links = json.loads((site / "links.json").read_text())
    wide = {}
    for path in sorted(set(site.glob("*.html")) - {site / f"home.{TAG}.html"}):  # it asks its server for news
        for link in ["", *links.get(path.name.partition(".")[0], ())]:
            tab.goto("about:blank")
            tab.goto(f"file://{path}#{link}")
            tab.wait_for_timeout(100)
            tab.locator("details").evaluate_all("(all) => all.forEach((one) => { one.open = true; })")
            if (found := tab.evaluate("document.documentElement.scrollWidth")) > width:
                wide[f"{path.name}#{link[:8]}"] = found
    assert wide == {}


def test_every_word_of_the_page_at_home(
    user: Path, chromium: Browser, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """From nothing to a report; the letters of its server are in the language that their reader set there."""
    place = strange_place(tmp_path_factory.mktemp("home"))
    command = [sys.executable, "-P", "-c", "from pbem.cli import main; main()", "play", "--browser"]
    environment = {**place, "HOME": str(user), "BROWSER": "true"}
    with (
        subprocess.Popen(command, env=environment, cwd=user, stdout=subprocess.PIPE, text=True) as process,
        ExitStack() as stack,
    ):
        stack.callback(process.kill)  # a page that is not as it should be must not be waited for
        assert process.stdout is not None
        while not (found := re.search(r"http://localhost:\d+/\S+", line := process.stdout.readline())):
            assert line
        page = chromium.new_context().new_page()
        page.goto(found[0])
        page.wait_for_selector("#told", state="attached")
        texts = in_english(page)
        page.locator('#games [data-game="spaceships"]').click()
        for turn in (1, 2):
            expect(page.locator("#whose-move")).to_contain_text(re.compile(rf"\b{turn}\b"), timeout=60_000)
            expect(page.locator("#hand-over")).to_be_enabled(timeout=60_000)
            page.frame_locator("#board").locator("#notation").fill("Gx3")
            expect(page.locator("#hand-over")).to_be_enabled()
            texts |= in_english(page)
            page.locator("#hand-over").click()
            expect(page.locator("#yes")).to_be_visible()
            texts |= in_english(page)
            page.locator("#yes").click()
        expect(page.locator("#whose-move")).to_contain_text(re.compile(r"\b3\b"), timeout=60_000)
        expect(page.frame_locator("#board").locator("#news")).not_to_be_empty()
        for frame in page.frames:
            texts |= in_english(frame)
        page.locator("header a").click()
        texts |= in_english(page)
        page.locator("#stop").click()
        expect(page.locator("#yes")).to_be_visible()
        texts |= in_english(page)
        page.locator("#yes").click()
        assert process.wait(30) == 0
        page.context.close()
    # The program's own message: each player writes in a language of their own.
    assert {text for text in texts if not text.startswith("Good luck! I am a program")} == set()
