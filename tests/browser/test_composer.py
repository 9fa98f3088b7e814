"""The composer in a browser: setups and turns put together by mouse and by keyboard, that the referee accepts."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, urlsplit

import pytest
from axe_playwright_python.sync_playwright import Axe
from browser.waiting import until
from in_a_box.referee import ANN, BOB, SERVER, Referee, attachment, body, form_in
from playwright.sync_api import expect

from pbem.games import GAMES
from pbem.pages import Home, composer, fragment

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from in_a_box.referee import Mailbox
    from playwright.sync_api import Browser, Page

    Opened = Callable[..., Page]

HOME = Home(SERVER, f"pbem@{SERVER}")

PIECES = {"*": "A1 A2 A3 A4 A5 A6 A7", "W": "C1", "B": "C2", "X1": "C3", "X2": "C4", "Y1": "C5", "Y2": "C6",
          "Z1": "C7", "Z2": "C8", "Z3": "C9", "Z4": "C10", "H": "B5"}  # fmt: skip
MASTERS = "\n".join(f"{piece} {squares}" for piece, squares in PIECES.items())
MASTERS_BOB = "* J1 J2 J3 J4 J5 J6 J7\nW H1\nB H2\nX H3 H4\nY H5 H6\nZ H7 H8 H9 H10\nH I5"


def brought(page: Page, text: str) -> None:
    until(
        page, "!localStorage.length || document.getElementById('loaded').textContent"
    )  # what is kept opens by itself
    if not page.locator("#load").evaluate("(load) => load.open"):
        page.locator("#load > summary").click()
    page.locator("#pasted").fill(text)
    page.locator("#bring").click()


def pasted(page: Page, text: str) -> None:
    brought(page, text)
    page.wait_for_selector("#work:not([hidden])")


def ordering(person: Mailbox, opened: Opened) -> Page:
    """The composer for the first turn, by the link of the letter."""
    position = json.loads(attachment(person.find("game 1 begins"), "position.json"))
    page = opened(composer("spaceships", HOME), "again.html", f"#{fragment(position)}")
    page.wait_for_selector("#work:not([hidden])")
    return page


def click(page: Page, board: str, *squares: str) -> None:
    for square in squares:
        page.locator(f'table[aria-label^="{board}"] button[data-name="{square}"]').click()


def mailed(page: Page) -> tuple[str, str]:
    """The address and the body of the letter that the page opens."""
    link = page.locator("#mail").get_attribute("href")
    assert link is not None
    assert len(link) < 1900
    parts = urlsplit(link)
    (text,) = parse_qs(parts.query)["body"]
    assert text.replace("\r\n", "\n") == page.locator("#form").input_value()
    return parts.path, text.replace("\r\n", "\n")


def signed_letter(page: Page) -> tuple[str, str]:
    """The address and the body of the letter that one press signs and opens."""
    with page.expect_request(lambda asked: asked.url.startswith("mailto:")) as asked:
        page.locator("#mail").click()
    assert page.locator("#form").input_value().endswith("-----END SSH SIGNATURE-----\n")
    found = mailed(page)
    assert asked.value.url == page.locator("#mail").get_attribute("href")
    return found


def send(referee: Referee, person: Mailbox, page: Page) -> None:
    address, text = mailed(page)
    referee.send(person, text, to=address)


def used(page: Page) -> list[str]:
    """The page's counts of each kind of order: used, and allowed."""
    return [" ".join(kind.split()) for kind in page.locator("#controls .kind").all_inner_texts()]


def flat(text: str) -> str:
    """A body as some phones send it: all its line ends lost."""
    return " ".join(text.split())


def test_a_target_list_is_clicked_and_sent_as_it_was_written(referee: Referee, opened: Opened) -> None:
    ann, _ = referee.begun("settle: 0")
    page = ordering(ann, opened)
    page.locator("#kind-list").click()
    click(page, "The other space", "Rv2", "Rv1", "Gx3")
    page.locator("#kind-conventional").click()
    click(page, "The other space", "Rv2", "Ow1")
    page.locator("#kind-list").click()
    click(page, "The other space", "Gx3")
    assert page.locator("#notation").input_value() == "Rv2 Ow1 next Rv2 Rv1"
    assert used(page)[-1] == "list 2"
    send(referee, ann, page)
    assert "\n  Rv2 Ow1 Rv1\n" in ann.text
    click(page, "The other space", "Rv2", "Rv1")
    assert page.locator("#notation").input_value() == "Rv2 Ow1"
    assert page.locator("#verdict").inner_text() == "Legal orders."


def test_a_click_that_the_rules_forbid_says_why_and_changes_nothing(referee: Referee, opened: Opened) -> None:
    ann, _ = referee.begun("settle: 0")
    page, hint = ordering(ann, opened), "#hint"
    page.locator("#kind-beam").click()
    click(page, "The other space", "Rv1")
    ends = page.locator('[aria-label^="The other space"] .may').evaluate_all(
        "(all) => all.map((one) => one.dataset.name)"
    )
    assert {"Rv3", "Rx1", "Yv1"} <= set(ends)
    click(page, "The other space", "Rv2")
    assert page.locator("#notation").input_value() == ""
    assert "Rv1 and Rv2 are not the ends of a line of three cells" in page.locator(hint).inner_text()
    assert page.locator(f"{hint} .ruling summary").inner_text() == "ruling 3"
    click(page, "The other space", "Rv3")
    assert page.locator("#notation").input_value() == "bRv1Rv3"


def test_a_ruling_opens_in_place(referee: Referee, opened: Opened) -> None:
    ann, _ = referee.begun("settle: 0")
    page = ordering(ann, opened)
    page.locator("#notation").fill("bRv1Rv2")
    words = page.locator("#verdict .ruling div")
    assert not words.is_visible()
    page.locator("#verdict .ruling summary", has_text="ruling 3").click()
    assert "beam" in words.inner_text()


def middle(page: Page, selector: str) -> tuple[float, float]:
    box = page.locator(selector).bounding_box()
    assert box
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def test_a_finger_drags_a_ship_and_scrolls_the_page_by_an_empty_cell(
    referee: Referee, chromium: Browser, tmp_path: Path
) -> None:
    """Events of a real finger: the browser takes back those with which it scrolls, and no ship hears of them."""
    ann, _ = referee.agreed("settle: 0")
    context = chromium.new_context(viewport={"width": 390, "height": 844}, has_touch=True, offline=True)
    page, text = context.new_page(), tmp_path / "page.html"
    text.write_text(composer("spaceships", HOME), encoding="utf-8")
    page.goto(f"file://{text}")
    pasted(page, ann.find("your setup").as_string())
    page.locator("#load > summary").click()
    page.locator("#boards").evaluate("(boards) => boards.scrollIntoView()")
    finger, notation = context.new_cdp_session(page), page.locator("#notation")

    def swipe(start: tuple[float, float], goal: tuple[float, float]) -> None:
        steps = [
            (start[0] + (goal[0] - start[0]) * part / 8, start[1] + (goal[1] - start[1]) * part / 8)
            for part in range(9)
        ]
        for step, (x, y) in enumerate(steps):
            kind = "touchMove" if step else "touchStart"
            finger.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": [{"x": x, "y": y}]})
        finger.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})

    def cell(name: str) -> tuple[float, float]:
        return middle(page, f'#boards button[data-name="{name}"]')

    before = page.evaluate("scrollY")
    swipe(middle(page, "#place-4"), cell("Oy4"))
    assert "HS Oy4 Oy5" in notation.input_value()
    swipe(cell("Oy4"), cell("Rv1"))
    assert "HS Rv1 Rv2" in notation.input_value()
    assert page.evaluate("scrollY") == before
    swipe(cell("Oz3"), cell("Rv4"))
    until(page, f"scrollY > {before}")
    assert "HS Rv1 Rv2" in notation.input_value()
    context.close()


CONTRAST = r"""() => {
    const parts = (colour) => {
        const found = colour.match(/[\d.]+/g).map(Number).slice(0, 3);
        return colour.startsWith("color(") ? found : found.map((one) => one / 255);
    };
    const linear = (one) => (one <= 0.04045 ? one / 12.92 : ((one + 0.055) / 1.055) ** 2.4);
    const shares = [0.2126, 0.7152, 0.0722];
    const light = (colour) => parts(colour).reduce((sum, one, at) => sum + linear(one) * shares[at], 0);
    return [...document.querySelectorAll(".plane td > *, .plane td .hull, .plane th")].map((one) => {
        let under = one;
        while (getComputedStyle(under).backgroundColor === "rgba(0, 0, 0, 0)") under = under.parentElement;
        const both = [getComputedStyle(one).color, getComputedStyle(under).backgroundColor].map(light);
        return (Math.max(...both) + 0.05) / (Math.min(...both) + 0.05);
    });
}"""


@pytest.mark.parametrize("width", [1280, 390])
def test_what_stands_on_a_plane_can_be_read(referee: Referee, opened: Opened, width: int) -> None:
    """WCAG AA, by our own arithmetic: axe leaves open what lies on mixed colours or is cut to a shape."""
    ann, bob = referee.begun("settle: 0")
    referee.turn((ann, "Gx3 Gx4 Gx5 Rv1 Rv2"), (bob, "Rv1 Ov1 Bx1 Gz3"))
    position = json.loads(attachment(ann.find("turn 1"), "position.json"))
    page = opened(composer("spaceships", HOME))
    page.emulate_media(reduced_motion="reduce")  # what breaks changes its colour
    page.set_viewport_size({"width": width, "height": 900})
    page.goto(f"{page.url}#{fragment(position)}")
    page.wait_for_selector("#work:not([hidden])")
    if width < 720:
        page.locator("#side-1").click()
    for cell in ("Yx2", "Gv1", "Bw3"):
        page.locator(f'[aria-label^="Your space"] [data-name="{cell}"]').hover()
        page.wait_for_timeout(250)
        found = page.evaluate(CONTRAST)
        assert len(found) > 250
        assert min(found) >= 4.5


def test_a_page_of_no_server_signs_what_a_phone_may_send_without_line_ends(referee: Referee, opened: Opened) -> None:
    page = opened(composer("spaceships"))
    page.locator("#signing > summary").click()
    page.locator("#make").click()
    until(page, "document.getElementById('public').value")
    public = page.locator("#public").input_value()

    def signed(text: str) -> str:
        """The text, pasted and signed in the page."""
        page.locator("#other").fill(text)
        page.locator("#sign-other").click()
        until(page, "document.getElementById('other').value.includes('END SSH SIGNATURE')")
        return str(page.locator("#other").input_value())

    cat, bob = referee.person("cat"), referee.registered("bob")
    referee.send(cat, f"register cat\n{public}\n", sign=False)
    referee.send(cat, signed(form_in(cat.text, "confirm")), sign=False)
    assert "You are registered" in cat.text
    referee.send(bob, "new spaceships with cat\nsettle: 0\nend\n")
    page.locator("#other").fill(form_in(cat.text, "accept", lines=1))
    page.locator("#sign-other").click()
    assert "names no server" in page.locator("#signed-other").inner_text()
    page.locator("#server").fill(SERVER)
    referee.send(cat, signed(form_in(cat.text, "accept", lines=1)), sign=False)
    referee.send(bob, bob.filled("setup", BOB))
    brought(page, attachment(cat.find("your setup"), "setup.json").decode())
    page.locator("#trust").click()
    page.locator("#notation").fill(ANN)
    _, text = signed_letter(page)
    # As from a phone that loses line ends: the signature is found to hold all the same.
    form, armor = text.split("-----BEGIN", 1)
    referee.send(cat, f"{flat(form)}\n\n-----BEGIN{armor}", sign=False)
    assert any("Your setup stands, revision 1" in body(letter) for letter in cat.letters)


@pytest.mark.parametrize("game", GAMES)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing(game: str, scheme: str, tab: Page, opened: Opened, referee: Referee) -> None:
    tab.emulate_media(color_scheme=scheme)
    setups = {"spaceships": ("", ANN, BOB), "dueling-masters": ("", MASTERS, MASTERS_BOB),
              "shoot-em-up": ("", "A b1 N\nB c1 N\nC d1 N", "D b9 S\nE c9 S\nF d9 S")}  # fmt: skip
    _, one, other = setups[game]
    ann, _ = referee.table(game, "settle: 0", {"ann": one, "bob": other})
    position = json.loads(attachment(ann.find("game 1 begins"), "position.json"))
    page = opened(composer(game, HOME))

    def looked_at(state: str) -> None:
        found = Axe().run(page).response["violations"]
        assert [(one["id"], one["nodes"][0]["html"]) for one in found] == [], state

    looked_at("as it opens")
    page.locator("#load > summary").click()
    page.locator("#pasted").fill("nothing")
    page.locator("#bring").click()
    until(page, "document.getElementById('loaded').textContent.length > 0")
    looked_at("what cannot be read")
    page.locator("#practise").click()
    looked_at("an empty setup")
    for text, state in ((one, "a setup"), ("zzz A1 Rv1 b1", "a setup with faults")):
        page.locator("#notation").fill(text)
        looked_at(state)
    pasted(page, json.dumps(position))
    looked_at("a position")
    page.locator("#notation").fill("zzz A1 Rv1 b1 Gx3")
    assert page.locator("#verdict li").count()
    looked_at("orders with faults")
    page.locator("#notation").fill("\n".join(f"{ship}: FMS" for ship in "ABC") if game == "shoot-em-up" else "")
    page.locator("#signing > summary").click()
    page.locator("#make").click()
    until(page, "document.getElementById('public').value")
    if game != "dueling-masters":
        signed_letter(page)
    looked_at("signed")
    page.set_viewport_size({"width": 390, "height": 800})
    # Without a key, a letter goes to the reply address of the one that it answers.
    page.locator("#to").evaluate("(to) => { to.textContent = 'pbem+m1.xxxshparjf4u35ujy5qk@play.example' }")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_ships_that_lack_actions_are_named_and_the_next_one_is_taken(opened: Opened, referee: Referee) -> None:
    setups = {"ann": "A b1 N\nB c1 N\nC d1 N", "bob": "D b9 S\nE c9 S\nF d9 S"}
    ann, _ = referee.table("shoot-em-up", "settle: 0", setups)
    page = opened(composer("shoot-em-up", HOME))
    pasted(page, attachment(ann.find("game 1 begins"), "position.json").decode())
    brief, missing = page.locator("#brief"), ["A, B, C", "B, C", "C"]
    for ship in "ABC":
        expect(page.locator(f"#ship-{ship}")).to_have_attribute("aria-pressed", "true")
        for at in range(3):
            page.locator(f"#action-{ship}-{at}-M").click()
            expect(brief).to_have_text(f"not complete yet: {missing[0]}" if missing else "legal orders")
            if at == 1:
                missing.pop(0)
    page.locator("#action-C-0-M").click()
    expect(brief).to_have_text("not complete yet: C")


@pytest.mark.parametrize("game", GAMES)
@pytest.mark.parametrize("width", [1280, 390])
def test_a_page_without_a_letter_is_a_board_to_try(game: str, width: int, opened: Opened, tab: Page) -> None:
    tab.set_viewport_size({"width": width, "height": 844})
    page = opened(composer(game, HOME))
    until(page, "document.getElementById('verdict').textContent === 'A legal setup.'")
    assert page.locator("#boards .own").count() or page.locator("#boards .seat1").count()
    assert page.locator("#task").inner_text() == "Try it: your setup"
    assert page.locator("#mail").is_hidden()
    assert page.evaluate("scrollY") == 0
    box = page.locator("#boards").bounding_box()
    assert box
    assert box["y"] < 844  # in sight at once
    assert "body=list%20open" in str(page.locator("#begin a").nth(1).get_attribute("href"))


def test_what_is_no_report_is_refused_in_words(opened: Opened, referee: Referee) -> None:
    page = opened(composer("shoot-em-up", HOME))
    ann, _ = referee.agreed("settle: 0")
    for text, words in (
        ("nothing", "there is no position.json"),
        ('{"pbem": "reports 1"}', "neither a position nor a setup"),
        (attachment(ann.find("your setup"), "setup.json").decode(), "to another game: spaceships"),
    ):
        if not page.locator("#pasted").is_visible():
            page.locator("#load > summary").click()
        page.locator("#pasted").fill(text)
        page.locator("#bring").click()
        until(page, f"document.getElementById('loaded').textContent.includes({json.dumps(words)})")
        assert page.locator("#mail").is_hidden()  # there is still only the practice that it opened with


FOREIGN = [
    {"address": "mallory@evil.example"},
    {"address": "pbem+m1@evil.example"},
    {"address": f"mallory@{SERVER}"},
    {"address": f"pbem+m1@{SERVER},mallory@evil.example"},
    {"address": f"pbem+m1@{SERVER}?bcc=mallory@evil.example"},
    {"address": f"pbem%2Cmallory%40evil.example+m1@{SERVER}"},
    {"address": None},
    {"server": "evil.example", "address": "pbem+m1@evil.example"},
    {"server": "evil.example"},
]


@pytest.mark.parametrize("change", FOREIGN)
def test_a_link_of_somebody_else_does_not_lead_the_letter_away(
    referee: Referee, opened: Opened, change: dict[str, str | None]
) -> None:
    ann, _ = referee.agreed("settle: 0")
    setup = json.loads(attachment(ann.find("your setup"), "setup.json"))
    page = opened(composer("spaceships", HOME), fragment=f"#{fragment({**setup, **change})}")
    until(page, "document.getElementById('loaded').textContent.startsWith('This cannot be used')")
    assert page.locator("#work").is_hidden()
    assert page.locator("#mail").get_attribute("href") is None
    told = page.locator("#loaded").inner_text()
    assert f"this page is only for pbem@{SERVER}" in told
    # Its own letters go to its own address, and the page says so.
    pasted(page, json.dumps(setup))
    assert page.locator("#to").inner_text() == f"pbem+m1@{SERVER}"


@pytest.mark.parametrize(
    "change",
    [
        {"player": "ann\nend\nresign m1 match"},
        {"match": "m1\nresign m1"},
        {"prev": "0" * 64 + "\nend"},
        {"rev": "1\nend\nresign m1 match"},
        {"game": "1 end resign m1 match"},
    ],
)
def test_a_link_puts_no_words_into_the_text_to_be_signed(
    referee: Referee, opened: Opened, change: dict[str, str]
) -> None:
    ann, _ = referee.agreed("settle: 0")
    setup = json.loads(attachment(ann.find("your setup"), "setup.json"))
    page = opened(composer("spaceships", HOME), fragment=f"#{fragment({**setup, **change})}")
    until(page, "document.getElementById('loaded').textContent.startsWith('This cannot be used')")
    assert page.locator("#work").is_hidden()


@pytest.mark.parametrize(("language", "said"), [("en", "and play it with"), ("de", "und spiel sie mit")])
def test_a_sealed_match_is_not_played_here_and_the_page_says_where(
    referee: Referee, opened: Opened, language: str, said: str
) -> None:
    ann, _ = referee.agreed("sealed: yes")
    setup = attachment(ann.find("send your setup"), "setup.json").decode()
    page = opened(composer("spaceships", HOME, language))
    brought(page, setup)
    until(page, f"document.getElementById('loaded').textContent.includes('{said} `pbem play`')")
    assert page.evaluate("Object.keys(localStorage)") == []


@pytest.mark.parametrize(
    "change",
    [
        {"options": {"board": "9x1000000000"}},
        {"options": {"board": "27x9"}},
        {"options": {"board": "x"}},
        {"options": {"max_turns": 10**9}},
        {"seat": 10**9},
    ],
)
def test_a_link_to_a_board_without_end_does_not_hold_the_page_up(
    referee: Referee, opened: Opened, change: dict[str, object]
) -> None:
    ann, bob = referee.agreed("settle: 0", game="shoot-em-up")
    for person, ships in ((ann, "A b1 N\nB c1 N\nC d1 N"), (bob, "D b9 S\nE c9 S\nF d9 S")):
        referee.send(person, person.filled("setup", ships))
    letter = next(one for one in ann.letters if "setup.json" in str(one))
    setup = json.loads(attachment(letter, "setup.json"))
    page = opened(composer("shoot-em-up", HOME), fragment=f"#{fragment({**setup, **change})}")
    until(page, "document.getElementById('loaded').textContent.startsWith('This cannot be used')")
    assert "no game is as large as that" in page.locator("#loaded").inner_text()
    position = json.loads(
        attachment(next(one for one in ann.letters if "position.json" in str(one)), "position.json")
    )
    brought(page, json.dumps({**position, "view": {**position["view"], "board": {"rows": 10**9, "columns": 9}}}))
    until(page, "document.getElementById('loaded').textContent.startsWith('This cannot be used')")
    assert page.locator("#work").is_hidden()
    pasted(page, json.dumps(position))


def test_a_page_of_no_server_asks_before_its_first_letter(referee: Referee, opened: Opened) -> None:
    ann, _ = referee.agreed("settle: 0")
    setup = json.loads(attachment(ann.find("your setup"), "setup.json"))
    elsewhere = {**setup, "address": "pbem+m1@evil.example"}
    page = opened(composer("spaceships"), fragment=f"#{fragment(elsewhere)}")
    until(page, "document.getElementById('loaded').textContent.startsWith('This cannot be used')")
    assert f"which is not an address of {SERVER}" in page.locator("#loaded").inner_text()
    brought(page, json.dumps(setup))
    page.wait_for_selector("#ask:not([hidden])")
    assert page.locator("#work").is_hidden()
    assert f"that your letters go to pbem@{SERVER}" in page.locator("#asked").inner_text()
    assert [one["id"] for one in Axe().run(page).response["violations"]] == []
    page.locator("#trust").click()
    assert page.locator("#to").inner_text() == f"pbem+m1@{SERVER}"
    # It is asked once a mailbox: the next match of the same server opens, another server does not.
    pasted(page, json.dumps({**setup, "match": "m2", "address": f"pbem+m2@{SERVER}"}))
    assert page.locator("#ask").is_hidden()
    brought(page, json.dumps({**elsewhere, "server": "evil.example"}))
    page.wait_for_selector("#ask:not([hidden])")
    assert "pbem@evil.example" in page.locator("#asked").inner_text()
    assert page.locator("#work").is_hidden()
