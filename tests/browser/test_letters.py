"""Letters' HTML parts in a browser, on a phone and at a desk, light and dark: what fits, and what can be read.

Pictures of pages differ a little from one release of a browser to the next: what they look like is held by small
pictures in `pictures/`, which people have looked at, and which are compared blurred. Their words are in a font that
Debian's fontconfig brings, for each machine has others.
To make them anew: PBEM_NEW_PICTURES=1 make test-browser, then look at each.
"""

from __future__ import annotations

import io
import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from axe_playwright_python.sync_playwright import Axe
from in_a_box.referee import Referee
from letters.test_html import letters, played, render
from PIL import Image, ImageChops, ImageFilter, ImageStat

from pbem.games import GAMES

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
    tab.emulate_media(color_scheme=scheme)
    # Of the turns the first: the last one shows no board, the letter of the end shows them all.
    some = {kind: (kind, facts) for kind, facts in reversed(letters(played(game))) if kind != "begin"}
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
            assert len({box["y"] for box in boxes[:5]}) == (1 if device == "desk" else 2)
        # Letters leave the page's colour to the client; axe would take it for white.
        page.add_style_tag(content="html { background: Canvas }")
        found = Axe().run(page, options={"runOnly": ["color-contrast"]}).response["violations"]
        assert [(one["id"], one["nodes"][0]["html"]) for one in found] == []


def test_the_letter_of_the_end_fits_a_phone(tab: Page, opened: Callable[..., Page], tmp_path: Path) -> None:
    """Several letters in one, with hashes and keys among their words."""
    referee = Referee(tmp_path)
    ann, bob = referee.begun("settle: 0")
    referee.send(bob, "resign m1 match\n")
    for person in (ann, bob):
        part = person.find("what was secret").get_body(("html",))
        assert part is not None
        tab.set_viewport_size({"width": 390, "height": 800})
        page = opened(part.get_content())
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
        assert page.evaluate("document.documentElement.scrollHeight") <= 2000
    referee.close()


PICTURES = Path(__file__).with_name("pictures")
SMALLER = {"phone": (130, 480), "desk": (200, 340)}
"""Pixels of a picture: a third of a phone's, a fifth of a desk's, from the top of the letter."""
ALIKE = 4.0
"""Mean difference of two pictures, blurred, of 255, up to which they show the same."""


def photographed(html: str, device: str, tab: Page, opened: Callable[..., Page]) -> Image.Image:
    """The top of a letter, small."""
    width, height = SMALLER[device]
    scale = WIDTHS[device] / width
    tab.set_viewport_size({"width": WIDTHS[device], "height": 800})
    page = opened(html)
    page.add_style_tag(content="* { font-family: 'DejaVu Sans Mono' !important }")
    shot = page.screenshot(
        full_page=True, clip={"x": 0, "y": 0, "width": WIDTHS[device], "height": int(height * scale)}
    )
    return Image.open(io.BytesIO(shot)).convert("RGB").resize((width, height), Image.Resampling.BOX)


def difference(one: Image.Image, other: Image.Image) -> float:
    blurred = [picture.convert("RGB").filter(ImageFilter.GaussianBlur(2)) for picture in (one, other)]
    return sum(ImageStat.Stat(ImageChops.difference(*blurred)).mean) / 3


@pytest.mark.parametrize("game", GAMES)
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("device", WIDTHS)
def test_letters_look_as_they_did(
    game: str, scheme: str, device: str, tab: Page, opened: Callable[..., Page]
) -> None:
    tab.emulate_media(color_scheme=scheme)
    kind, facts = letters(played(game))[3]
    assert kind == "turn"
    found = photographed(render(kind, {**facts, "picture": None}), device, tab, opened)
    path = PICTURES / f"{game}-{device}-{scheme}.png"
    if os.environ.get("PBEM_NEW_PICTURES"):
        found.quantize(24).save(path, optimize=True)
    assert path.stat().st_size < 12_000
    assert difference(found, Image.open(path)) < ALIKE
    # The comparison would see another game, and light for dark.
    for other in PICTURES.glob(f"*-{device}-*.png"):
        if other != path:
            assert difference(found, Image.open(other)) > ALIKE, other.name
