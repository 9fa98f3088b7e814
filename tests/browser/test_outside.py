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
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from playwright.sync_api import Page

VIEW: dict[str, Any] = {"scores": [7, 24], "turn": 9, "seat": 1, "cards": [], "entitled": "throw"}


@pytest.fixture(params=[390, 1280])
def board(request: pytest.FixtureRequest, tmp_path: Path, tab: Page, opened: Callable[..., Page]) -> Iterator[Page]:
    tab.set_viewport_size({"width": request.param, "height": 900})
    with enabled(tmp_path / "site", "race", RACE):
        drawn, shared = part_of("race", "boards"), Markup(script("offers.js"))
        yield opened(
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
                offers=parts.offers(rules("race"), VIEW),
                script=shared,
            )
        )


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
    expect(notation).to_have_value("throw seven")
    expect(notation).to_be_focused()
    expect(offered).to_have_count(4)
    notation.press_sequentially("\nthrow l")
    expect(offered).to_have_text(["throw luck"])
    offered.click()
    expect(notation).to_have_value("throw seven\nthrow luck")
    # In the middle of the text, the line with the cursor.
    notation.press("ArrowUp")
    board.get_by_role("button", name="throw please").click()
    expect(notation).to_have_value("throw please\nthrow luck")
