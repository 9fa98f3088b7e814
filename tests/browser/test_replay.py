"""The page of a match: stepped through by keyboard, its proof recomputed, and what was tampered with named."""

from __future__ import annotations

import json
import re
from random import Random
from typing import TYPE_CHECKING

import pytest
from attackers.forgers import tampered
from axe_playwright_python.sync_playwright import Axe
from browser.waiting import until
from in_a_box.referee import ANN, BOB, Referee, attachment
from msgspec.structs import replace
from pages.strange_site import SETUPS
from playing.random_players import PLAYERS, sensible_orders
from playwright.sync_api import expect

from pbem.desk.public import Public
from pbem.i18n import LANGUAGES
from pbem.pages import match_page as pages
from pbem.pages.match_page import replay
from pbem.pages.site import pages as pages_of
from pbem.proof import bundle

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from playwright.sync_api import Browser, Page


@pytest.fixture(scope="module")
def bundles(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """The bundle of a match of each game, six turns and a resignation."""
    found: dict[str, bytes] = {}
    for game, setups in SETUPS.items():
        referee = Referee(tmp_path_factory.mktemp(game))
        people = referee.table(game, "settle: 0\nrules: 1", setups)  # by 1 a resignation ends the game of three
        random = Random(2)
        orders = sensible_orders if game == "spaceships" else PLAYERS[game].orders
        for _ in range(6):
            asked = []
            for person in people:
                letter = next(one for one in reversed(person.letters) if "position.json" in str(one))
                position = json.loads(attachment(letter, "position.json"))
                if position["asked"]:
                    asked.append((person, orders(random, position["view"])))
            referee.turn(*asked)
        referee.send(people[1], "resign m1 match")
        found[game] = attachment(people[0].find(", the end"), ".zip")
        referee.close()
    return found


def verified(page: Page) -> list[str]:
    page.locator("#badge").click()  # opens the proof
    page.locator("#verify").click()
    page.wait_for_selector("#proof > p")
    return list(page.locator("#proof li, #proof > p").all_inner_texts())


@pytest.mark.parametrize("game", SETUPS)
def test_a_match_is_stepped_through_and_proved(
    game: str, bundles: dict[str, bytes], opened: Callable[..., Page]
) -> None:
    page = opened(replay(bundle.read(bundles[game])), fragment="#game-1-turn-0")
    assert page.locator("#at").inner_text() == "before the first turn"
    boards = {page.locator("#boards").inner_text()}
    page.locator("#next").focus()
    for turn in range(1, 7):
        page.keyboard.press("Enter")
        assert page.locator("#at").inner_text().startswith(f"turn {turn} of 6")
        boards.add(page.locator("#boards").inner_text())
        assert page.locator("#events").inner_text().strip()
    assert len(boards) > 3
    assert page.locator("#next").is_disabled()
    assert page.locator("#chart polyline").count() == len(SETUPS[game])
    said = verified(page)
    assert said[-1] == "Everything that can be checked here holds."
    assert all(line.startswith("ok") for line in said[:-1])
    assert re.search(r"players: [1-9][0-9]* letters signed", "\n".join(said))
    assert "cannot be judged" not in "\n".join(said)


def test_a_match_is_seen_as_each_player_knew_it(bundles: dict[str, bytes], opened: Callable[..., Page]) -> None:
    page = opened(replay(bundle.read(bundles["spaceships"])), fragment="#game-1-turn-0")
    assert page.locator("#readers button").all_inner_texts() == ["as it was", "as ann knew it", "as bob knew it"]
    own, seen = page.locator("#boards .own"), page.locator("#boards .seen, #boards .sunk")
    both = own.count()
    page.get_by_role("button", name="as ann knew it").click()
    assert own.count() == 23 < both  # of a standard fleet's cells, those of one
    assert seen.count() == 0
    page.locator("#last").click()
    assert seen.count() > 0
    assert "bob:" not in page.locator("#events").inner_text()
    assert not page.locator("#setups").is_visible()
    assert page.url.endswith("#game-1-turn-6-seat-1")
    page.reload()
    until(page, "document.getElementById('at').textContent.startsWith('turn 6 of 6')")
    assert 0 < own.count() <= 23
    page = opened(replay(bundle.read(bundles["shoot-em-up"])), "open.html")
    assert page.locator("#readers").is_hidden()


@pytest.mark.parametrize("game", SETUPS)
def test_a_turn_happens_over_the_boards_and_stands_still_for_whoever_wants_no_motion(
    game: str, bundles: dict[str, bytes], opened: Callable[..., Page], tab: Page
) -> None:
    page = opened(replay(bundle.read(bundles[game])), fragment="#game-1-turn-0")
    until(page, "document.getElementById('turn').value === '0'")
    assert page.locator("svg.scene").count() == 0
    drawn = 0
    for _ in range(6):
        page.keyboard.press("ArrowRight")
        drawn += page.locator("svg.scene.moving g").count()
    assert drawn >= 5
    assert page.evaluate("document.getAnimations().length") > 0 or game == "dueling-masters"
    page.keyboard.press("ArrowLeft")  # what is gone back to has happened
    assert page.locator("svg.scene.moving").count() == 0
    tab.emulate_media(reduced_motion="reduce")
    page.keyboard.press("ArrowRight")
    assert page.locator("svg.scene g").count() > 0
    assert page.evaluate("document.getAnimations().length") == 0


def test_a_page_proves_itself_and_says_so_at_its_top(bundles: dict[str, bytes], opened: Callable[..., Page]) -> None:
    content = bundles["spaceships"]
    page = opened(replay(bundle.read(content)))
    until(page, "document.getElementById('badge').textContent.includes('it holds')")
    assert page.locator("#cut").is_hidden()
    record = "records/game-1.pbem.toml"
    other = tampered(content, record, lambda inside: inside.replace(b"winner = 1", b"winner = 2"))
    page = opened(carrying(content, other), "false.html")
    until(page, "document.getElementById('badge').textContent.includes('does not hold')")


def test_a_damaged_or_cut_page_says_so(
    bundles: dict[str, bytes], opened: Callable[..., Page], chromium: Browser, tmp_path: Path
) -> None:
    html = replay(bundle.read(bundles["spaceships"]))
    packed = pages.packed(bundle.write(pages.revealed(bundle.read(bundles["spaceships"]))))
    assert packed in html
    page = opened(html.replace(packed, packed[:900] + "AAAA" + packed[940:]))
    until(page, "document.getElementById('badge').textContent.includes('\u2717')")
    assert page.locator("#about").inner_text().startswith("This file is damaged")
    assert page.locator("#drawn").is_hidden()
    # Cut anywhere, or with another script: what runs nothing says so in plain words.
    for number, text in enumerate((html[: len(html) // 2], html.replace("PACE = 2200", "PACE = 2201"))):
        path = tmp_path / f"cut-{number}.html"
        path.write_text(text, encoding="utf-8")
        context = chromium.new_context(offline=True)
        cut = context.new_page()
        cut.goto(f"file://{path}")
        assert "cut off" in cut.locator("#cut").inner_text()
        context.close()


HOSTILE = b"<img src=x onerror=hit=1></script><script>hit=1</script>"


@pytest.mark.parametrize(
    ("path", "old", "new"),
    [
        ("records/", b'name = "ann"', b'name = "%b"' % HOSTILE),
        ("records/", b'name = "ann"', 'name = "\u202eevil\u2066"'.encode()),
        (
            "records/",
            b'[[seat]]\nname = "ann"',
            b'[__proto__]\nhit = 1\n[[seat]]\n__proto__ = {"hit": 1}\nname = "ann"',
        ),
        ("records/", b"winner = 1", b"winner = 1000000000"),
        ("reports/", b'"reports"', b'"%b":1,"reports"' % HOSTILE),
        ("letters/", b"Subject: ", b"Subject: " + HOSTILE),
    ],
)
def test_nothing_that_a_bundle_holds_is_obeyed(
    bundles: dict[str, bytes], opened: Callable[..., Page], path: str, old: bytes, new: bytes
) -> None:
    """Its words stay words, whatever they are, and the page says that it does not hold."""
    found = bundle.read(bundles["spaceships"])
    papers = {
        name: paper.replace(old, new) if name.startswith(path) else paper for name, paper in found.papers.items()
    }
    assert papers != found.papers
    page = opened(replay(replace(found, papers=papers)))
    page.wait_for_selector(".badge.bad")
    for _ in range(3):
        page.keyboard.press("ArrowRight")
    assert page.evaluate("[globalThis.hit, Object.prototype.hit, document.querySelectorAll('img').length]") == [
        None,
        None,
        0,
    ]


def carrying(content: bytes, other: bytes) -> str:
    """The page of a bundle, made by somebody who put another one into it."""
    html, packed = replay(bundle.read(content)), pages.packed(content)
    assert packed in html
    return html.replace(packed, pages.packed(other))


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The public pages of a server with a finished match, one that runs, and an invitation."""
    referee = Referee(tmp_path_factory.mktemp("site"))
    ann, bob = referee.begun("settle: 0\nkind: scored\ngames: 2")
    referee.send(bob, "press m1 public\nMay the better one win.\nend\n")
    for cells in ("Ry3 Ry4", "Rz3"):
        referee.turn((ann, cells), (bob, "Ov1"))
    referee.send(bob, "resign m1 game 1\n")
    for person, setup in ((ann, ANN), (bob, BOB)):
        referee.send(person, person.filled("setup", setup))
    referee.turn((ann, "Rv1 Yv1"), (bob, "Bx1"))
    referee.send(ann, "resign m1 match\n")
    referee.send(ann, "new shoot-em-up\nseats: 3\nend\n")
    public = Public("play.example", referee.database, referee.vault)
    home = {"server": "play.example", "address": "pbem@play.example", "delimiter": "+", "house": "house"}
    facts = {**home, "pages": "https://play.example/pbem/", **public.site()}
    made = {name: page for name, page in pages_of(facts, public.finished()) if isinstance(page, str)}
    referee.close()
    return made


def test_a_public_page_proves_what_it_holds(site: dict[str, str], opened: Callable[..., Page]) -> None:
    page = opened(site["m1.html"])
    assert page.locator("#games button").count() == 2
    said = verified(page)
    assert said[-1] == "Everything that can be checked here holds."
    assert "the players' letters are not among them" in said[0]
    assert "14 letters signed with these keys" in said[-2]
    page.locator("#games button").first.click()
    assert "May the better one win." not in page.locator("#press").inner_text()
    page.locator("#next").click()
    assert "May the better one win." in page.locator("#press").inner_text()
    assert "strike Ry3" in page.locator("#events").inner_text()
    assert page.locator("#chart .between").count() == 1
    forged = site["m1.html"].replace("Ry3 Ry4\\nend", "Ry3 Ry5\\nend")
    assert forged != site["m1.html"]
    said = verified(opened(forged))
    assert re.match(r"FAILED +players: forms/game-1-turn-1-seat-1.txt: the signature does not hold", said[-2])


def test_public_pages_are_linked_and_can_be_read_by_all(site: dict[str, str], tmp_path: Path, tab: Page) -> None:
    for name, text in site.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    tab.goto(f"file://{tmp_path}/index.html")
    for scheme in ("light", "dark"):
        tab.emulate_media(color_scheme=scheme)
        assert [one["id"] for one in Axe().run(tab).response["violations"]] == []
    tab.set_viewport_size({"width": 390, "height": 800})
    assert tab.evaluate("document.documentElement.scrollWidth") <= 390
    # Invitations are read without scrolling sideways: cards, whose cells say what they are.
    assert tab.locator('[aria-label="open invitations"]').evaluate("(one) => one.scrollWidth <= one.clientWidth")
    free = tab.locator(".cards td", has_text="2 of 3")
    assert free.evaluate("(cell) => getComputedStyle(cell, '::before').content") == '"free seats: "'
    tab.get_by_role("link", name="m1").click()
    assert "m1 at play.example" in tab.locator("h1").inner_text()
    tab.get_by_role("link", name="play.example").click()
    (register, *_) = tab.get_by_role("link", name="Register").all()
    assert (
        register.get_attribute("href")
        == "mailto:pbem@play.example?subject=register%20NAME&body=register%20NAME%0D%0A"
    )
    assert "body=join%20m2" in str(tab.get_by_role("link", name="Join m2").get_attribute("href"))
    assert tab.locator(".card .picture").count() == 3
    assert tab.locator(".watch a").get_attribute("href") == "m1.html"
    house = str(tab.locator(".card.spaceships").get_by_role("link", name="Play against house").get_attribute("href"))
    assert house.endswith("&body=new%20spaceships%20with%20house%0D%0Aend%0D%0A")
    tab.locator(".card", has_text="Dueling Masters").get_by_role("link", name="Try the board").click()
    assert "Dueling Masters" in tab.locator("h1").inner_text()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_an_invitation_is_opened_by_its_code_and_answered(
    scheme: str, width: int, site: dict[str, str], tmp_path: Path, tab: Page
) -> None:
    for name, text in site.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    tab.emulate_media(color_scheme=scheme)
    tab.set_viewport_size({"width": width, "height": 844})
    tab.goto(f"file://{tmp_path}/index.html")
    tab.get_by_role("link", name="m2", exact=True).click()
    assert tab.locator("h1").inner_text() == "ann invites you to play Shoot 'em up Spaceships"
    assert [one["id"] for one in Axe().run(tab).response["violations"]] == []
    assert tab.evaluate("document.documentElement.scrollWidth") <= width
    code = tab.get_by_role("img", name="QR code of the address of this page").locator("svg")
    box = code.bounding_box()
    assert box
    assert min(box["width"], box["height"]) >= 180
    assert code.evaluate("(one) => getComputedStyle(one).backgroundColor") == "rgb(255, 255, 255)", "in the dark, too"
    assert "body=join%20m2" in str(tab.get_by_role("link", name="Join m2").get_attribute("href"))
    # With a key: it is made where the link leads, and one letter registers and joins.
    tab.get_by_role("link", name="Make a passkey or a key").click()
    expect(tab.locator("#joining")).to_contain_text("the invitation to match m2")
    tab.locator("#make").click()
    expect(tab.locator("#public")).not_to_have_value("")
    tab.locator("#name").fill("dora")
    assert "body=register%20dora%20m2%0D%0Assh-ed25519%20" in str(tab.locator("#register").get_attribute("href"))
    tab.go_back()
    tab.get_by_role("link", name="Try the board").click()
    assert tab.locator("h1").inner_text() == "Shoot 'em up Spaceships"


@pytest.mark.parametrize("game", SETUPS)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_on_it(
    game: str, scheme: str, bundles: dict[str, bytes], tab: Page, opened: Callable[..., Page]
) -> None:
    tab.emulate_media(color_scheme=scheme)
    page = opened(replay(bundle.read(bundles[game])), fragment="#game-1-turn-0")
    for state in ("start", "turns", "all open"):
        if state == "turns":
            for _ in range(4):
                page.locator("#next").click()
        if state == "all open":
            page.locator("details").evaluate_all("(all) => all.forEach((one) => { one.open = true; })")
            verified(page)
        found = Axe().run(page).response["violations"]
        assert [(one["id"], one["nodes"][0]["html"]) for one in found] == [], state
    page.set_viewport_size({"width": 390, "height": 800})
    for language in LANGUAGES:
        page = opened(replay(bundle.read(bundles[game]), language=language), f"{language}.html", "#game-1-turn-6")
        page.wait_for_selector("#boards table")
        assert page.evaluate("document.documentElement.scrollWidth") <= 390, language
