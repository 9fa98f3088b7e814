"""Letters' HTML parts in a browser, on a phone and at a desk, light and dark: what fits, and what can be read.

Pictures of pages differ from one release of a browser to the next; what is held here is their structure.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from axe_playwright_python.sync_playwright import Axe

from pbem.games import GAMES
from tests.letters.test_html import letters, played, render

if TYPE_CHECKING:
    from collections.abc import Callable

    from playwright.sync_api import Page

WIDTHS = {"phone": 390, "desk": 1000}


@pytest.mark.parametrize("game", GAMES)
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("device", WIDTHS)
def test_letters_fit_and_can_be_read(
    game: str, scheme: str, device: str, tab: Page, opened: Callable[..., Page]
) -> None:
    width = WIDTHS[device]
    tab.set_viewport_size({"width": width, "height": 800})
    tab.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
    some = {kind: (kind, facts) for kind, facts in letters(played(game)) if kind != "begin"}
    for kind, facts in some.values():
        page = opened(render(kind, {**facts, "picture": None}), f"{kind}.html")
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        grids = page.locator("table[summary]").all()
        # Grids stand side by side as far as there is room, and none is drawn over another.
        boxes = [box for grid in grids if (box := grid.bounding_box())]
        assert len(boxes) == len(grids)
        for at, one in enumerate(boxes):
            for other in boxes[at + 1 :]:
                apart = one["x"] + one["width"] <= other["x"] or one["y"] + one["height"] <= other["y"]
                apart = apart or other["x"] + other["width"] <= one["x"] or other["y"] + other["height"] <= one["y"]
                assert apart, (kind, one, other)
        if game == "spaceships" and kind in {"begin", "turn"}:
            assert len({box["y"] for box in boxes[:5]}) == (1 if device == "desk" else 3)
        # Letters leave the page's colour to the client; axe would take it for white.
        page.add_style_tag(content="html { background: Canvas }")
        found = Axe().run(page, options={"runOnly": ["color-contrast"]}).response["violations"]
        assert [(one["id"], one["nodes"][0]["html"]) for one in found] == []
