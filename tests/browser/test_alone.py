"""A match by the page alone: registered, accepted, set up, three turns, minds changed, reloads in between.

By a mouse, by a thumb on a phone 390 pixels wide, and by a keyboard. All that leaves the page are the letters that it
opens; all that comes in are letters as people see them.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, unquote, urlsplit

import pytest
from browser.test_live import Keyboard, Mouse
from browser.waiting import until
from in_a_box.referee import BOB, SERVER, Referee, attachment, body

from pbem.pages import Home, composer, fragment

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from email.message import EmailMessage
    from pathlib import Path

    from in_a_box.referee import Mailbox
    from playwright.sync_api import Browser, Page

HOME = Home(SERVER, f"pbem@{SERVER}")


class Thumb(Mouse):
    """Somebody who only taps, on a small screen."""

    def press(self, control: str) -> None:
        self.page.locator(f"#{control}").tap()

    def squares(self, board: str, *names: str) -> None:
        for name in names:
            self.page.locator(f'table[aria-label^="{board}"] button[data-name="{name}"]').tap()


def opened_letter(page: Page, press: Callable[[], None]) -> tuple[str, str]:
    """The address and body of the letter that a press opens, once the browser has given up going there."""
    with page.expect_event("requestfailed", lambda asked: asked.url.startswith("mailto:")) as asked:
        press()
    parts = urlsplit(asked.value.url)
    return unquote(parts.path), parse_qs(parts.query)["body"][0].replace("\r\n", "\n")


def linked(letter: EmailMessage, page: str) -> str:
    """The text of a letter with the link in it, as a player who copies all of it pastes it."""
    name = "position.json" if "position.json" in str(letter) else "setup.json"
    found = json.loads(attachment(letter, name))
    return f"{body(letter)}\n\n  https://{SERVER}/{page}#{fragment(found)}\n"


class Somebody:
    """A player who has nothing but the page and a mailbox."""

    def __init__(self, page: Page, hand: type[Mouse | Keyboard], referee: Referee, box: Mailbox) -> None:
        self.page, self.hand, self.referee, self.box = page, hand(page), referee, box

    def press(self, control: str) -> None:
        self.hand.press(control)

    def send(self, control: str = "mail") -> str:
        address, text = opened_letter(self.page, lambda: self.press(control))
        self.referee.send(self.box, text, sign=False, to=address, follow=False)
        return text

    def typed(self, control: str, text: str) -> None:
        self.page.locator(f"#{control}").fill(text)

    def bring(self, letter: EmailMessage) -> None:
        if not self.page.locator("#load").evaluate("(load) => load.open"):
            self.page.locator("#load > summary").click()
        self.typed("pasted", linked(letter, "spaceships.html"))
        self.page.evaluate("() => { document.getElementById('loaded').textContent = '' }")
        self.press("bring")
        until(self.page, "document.getElementById('loaded').textContent")

    def register(self, name: str) -> None:
        self.page.locator("#signing > summary").click()
        self.press("make")
        until(self.page, "document.getElementById('public').value")
        self.typed("name", name)
        self.send("register")
        self.answer()

    def answer(self) -> None:
        """Sign what the last letter asks for."""
        self.typed("other", self.box.text)
        self.press("sign-other")
        self.page.wait_for_selector("#mail-other:not([hidden])")
        self.send("mail-other")

    def reload(self) -> None:
        self.page.reload()
        self.page.wait_for_selector("#work:not([hidden])")
        until(self.page, "document.getElementById('public').value")

    def notation(self) -> str:
        return str(self.page.locator("#notation").input_value())


HANDS = {"mouse": (Mouse, 1100, False), "thumb": (Thumb, 390, True), "keyboard": (Keyboard, 1100, False)}


@pytest.fixture
def page(request: pytest.FixtureRequest, chromium: Browser, tmp_path: Path) -> Iterator[Page]:
    _, width, touch = HANDS[request.param]
    context = chromium.new_context(viewport={"width": width, "height": 844}, has_touch=touch, offline=True)
    tab = context.new_page()
    wrong: list[str] = []
    tab.on("pageerror", lambda error: wrong.append(str(error)))
    (tmp_path / "page.html").write_text(composer("spaceships", HOME), encoding="utf-8")
    tab.goto(f"file://{tmp_path}/page.html")
    yield tab
    context.close()
    assert wrong == []


@pytest.mark.parametrize(("page", "hand"), [(name, HANDS[name][0]) for name in HANDS], indirect=["page"], ids=HANDS)
def test_a_match_by_the_page_alone(page: Page, hand: type[Mouse | Keyboard], referee: Referee) -> None:
    bob, box = referee.registered("bob"), referee.person("cat")
    cat = Somebody(page, hand, referee, box)
    cat.register("cat")
    assert "You are registered" in box.text
    referee.send(bob, "new spaceships with cat\nsettle: 0\nend\n")
    cat.answer()
    referee.send(bob, bob.filled("setup", BOB))

    cat.bring(box.find("your setup"))
    assert "You play against bob" in page.locator("#about").inner_text()
    cat.hand.squares("Your space", "Rv1", "Ov3", "Gv1")
    cat.reload()
    assert cat.notation().startswith("DS Rv1 ")
    # A mind changed: the cruiser is taken up again, and put elsewhere.
    cat.hand.squares("Your space", "Ov3")
    assert "\nKC\n" in cat.notation()
    cat.hand.squares("Your space", "Bx3", "Gz1", "Gz4")
    assert page.locator("#brief").inner_text() == "a legal setup"
    cat.send()
    assert any("Your setup stands, revision 1" in body(letter) for letter in box.letters)

    for turn in (1, 2, 3):
        cat.bring(next(one for one in reversed(box.letters) if "position.json" in str(one)))
        assert page.locator("#task").inner_text() == f"Your orders for turn {turn}"
        assert bool(page.locator("#last").inner_text()) is (turn > 1)
        cat.hand.squares("The other space", "Rv1", "Rv2", "Rv2", "Rv3")
        assert cat.notation() == "Rv1 Rv3"
        cat.press("undo")
        assert cat.notation() == "Rv1"
        cat.press("redo")
        cat.reload()
        assert cat.notation() == "Rv1 Rv3"
        assert "rev 1\n" in cat.send()
        assert page.locator("#brief").inner_text() == "this is what you sent last"
        # Two minds changed: each letter has a higher revision, after a reload too.
        cat.hand.squares("The other space", f"Rv{turn + 1 if turn > 2 else 5}", "Rv5" if turn > 2 else "Rv4")
        assert "rev 2\n" in cat.send()
        cat.reload()
        cat.hand.squares("The other space", "Rw1")
        text = cat.send()
        assert "rev 3\n" in text
        assert "Your orders for turn " in box.text
        assert f"{turn} stand, revision 3" in box.text
        referee.send(bob, bob.filled("orders", "final"))
        page.locator("#final").check()
        assert "rev 4\nfinal\n" in cat.send()
    assert any("turn 3" in str(letter["Subject"]) for letter in box.letters)


def test_an_unsigned_letter_asks_first_where_a_key_is_wanted(opened: Callable[..., Page], referee: Referee) -> None:
    ann, _ = referee.begun("settle: 0")
    position = json.loads(attachment(ann.find("game 1 begins"), "position.json"))
    page = opened(composer("spaceships", HOME), fragment=f"#{fragment(position)}")
    page.locator('button[data-name="Gx3"]').first.click()
    page.locator("#mail").click()
    page.wait_for_selector("#unsigned:not([hidden])")
    assert page.locator("#brief").inner_text() == "legal orders"
    address, text = opened_letter(page, page.locator("#anyway").click)
    assert address == f"pbem+m1@{SERVER}"
    assert text.startswith("orders m1 turn 1\n")
    # Who has no key answers an address that is good for one letter, and is not asked.
    single = {**position, "address": f"pbem+m1.tyw4jkq@{SERVER}", "match": "m2"}
    page = opened(composer("spaceships", HOME), "other.html", f"#{fragment(single)}")
    page.locator('button[data-name="Gx3"]').first.click()
    address, _ = opened_letter(page, page.locator("#mail").click)
    assert address == f"pbem+m1.tyw4jkq@{SERVER}"


def test_what_stands_already_is_there_and_nothing_is_green_before_it_is_ordered(
    opened: Callable[..., Page], referee: Referee
) -> None:
    ann, _ = referee.begun("settle: 0")
    position = json.loads(attachment(ann.find("game 1 begins"), "position.json"))
    page = opened(composer("spaceships", HOME), fragment=f"#{fragment(position)}")
    page.wait_for_selector("#work:not([hidden])")
    assert page.locator("#brief").get_attribute("class") == "open"
    assert "you would do nothing" in page.locator("#verdict").inner_text()
    position |= {"standing": {"rev": 4, "final": False, "orders": "Gx3 Rv1"}, "rev": 5, "match": "m2"}
    page = opened(composer("spaceships", HOME), "other.html", f"#{fragment(position)}")
    until(page, "document.getElementById('notation').value === 'Gx3 Rv1'")
    assert page.locator("#brief").inner_text() == "these orders stand already"
    assert "rev 5\nGx3 Rv1\nend" in page.locator("#form").input_value()
    page.keyboard.press("Control+z")
    page.locator('table[aria-label^="The other"] button[data-name="Gx3"]').click()
    assert page.locator("#notation").input_value() == "Rv1"
    page.keyboard.press("Control+z")
    assert page.locator("#notation").input_value() == "Gx3 Rv1"
    page.keyboard.press("Control+y")
    assert page.locator("#notation").input_value() == "Rv1"


def test_a_letter_is_dropped_and_what_is_kept_is_offered(opened: Callable[..., Page], referee: Referee) -> None:
    ann, _ = referee.agreed("settle: 0")
    page = opened(composer("spaceships", HOME))
    drop = """(text) => {
        const data = new DataTransfer();
        data.items.add(new File([text], "letter.eml"));
        document.body.dispatchEvent(new DragEvent("drop", { dataTransfer: data, bubbles: true }));
    }"""
    page.evaluate(drop, ann.find("your setup").as_string())
    page.wait_for_selector("#work:not([hidden])")
    assert page.locator("#task").inner_text() == "Your setup"
    page.locator("#random").click()
    laid = page.locator("#notation").input_value()
    assert page.locator("#brief").inner_text() == "a legal setup"
    page.evaluate(drop, "a letter about something else")
    until(page, "document.getElementById('loaded').textContent.includes('no position.json')")
    page.reload()
    until(page, f"document.getElementById('notation').value === {json.dumps(laid)}")
    page.locator("#load > summary").click()
    assert page.locator("#kept button").all_inner_texts() == ["m1: setup of game 1"]


def test_a_key_goes_from_one_browser_to_another(chromium: Browser, tmp_path: Path) -> None:
    path, copy = tmp_path / "page.html", tmp_path / "key.json"
    path.write_text(composer("spaceships", HOME), encoding="utf-8")

    def browser() -> Page:
        page = chromium.new_context(offline=True).new_page()
        page.goto(f"file://{path}")
        page.locator("#signing > summary").click()
        return page

    page = browser()
    page.locator("#passphrase").fill("correct horse")
    page.locator("#make").click()
    until(page, "document.getElementById('public').value")
    public = page.locator("#public").input_value()
    assert "Save the copy" in page.locator("#keyed").inner_text()
    with page.expect_download() as saved:
        page.locator("#save-key").click()
    saved.value.save_as(copy)
    kept = json.loads(copy.read_text())
    assert kept["iterations"] >= 600_000
    # Nothing reads the private half out: neither what is kept nor the copy holds it in the clear.
    read = """async () => {
        const kept = await new Promise((resolve) => {
            const opening = indexedDB.open("pbem", 1);
            opening.onsuccess = () => {
                const asked = opening.result.transaction("keys").objectStore("keys").get("player");
                asked.onsuccess = () => resolve(asked.result);
            };
        });
        return [kept.privateKey.extractable, Object.keys(kept).sort()];
    }"""
    assert page.evaluate(read) == [False, ["copy", "privateKey", "publicKey", "raw"]]
    page.context.close()

    other = browser()
    for passphrase, words in (("wrong", "does not open this copy"), ("correct horse", "The key is here")):
        other.locator("#passphrase").fill(passphrase)
        other.locator("#open-key").set_input_files(copy)
        until(other, f"document.getElementById('keyed').textContent.includes({json.dumps(words)})")
    assert other.locator("#public").input_value() == public
    other.locator("#other").fill("confirm ann\nserver play.example\nchallenge tYw4\nend\n")
    other.locator("#sign-other").click()
    until(other, "document.getElementById('other').value.includes('END SSH SIGNATURE')")
    other.context.close()
