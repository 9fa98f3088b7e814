"""Matches begun on pages and by letters: one player has but a mouse, the other but a keyboard."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, urlsplit

import pytest
from axe_playwright_python.sync_playwright import Axe
from in_a_box.referee import SERVER, Referee, attachment

from pbem.pages import Home, composer, fragment

if TYPE_CHECKING:
    from collections.abc import Callable
    from email.message import EmailMessage

    from playwright.sync_api import Page

AT = """() => {
    const here = document.activeElement, table = here.closest("table.grid");
    return table ? table.getAttribute("aria-label") : here.id;
}"""
WAY = """(name) => {
    const here = document.activeElement.closest("td"), boards = here.closest(".boards");
    const tables = [...boards.querySelectorAll("table.grid")];
    const place = (cell) => [cell.parentElement.rowIndex,
        tables.indexOf(cell.closest("table")) * (cell.parentElement.cells.length - 1) + cell.cellIndex];
    const goal = boards.querySelector(`[data-name="${name}"]`).closest("td");
    const [row, column] = place(here), [down, along] = place(goal);
    return [down - row, along - column];
}"""


class Keyboard:
    """Somebody who never touches a mouse."""

    def __init__(self, page: Page) -> None:
        self.page = page

    def tab(self, to: str, *, back: bool = False) -> None:
        """Go on with the Tab key to an element by its id, or to a board by the beginning of its name."""
        for _ in range(80):
            self.page.keyboard.press("Shift+Tab" if back else "Tab")
            found = str(self.page.evaluate(AT))
            if found == to or found.startswith((f"{to} ", f"{to},")):
                return
        raise AssertionError(f"{to} cannot be reached")

    def squares(self, board: str, *names: str) -> None:
        """Walk a board by the arrow keys, and choose."""
        if not str(self.page.evaluate(AT)).startswith(board):
            self.tab(board)
        for name in names:
            down, along = self.page.evaluate(WAY, name)
            for _ in range(abs(along)):
                self.page.keyboard.press("ArrowRight" if along > 0 else "ArrowLeft")
            for _ in range(abs(down)):
                self.page.keyboard.press("ArrowDown" if down > 0 else "ArrowUp")
            assert self.page.evaluate("document.activeElement.dataset.name") == name
            self.page.keyboard.press("Enter")

    def reach(self, control: str) -> None:
        if self.page.evaluate(AT) != control:
            back = "document.activeElement.compareDocumentPosition(document.getElementById(id)) & 2"
            self.tab(control, back=bool(self.page.evaluate(f"(id) => {back}", control)))

    def press(self, control: str) -> None:
        self.reach(control)
        self.page.keyboard.press("Enter")

    def final(self) -> None:
        self.tab("final")
        self.page.keyboard.press("Space")

    def mail(self) -> str | None:
        self.tab("mail")
        href: str | None = self.page.locator("#mail").get_attribute("href")
        return href


class Mouse:
    """Somebody who never touches a keyboard."""

    def __init__(self, page: Page) -> None:
        self.page = page

    def squares(self, board: str, *names: str) -> None:
        for name in names:
            self.page.locator(f'table[aria-label^="{board}"] button[data-name="{name}"]').click()

    def press(self, control: str) -> None:
        self.page.locator(f"#{control}").click()

    def final(self) -> None:
        self.page.locator("#final").check()

    def mail(self) -> str | None:
        href: str | None = self.page.locator("#mail").get_attribute("href")
        return href


Hand = Keyboard | Mouse


def spaceships_setup(hand: Hand, _seat: int) -> str:
    hand.squares("Your space", "Ov1", "Gv3", "Ry1", "Bx1", "Bv4")
    return "FS Ry1 Ry2 Rz1 Rz2"


def spaceships_orders(hand: Hand, _seat: int) -> str:
    hand.squares("The other space", "Rv1", "Gx3")
    hand.press("kind-beam")
    hand.squares("The other space", "Rv1", "Rv3")
    hand.press("kind-missile")
    hand.squares("The other space", "Bz5")
    hand.press("kind-scan")
    hand.squares("The other space", "Yx3")
    return "Rv1, Gx3, bRv1Rv3, mBx1 Bz5, sYx3"


def masters_setup(hand: Hand, seat: int) -> str:
    rocks, pieces, home = ("A", "C", "B5") if seat == 1 else ("J", "H", "I5")
    hand.squares("Your half", *(f"{rocks}{column}" for column in range(1, 8)))
    hand.squares("Your half", *(f"{pieces}{column}" for column in range(1, 11)), home)
    return f"H {home}"


def masters_orders(hand: Hand, seat: int) -> str:
    here, there = ("C7", "G7") if seat == 1 else ("H10", "G10")
    hand.squares("Your pieces", here, there)
    return f"{here}-{there}"


def shooting_setup(hand: Hand, seat: int) -> str:
    row, ship = (1, "C") if seat == 1 else (9, "F")
    hand.squares("The board", f"b{row}", f"d{row}", f"h{row}")
    hand.press("facing-W")
    return f"{ship} h{row} W"


def shooting_orders(hand: Hand, seat: int) -> str:
    for ship, actions in zip("ABC" if seat == 1 else "DEF", ("FMS", "LRF", "MMS"), strict=True):
        for at, action in enumerate(actions):
            hand.press(f"ship-{ship}")
            hand.press(f"action-{ship}-{at}-{action}")
    return "LRF"


COMPOSED: dict[str, tuple[Callable[[Hand, int], str], Callable[[Hand, int], str], int]] = {
    "spaceships": (spaceships_setup, spaceships_orders, 1),
    "dueling-masters": (masters_setup, masters_orders, 2),
    "shoot-em-up": (shooting_setup, shooting_orders, 1),
}
"""Of each game how a setup and orders are composed, and the turn in which seat 2 first orders."""


def without_faults(page: Page) -> None:
    assert [(one["id"], one["nodes"][0]["html"]) for one in Axe().run(page).response["violations"]] == []


def compose(page: Page, hand: type[Hand], how: Callable[[Hand, int], str], seat: int, letter: EmailMessage) -> str:
    """The body of the letter that the page opens, each state of the page having been looked at by axe."""
    without_faults(page)
    wielded = hand(page)
    words = how(wielded, seat)
    without_faults(page)
    if page.locator("#final").is_visible():
        wielded.final()
    link = wielded.mail()
    assert link is not None, page.locator("#verdict").inner_text()
    assert len(link) < 1900
    parts = urlsplit(link)
    assert parts.path in letter["Reply-To"]
    (text,) = parse_qs(parts.query)["body"]
    assert words.replace(", ", " ") in " ".join(text.split())
    return text.replace("\r\n", "\n")


@pytest.mark.parametrize("game", COMPOSED)
@pytest.mark.parametrize("hands", [(Mouse, Keyboard), (Keyboard, Mouse)])
def test_what_is_composed_is_accepted(
    game: str, hands: tuple[type[Hand], type[Hand]], referee: Referee, opened: Callable[..., Page]
) -> None:
    setup, orders, later = COMPOSED[game]
    players = referee.agreed("pace: none", game)
    home = Home(SERVER, f"pbem@{SERVER}")
    for seat, (player, hand) in enumerate(zip(players, hands, strict=True), start=1):
        letter = player.find("send your setup")
        asked = json.loads(attachment(letter, "setup.json"))
        page = opened(composer(game, home), f"setup-{seat}.html", f"#{fragment(asked)}")
        page.wait_for_selector("#work:not([hidden])")
        text = compose(page, hand, setup, seat, letter)
        # As from a phone that keeps no line ends, where a line is no ship by itself.
        referee.send(player, text if game == "shoot-em-up" else " ".join(text.split()) + "\n")
    for seat, (player, hand) in enumerate(zip(players, hands, strict=True), start=1):
        turn = later if seat == 2 else 1
        letter = player.find("the game begins" if turn == 1 else "turn 1")
        asked = json.loads(attachment(letter, "position.json"))
        page = opened(composer(game, home), f"orders-{seat}.html", f"#{fragment(asked)}")
        page.wait_for_selector("#work:not([hidden])")
        text = compose(page, hand, orders, seat, letter)
        referee.send(player, text if game == "shoot-em-up" else " ".join(text.split()) + "\n")
    assert referee.match().turn == later + 1
