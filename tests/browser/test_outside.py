"""A game without pages of its own on the page at home: its drawing, and orders to choose from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from in_a_box.outside import RACE, enabled
from markupsafe import Markup
from playwright.sync_api import expect

from pbem.games import part_of, parts, rules
from pbem.letters.render import Templates
from pbem.pages import script

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from playwright.sync_api import Browser, Page

VIEW: dict[str, Any] = {"scores": [7, 24], "turn": 9, "seat": 1, "cards": [], "entitled": "throw"}


def page(opened: Callable[..., Page], offers: Sequence[str]) -> Page:
    """The page of a race in which these orders are offered."""
    drawn, shared = part_of("race", "boards"), Markup(script("offers.js"))
    return opened(
        Templates().render(
            "player/stands.html",
            rules="race",
            title="Race",
            seat=1,
            names={1: "ann", 2: "bob"},
            view=VIEW,
            boards=drawn.boards(VIEW),
            reports=None,
            happened=None,
            asked="orders",
            offers=offers,
            script=shared,
        )
    )


@pytest.fixture(params=[390, 1280])
def board(request: pytest.FixtureRequest, tmp_path: Path, tab: Page, opened: Callable[..., Page]) -> Iterator[Page]:
    tab.set_viewport_size({"width": request.param, "height": 900})
    with enabled(tmp_path / "site", "race", RACE):
        yield page(opened, parts.offers(rules("race"), VIEW))


def test_the_drawing_fits_and_orders_can_be_chosen(board: Page) -> None:
    picture = board.get_by_role("img", name="seat 1 is on field 7, seat 2 on field 24")
    box = picture.bounding_box()
    assert box
    assert box["width"] > 250
    assert board.evaluate("document.documentElement.scrollWidth === window.innerWidth")
    offered = board.get_by_role("group", name="Orders to choose from").get_by_role("button")
    expect(offered).to_have_text(["throw luck", "throw seven", "throw please", "throw"])
    notation = board.get_by_label("You order")
    notation.press_sequentially("THROW S")
    expect(offered).to_have_text(["throw seven"])
    offered.click()
    expect(notation).to_have_value("throw seven\n")
    expect(notation).to_be_focused()
    expect(offered).to_have_text(["throw luck", "throw please", "throw"])
    notation.press_sequentially("throw l")
    expect(offered).to_have_text(["throw luck"])
    offered.click()
    expect(notation).to_have_value("throw seven\nthrow luck\n")
    # In the middle of the text, the line with the cursor.
    notation.press("ArrowUp")
    board.get_by_role("button", name="throw please").click()
    expect(notation).to_have_value("throw seven\nthrow please\n")


def test_many_orders_are_chosen_with_a_thumb(tmp_path: Path, chromium: Browser) -> None:
    """First the unit, then its order; no keyboard comes up, and the next tap is for another unit."""
    near = [f"P{letter}" for letter in "abcdefghijkl"]
    helped = [f"A {unit} S A {other}-{place}" for unit in near for other in near for place in ("Bur", "Gas", "Ruh")]
    orders = [f"A {unit}{rest}" for unit in near for rest in (" H", "-Bur", "-Gas")]
    telephone = chromium.new_context(viewport={"width": 390, "height": 844}, is_mobile=True, has_touch=True)

    def opened(html: str) -> Page:
        (file := tmp_path / "page.html").write_text(html, encoding="utf-8")
        tab = telephone.new_page()
        tab.goto(f"file://{file}")
        return tab

    with enabled(tmp_path / "site", "race", RACE):
        board = page(opened, sorted([*orders, *helped, "A Pd S A Pe"]))
    offered, notation = board.locator("#offered button"), board.get_by_label("You order")
    expect(offered).to_have_count(12)
    for button in offered.all():
        box = button.bounding_box()
        assert box
        assert min(box["width"], box["height"]) >= 44
    board.get_by_role("button", name="A Pd …").tap()
    expect(notation).to_have_value("A Pd")
    supports = [f"A Pd S A {other} …" for other in near]
    expect(offered).to_have_text(["A Pd H", *supports, "A Pd-Bur", "A Pd-Gas"])
    expect(notation).not_to_be_focused()
    board.get_by_role("button", name="A Pd S A Pe …").tap()
    board.get_by_role("button", name="A Pd S A Pe", exact=True).tap()
    expect(notation).to_have_value("A Pd S A Pe\n")
    expect(offered).to_have_count(11)
    expect(board.get_by_role("button", name="A Pd …")).to_have_count(0)
    telephone.close()
