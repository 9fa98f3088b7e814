"""The witnesses of a match, as its page names them: by its own proofs, and by letters that a reader loads."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from axe_playwright_python.sync_playwright import Axe
from browser.waiting import until
from in_a_box import witnessed

from pbem.pages.match_page import Witnessed, replay
from pbem.proof import bundle

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from playwright.sync_api import Page

    from pbem.proof.bundle import Bundle

W = "w.example"
KEY = str(witnessed.witness(W)[0])
TIMES = {W: 1772366400}
LINES = "document.querySelectorAll('#seen li').length"


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Bundle:
    return witnessed.short_match(tmp_path_factory.mktemp("match"))


def seen(page: Page) -> list[tuple[str, str]]:
    """The lines about witnesses, each with its tone."""
    page.locator("#witnesses").evaluate("(folded) => { folded.open = true; }")
    until(page, LINES)
    lines = page.locator("#seen li")
    return [(str(line.get_attribute("class")), line.inner_text()) for line in lines.all()]


def test_what_the_page_carries_is_checked_and_told(found: Bundle, opened: Callable[..., Page]) -> None:
    last = len(found.entries)
    shown = Witnessed([(last, str(witnessed.proof(found, last, TIMES)))], [KEY])
    page = opened(replay(found, witnessed=shown))
    assert seen(page) == [
        ("good", f"{W} saw entry {last} of {last}, the last one, by 2026-03-01T12:00:00Z at the latest.")
    ]
    assert page.locator("#believed").input_value() == KEY
    assert "it holds" in page.locator("#badge").inner_text()
    # The reader believes another, or nobody.
    page.locator("#believed").fill(str(witnessed.witness("v.example")[0]))
    until(page, "document.getElementById('seen').textContent.startsWith('v.example: nothing')")
    assert [tone for tone, _ in seen(page)] == ["open"]
    page.locator("#believed").fill("")
    until(page, "document.getElementById('seen').textContent.includes('you have not named a witness')")
    page.locator("#believed").fill(f"{KEY}\n{KEY[:-3]}AAA")
    until(page, f"{LINES} === 2")
    assert [tone for tone, _ in seen(page)] == ["bad", "good"]
    german = opened(replay(found, witnessed=shown, language="de"), "de.html")
    assert seen(german) == [
        ("good", f"{W} hat Eintrag {last} von {last}, den letzten, spätestens um 2026-03-01T12:00:00Z gesehen.")
    ]


def test_where_nothing_is_shown_that_is_said(found: Bundle, opened: Callable[..., Page]) -> None:
    page = opened(replay(found))
    ((tone, said),) = seen(page)
    assert tone == "open"
    assert said.startswith(
        "Nothing on this page shows that anybody besides the server saw this match. This does not mean"
    )
    assert "it holds" in page.locator("#badge").inner_text()
    assert "filled in the first keys" not in page.locator("main").inner_text()
    ((_, said),) = seen(opened(replay(found, language="de"), "de.html"))
    assert said.startswith("Nichts auf dieser Seite zeigt")


def test_letters_that_a_reader_brings_are_read_in_the_page(
    found: Bundle, opened: Callable[..., Page], tmp_path: Path
) -> None:
    page = opened(replay(found))
    seen(page)
    page.locator("#believed").fill(KEY)
    items: dict[str, list[dict[str, object]]] = {
        "seen": [witnessed.logged(3, witnessed.proof(found, 3, TIMES))],
        "false": [witnessed.logged(3, witnessed.proof(found, 3, TIMES, head="a" * 64))],
        "two": [witnessed.signed_head(found, 2, "b" * 64)],
        "beyond": [witnessed.signed_head(found, len(found.entries) + 1, "b" * 64)],
        "none": [{"about": "match"}],
    }
    for name, each in items.items():
        (tmp_path / f"{name}.eml").write_bytes(witnessed.letter(found, each))

    def bring(*names: str) -> list[tuple[str, str]]:
        page.evaluate("document.getElementById('seen').replaceChildren()")
        page.locator("#letters").set_input_files([tmp_path / f"{name}.eml" for name in names])
        return seen(page)

    last = len(found.entries)
    assert bring("seen") == [
        (
            "good",
            (
                f"{W} saw entry 3 of {last} by 2026-03-01T12:00:00Z at the latest;"
                " nothing here shows that it saw what came after."
            ),
        )
    ]
    assert [tone for tone, _ in bring("none")] == ["open", "open"]
    assert [tone for tone, _ in bring("false")] == ["open", "bad"]
    said = bring("two", "seen")
    assert [tone for tone, _ in said] == ["bad", "good"]
    assert "it told two stories" in said[0][1]
    beyond = bring("beyond")
    assert not [told for _, told in beyond if "proves anything" in told]
    ((tone, told),) = (one for one in beyond if "stories" in one[1])
    assert (tone, f"although the match was closed with entry {last}" in told) == ("bad", True)


def test_of_a_bundle_that_does_not_hold_nobody_is_said_to_have_seen_anything(
    found: Bundle, opened: Callable[..., Page]
) -> None:
    last = len(found.entries)
    shown = Witnessed([(last, str(witnessed.proof(found, last, TIMES)))], [KEY])
    cut = bundle.Bundle(found.entries, found.signatures[::-1], found.papers)
    page = opened(replay(cut, witnessed=shown))
    until(page, "document.getElementById('badge').textContent.includes('does not hold')")
    page.locator("#witnesses").evaluate("(folded) => { folded.open = true; }")
    page.locator("#believed").fill("")
    page.wait_for_timeout(100)
    assert page.locator("#seen").inner_text() == ""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_on_it(found: Bundle, scheme: str, tab: Page, opened: Callable[..., Page]) -> None:
    tab.emulate_media(color_scheme=scheme)
    last = len(found.entries)
    shown = Witnessed(
        [(last, str(witnessed.proof(found, last, TIMES)))], [KEY, str(witnessed.witness("v.example")[0])]
    )
    page = opened(replay(found, witnessed=shown))
    assert [tone for tone, _ in seen(page)] == ["good", "open"]
    violations = Axe().run(page).response["violations"]
    assert [(one["id"], one["nodes"][0]["html"]) for one in violations] == []
    page.set_viewport_size({"width": 390, "height": 800})
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
