"""Sealed matches in a browser: decided, answered, opened and revealed on the page; a lost browser loses nothing."""

from __future__ import annotations

import json
import re
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import msgspec
import pytest
from axe_playwright_python.sync_playwright import Axe
from browser.waiting import until
from in_a_box.referee import SERVER, Referee, body, form_in
from in_a_box.sealed_seats import SealedSeat, document
from judges import sentences
from judges.honest import accused
from playing.random_players import PLAYERS, sensible_orders

from pbem.games import GAMES, rules
from pbem.pages import Home, composer, fragment

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from playwright.sync_api import Browser as Chromium
    from playwright.sync_api import Page

    Opened = Callable[..., Page]

HOME = Home(SERVER, f"pbem@{SERVER}")
PAGES = "https://play.example/pbem/"
LINK = re.compile(r"https://[a-z.]+/pbem/[a-z-]+\.html#([A-Za-z0-9_-]+)")
VECTOR = json.loads((Path(__file__).parents[1] / "player" / "sealed_note.json").read_text())

LOCKED = """async (vector) => {
    const lock = await NOTE.lockOf(vector.words, vector.note);
    const found = await NOTE.open(lock, vector.note, vector.place);
    const again = await NOTE.seal(lock, found), other = { ...vector.place, game: 3 };
    const refused = await NOTE.open(lock, vector.note, other).catch((error) => error.message);
    const wrong = await NOTE.lockOf("lusab babad gutih tugad mudof babad", vector.note);
    const unlocked = await NOTE.open(wrong, vector.note, vector.place).catch((error) => error.message);
    const opened = await NOTE.open(lock, again, vector.place);
    return { found, same: again === vector.note, again: opened, refused, unlocked };
}"""


def test_the_note_of_the_program_is_that_of_the_page(opened: Opened) -> None:
    """Either opens what the other sealed, with the six words and at its place alone."""
    said: Any = opened(composer("spaceships", HOME)).evaluate(LOCKED, VECTOR)
    assert said["found"] == said["again"] == VECTOR["secrets"]
    assert not said["same"]
    assert said["refused"] == said["unlocked"] == "these words do not open the note"


DECIDE = """async (found) => {
    const secrets = await STEPS.bound(found, SECRETS.kept(localStorage, found));
    const table = await STEPS.check(found, secrets);
    const { own, ...after } = STEPS.answered(found, secrets, table);
    return SEALED.view(own, after.table);
}"""


class Browser:
    """A player who has nothing but a browser and a mailbox: each letter is composed on the page, and signed there."""

    MAKE = "#make"
    """What is pressed for a key."""

    def __init__(self, referee: Referee, name: str, page: Page) -> None:
        self.referee, self.page = referee, page
        self.box = referee.person(name)
        self.random = Random(name)
        self.words = self.link = ""
        self.read = self.letters = self.acts = 0
        page.locator("#signing > summary").click()
        page.locator(self.MAKE).click()
        until(page, "document.getElementById('public').value")
        referee.send(self.box, f"register {name}\n{page.locator('#public').input_value()}\n", sign=False)
        referee.send(self.box, self.signed(form_in(self.box.text, "confirm")), sign=False)

    def signed(self, text: str) -> str:
        page = self.page
        page.locator("#server").fill(SERVER)
        page.locator("#other").fill(text)
        page.locator("#sign-other").click()
        until(page, "document.getElementById('other').value.includes('END SSH SIGNATURE')")
        return str(page.locator("#other").input_value())

    def due(self) -> dict[str, Any] | None:
        """What the latest letters ask for."""
        found, self.link = None, ""
        for letter in self.box.letters[self.read :]:
            if told := document(letter):
                found = told
                self.link = next(iter(LINK.findall(body(letter))), self.link)
        self.read = len(self.box.letters)
        return found if found and found["sealed"]["owes"] else None

    def write(self) -> bool:
        """Open the page by the link of the last letter, decide if need be, and send; whether it was due."""
        found = self.due()
        if found is None:
            return False
        self.open(found)
        self.sent()
        return True

    def open(self, found: dict[str, Any]) -> None:
        """The page, by the link of the letter; decided, where there is anything to decide."""
        page = self.page
        assert self.link or len(fragment(found)) > 8000, found["sealed"]["owes"]
        page.evaluate("document.getElementById('loaded').textContent = ''")
        page.goto(f"{page.url.partition('#')[0]}#{self.link or fragment(found)}")
        until(page, "document.getElementById('loaded').textContent")
        assert page.locator("#loaded").inner_text() in {"", "Read."}
        assert page.locator("#work").is_visible(), page.locator("#loaded").text_content()
        if not self.words:
            page.locator("#draw-words").click()
            until(page, "document.getElementById('words').value && document.getElementById('draw-words').hidden")
            self.words = page.locator("#words").input_value()
        if page.locator("#composing").is_visible():
            self.acts += 1
            page.locator("#notation").fill(self.decision(found))

    def sent(self) -> None:
        """One press, and the letter is signed; what it says goes to the desk."""
        page = self.page
        page.locator("#mail").click()
        until(page, "document.getElementById('form').value.includes('END SSH SIGNATURE')")
        before = len(self.box.letters)
        self.referee.send(self.box, page.locator("#form").input_value(), sign=False)
        self.letters += 1
        assert "refused" not in body(self.box.letters[before]).lower(), body(self.box.letters[before])

    def decision(self, found: dict[str, Any]) -> str:
        """Any setup, or any orders for the position that the page knows."""
        player, judge = PLAYERS[found["rules"]], rules(found["rules"])
        if found["pbem"] == "setup 1":
            options = judge.options(found["options"], len(found["names"]))
            return player.setup(self.random, options, found["seat"])
        decide = sensible_orders if found["rules"] == "spaceships" else player.orders
        return decide(self.random, self.page.evaluate(DECIDE, found))


@pytest.fixture
def referee(tmp_path: Path) -> Iterator[Referee]:
    referee = Referee(tmp_path)
    referee.config = msgspec.structs.replace(referee.config, pages=PAGES)
    referee.open_desk()
    yield referee
    referee.close()


def agreed(
    referee: Referee, game: str, page: Page, terms: str = "", kind: type[Browser] = Browser
) -> tuple[SealedSeat, Browser]:
    """A sealed match of a program's against somebody with a browser."""
    box, browser = referee.registered("ann"), kind(referee, "bob", page)
    referee.send(box, f"new {game} with bob\nsealed: yes\n{terms}end\n")
    referee.send(browser.box, browser.signed(form_in(browser.box.text, "accept", lines=1)), sign=False)
    return SealedSeat(box, Random("ann")), browser


def begun(referee: Referee, opened: Opened) -> tuple[SealedSeat, Browser]:
    """Such a match in its second turn."""
    program, browser = agreed(referee, "spaceships", opened(composer("spaceships", HOME)))
    for _ in range(4):
        program.write(referee)
        browser.write()
    return program, browser


LETTERS_A_TURN = {"spaceships": 3.4, "dueling-masters": 1.15, "shoot-em-up": 2.0}
"""Of both players together, setups and reveals aside: more is no sealed match as it was devised."""


@pytest.mark.parametrize("game", GAMES)
def test_a_sealed_game_is_played_on_the_page(game: str, referee: Referee, opened: Opened) -> None:
    """To the end, against a program at the real desk; what was told is true, and the bundle proves it."""
    program, browser = agreed(referee, game, opened(composer(game, HOME)))
    for _ in range(400):
        if not program.write(referee) | browser.write():
            break
    match = referee.match()
    assert match.phase == "closed"
    (ended,) = match.games
    assert ended.reason in {"rules", "draw"}
    assert accused(referee, everywhere=False) == []
    others = 2 if game == "shoot-em-up" else 4  # seals and, where anything is left to be told, reveals
    assert program.letters + browser.letters - others <= LETTERS_A_TURN[game] * ended.turns + 3
    assert browser.acts <= ended.turns + 2


def test_a_match_of_several_games_goes_on_on_the_page(referee: Referee, opened: Opened) -> None:
    """Each game has secrets of its own."""
    terms = "kind: scored\ngames: 2\nmax_turns: 3\n"
    program, browser = agreed(referee, "shoot-em-up", opened(composer("shoot-em-up", HOME)), terms)
    while program.write(referee) | browser.write():
        assert browser.letters < 40
    match = referee.match()
    assert (match.phase, len(match.games)) == ("closed", 2)
    assert browser.page.evaluate("Object.keys(localStorage).filter((name) => name.includes('secrets')).length") == 2


def test_a_lost_browser_loses_nothing(referee: Referee, opened: Opened, chromium: Chromium) -> None:
    """In another one, the six words open the note that came with the letter; no other words do."""
    page = opened(composer("spaceships", HOME))
    program, browser = agreed(referee, "spaceships", page)
    for _ in range(3):
        program.write(referee)
        browser.write()
    program.write(referee)
    found = browser.due()
    assert found is not None
    assert found["sealed"]["note"]
    context = chromium.new_context(viewport={"width": 390, "height": 800}, offline=True)
    other = context.new_page()
    other.goto(f"{page.url.partition('#')[0]}#{browser.link}")
    until(other, "document.getElementById('code-said').textContent.includes('Type your six words')")
    assert [(one["id"], one["nodes"][0]["html"]) for one in Axe().run(other).response["violations"]] == []
    for words, said in (
        ("five words are not enough", "not six"),
        ("lusab babad gutih tugad mudof sakat", "do not open"),
    ):
        other.locator("#words").fill(words)
        other.locator("#use-words").click()
        until(other, f"document.getElementById('code-said').textContent.includes({json.dumps(said)})")
        assert other.locator("#work").is_hidden()
    other.locator("#words").fill(f" {browser.words.upper().replace(' ', ', ')} ")
    other.locator("#use-words").click()
    until(other, "!document.getElementById('work').hidden")
    kept = "localStorage.getItem(Object.keys(localStorage).find((name) => name.startsWith('pbem secrets ')))"
    before, after = (json.loads(each.evaluate(kept)) for each in (page, other))
    assert {name: after[name] for name in ("seed", "setup", "orders")} == {
        name: before[name] for name in ("seed", "setup", "orders")
    }
    context.close()


def test_nobody_is_bound_twice_unawares(referee: Referee, opened: Opened) -> None:
    """The same letter is opened again as it was; one with other orders wants a second word."""
    page = opened(composer("spaceships", HOME))
    program, browser = agreed(referee, "spaceships", page)
    for _ in range(2):
        program.write(referee)
        browser.write()
    program.write(referee)
    while True:
        found = browser.due()
        assert found is not None
        browser.open(found)
        if page.locator("#composing").is_visible():
            break
        browser.sent()
        program.write(referee)
    page.locator("#notation").fill("Rv1")
    page.locator("#mail").click()
    until(page, "document.getElementById('form').value.includes('END SSH SIGNATURE')")
    letter = page.locator("#form").input_value()
    page.reload()
    until(page, "document.getElementById('form').value.includes('END SSH SIGNATURE')")
    assert page.locator("#form").input_value() == letter
    page.locator("#anew").click()
    until(page, "!document.getElementById('composing').hidden")
    page.locator("#notation").fill("Rv2")
    assert not page.locator("#form").input_value()
    page.locator("#mail").click()
    assert "convict you" in page.locator("#twice").inner_text()
    assert not page.locator("#form").input_value()
    page.locator("#sure").click()
    until(page, "document.getElementById('form').value.includes('END SSH SIGNATURE')")
    assert page.locator("#form").input_value() != letter
    referee.send(browser.box, letter, sign=False)  # the first one was sent after all
    browser.letters += 1
    for _ in range(4):
        program.write(referee)
        browser.write()
    assert referee.match().phase == "playing"


def test_a_crafted_link_gets_no_secrets(referee: Referee, opened: Opened) -> None:
    """Whoever makes a link that asks for a reveal while the game goes on, or for another player's steps."""
    page = opened(composer("spaceships", HOME))
    program, browser = agreed(referee, "spaceships", page)
    found = None
    while found is None or found["pbem"] == "setup 1":
        program.write(referee)
        if (found := browser.due()) is not None and found["pbem"] == "setup 1":
            browser.open(found)
            browser.sent()
    crafted = {**found, "sealed": {**found["sealed"], "owes": ["reveal"]}}
    browser.link = fragment(crafted)
    browser.open(crafted)
    page.locator("#mail").click()
    assert sentences.THE_GAME_CONTINUES in page.locator("#twice").inner_text()
    assert not page.locator("#form").input_value()
    kept = page.evaluate("Object.values(localStorage).join(' ')")
    other = {**found, "seat": 1, "player": "ann", "sealed": {**found["sealed"], "note": None}}
    page.goto(f"{page.url.partition('#')[0]}#{fragment(other)}")
    until(page, "document.getElementById('loaded').textContent.includes('neither in this browser nor in a note')")
    asks = "document.getElementById('code-said').textContent.includes('Type your six words')"
    refuses = "document.getElementById('loaded').textContent.includes('do not open the note')"
    for note, outcome in (("AAAA", asks), ("no base64", asks), (found["sealed"]["note"], refuses)):
        page.evaluate("['code-said', 'loaded'].forEach((id) => { document.getElementById(id).textContent = ''; })")
        noted = {**other, "sealed": {**other["sealed"], "note": note}}
        page.goto(f"{page.url.partition('#')[0]}#{fragment(noted)}")
        until(page, outcome)
    assert page.evaluate("Object.values(localStorage).join(' ')") == kept


@pytest.mark.parametrize("what", ["game 1", "match"])
def test_one_press_reveals_after_a_signed_resignation(what: str, referee: Referee, opened: Opened) -> None:
    """The opponent's, checked against the key of the first letter; the one who had resigned won by waiting."""
    program, browser = begun(referee, opened)
    referee.send(program.box, f"resign m1 {what}\n")
    found = browser.due()
    assert found is not None
    assert found["sealed"]["owes"] == ["reveal"]
    assert browser.link
    browser.open(found)
    browser.sent()
    assert browser.page.locator("#twice").is_hidden()
    program.write(referee)
    (ended,) = referee.match().games
    assert (referee.match().phase, ended.winner, ended.reason) == ("closed", 2, "resignation")


def test_a_resignation_that_is_not_proved_is_asked_about(referee: Referee, opened: Opened) -> None:
    """Once more, as for any end that only the server knows of."""
    program, browser = begun(referee, opened)
    referee.send(program.box, "resign m1 match\n")
    found = browser.due()
    assert found is not None
    other = found["sealed"]["resignation"].replace("resign m1 match", "resign m1 game 1")
    told = {**found, "sealed": {**found["sealed"], "resignation": other}}
    browser.link = fragment(told)
    browser.open(told)
    browser.page.locator("#mail").click()
    until(browser.page, "document.getElementById('twice').innerText.includes('not signed with a key')")
    assert not browser.page.locator("#form").input_value()
    browser.page.locator("#sure").click()
    until(browser.page, "document.getElementById('form').value.includes('END SSH SIGNATURE')")


def test_a_game_that_goes_on_after_a_reveal_is_warned_of(referee: Referee, opened: Opened) -> None:
    """An opponent in league with the server resigns, learns all, and plays on: one press makes no letter."""
    program, browser = begun(referee, opened)
    program.write(referee)
    step = browser.due()
    assert step is not None
    assert "reveal" not in step["sealed"]["owes"]
    referee.send(program.box, "resign m1 match\n")
    assert browser.write()
    browser.link = fragment(step)
    browser.open(step)
    browser.page.locator("#mail").click()
    until(browser.page, "document.getElementById('twice').innerText.includes('but now the game continues')")
    assert not browser.page.locator("#form").input_value()


def test_who_resigned_reveals_with_one_press(referee: Referee, opened: Opened) -> None:
    """The page knows its own signature."""
    _, browser = begun(referee, opened)
    referee.send(browser.box, browser.signed("resign m1 match\n"), sign=False)
    referee.send(browser.box, browser.signed(form_in(browser.box.text, "resign")), sign=False)
    found = browser.due()
    assert found is not None
    browser.open(found)
    browser.sent()
    assert browser.page.locator("#twice").is_hidden()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_on_a_phone(scheme: str, tab: Page, referee: Referee, opened: Opened) -> None:
    tab.emulate_media(color_scheme=scheme)
    tab.set_viewport_size({"width": 390, "height": 800})
    program, browser = agreed(referee, "dueling-masters", opened(composer("dueling-masters", HOME)))
    seen = set()
    for _ in range(60):
        program.write(referee)
        if (found := browser.due()) is None:
            continue
        browser.open(found)
        state = found["sealed"]["owes"], browser.page.locator("#composing").is_visible()
        if str(state) not in seen:
            seen.add(str(state))
            assert [(one["id"], one["nodes"][0]["html"]) for one in Axe().run(tab).response["violations"]] == [], (
                state
            )
            assert tab.evaluate("document.documentElement.scrollWidth") <= 390
        browser.sent()
        if len(seen) == 4:
            break
    assert len(seen) >= 3
