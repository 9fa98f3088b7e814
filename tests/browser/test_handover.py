"""`pbem play --open`: what is clicked together in the composer comes back over the port, once, and legal alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from in_a_box.referee import SERVER, Die
from playwright.sync_api import expect

from pbem.pages import Home, composer, fragment
from pbem.pages.handover import handover
from pbem.player.browser import Handed, Port

if TYPE_CHECKING:
    from playwright.sync_api import Browser

ASKED = {
    "pbem": "setup 1",
    "rules": "shoot-em-up",
    "address": f"pbem+m1@{SERVER}",
    "server": SERVER,
    "match": "m1",
    "game": 1,
    "seat": 1,
    "player": "ann",
    "prev": "0" * 64,
    "rev": 1,
    "options": {},
}


def test_a_legal_setup_is_handed_over(chromium: Browser) -> None:
    port = Port(Die("handover"))
    page = chromium.new_context().new_page()
    try:
        wrong: list[str] = []
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("console", lambda said: wrong.append(said.text) if said.type in {"error", "warning"} else None)
        page.on("request", lambda asked: None if asked.url.startswith(port.url) else wrong.append(asked.url))
        home = Home(SERVER, f"pbem@{SERVER}")
        port.serve(handover("Shoot 'em up", f"composer#{fragment(ASKED)}"), composer("shoot-em-up", home))
        page.goto(port.url)
        notation, button = page.frame_locator("#composer").locator("#notation"), page.locator("#hand-over")
        notation.fill("A c1 N\nB d1 N")
        page.wait_for_timeout(500)
        expect(button).to_be_disabled()  # a ship is missing
        notation.fill("A c1 N\nB d1 N\nC e1 N")
        expect(button).to_be_enabled()
        button.click()
        expect(page.locator("#handed")).to_contain_text("Handed over")
        assert port.wait(5) == Handed("A c1 N\nB d1 N\nC e1 N", final=False)
        assert wrong == []
    finally:
        port.stop()
        page.context.close()
