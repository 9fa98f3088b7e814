"""`pbem play --browser`: from nothing to the first report by clicks, with a house on this machine, and live."""

from __future__ import annotations

import os
import re
import subprocess
import time
from contextlib import closing
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
import pytest
from axe_playwright_python.sync_playwright import Axe
from browser.test_passkey import AUTHENTICATOR, is_wrong
from browser.waiting import until
from cli.test_try import port_of, user
from desk.test_tournaments import SMALL, Club
from in_a_box.terminal import Terminal
from machines import waiting
from machines.post_office import PBEM
from PIL import Image
from playwright.sync_api import expect

from pbem.identity import parse_key
from pbem.player.account_file import places
from pbem.player.memory import Memory

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from in_a_box.referee import Referee
    from playwright.sync_api import Browser, BrowserContext, Locator, Page, Route

__all__ = ["user"]

_ADDRESS = re.compile(r"http://localhost:\d+/\S+")
_LONG = 30_000  # milliseconds: the first start of a server and its house


class HomePage(NamedTuple):
    """A page that is open, the process that serves it, and the address that opened it."""

    page: Page
    process: subprocess.Popen[str]
    address: str


def environment(user: Path) -> dict[str, str]:
    return {"PATH": os.environ["PATH"], "HOME": str(user), "LC_ALL": "C.UTF-8", "BROWSER": "true"}


@pytest.fixture
def start(user: Path, chromium: Browser) -> Iterator[Callable[..., HomePage]]:
    """Start the command with these words, and open its page; in the end nothing was wrong in any tab."""
    wrong: list[str] = []
    processes: list[subprocess.Popen[str]] = []
    contexts: list[BrowserContext] = []

    def start(*words: str, width: int = 1100, script: str = "") -> HomePage:
        process = subprocess.Popen(
            [PBEM, "play", *words],
            env=environment(user),
            cwd=user,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        processes.append(process)
        assert process.stdout is not None
        while not (found := _ADDRESS.search(line := process.stdout.readline())):
            assert line, "it ended without an address"
        contexts.append(chromium.new_context(viewport={"width": width, "height": 900}))
        contexts[-1].add_init_script(script)
        page = contexts[-1].new_page()
        watch(page, wrong)
        page.goto(found[0])
        page.wait_for_selector("#told", state="attached")
        return HomePage(page, process, found[0])

    yield start
    for context in contexts:
        context.close()
    for process in processes:
        process.terminate()
        said, _ = process.communicate(timeout=60)
        assert "Traceback" not in said
    assert wrong == []


def run(user: Path, *words: str) -> None:
    subprocess.run([PBEM, "play", *words], env=environment(user), cwd=user, timeout=60, check=True)


def watch(page: Page, wrong: list[str]) -> None:
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("console", lambda said: wrong.append(said.text) if is_wrong(said) else None)
    page.on("request", lambda asked: None if "//localhost:" in asked.url else wrong.append(asked.url))


def practise(page: Page, game: str = "spaceships") -> None:
    page.locator(f'#games [data-game="{game}"]').click()
    expect(page.locator("#whose-move")).to_have_text("turn 1: your move", timeout=_LONG)
    expect(page.frame_locator("#board").locator("#task")).to_be_visible()


def order(page: Page, text: str = "Gx3", legal: str = "legal orders") -> None:
    page.frame_locator("#board").locator("#notation").fill(text)
    expect(page.locator("#brief")).to_have_text(legal)
    page.locator("#hand-over").click()
    page.locator("#yes").click()


def begin(page: Page, options: str) -> None:
    """Another match, m2, with the house."""
    page.locator("header a").click()
    page.locator("#opponents").fill("house")
    page.locator("#options").fill(options)
    page.locator("#propose [type=submit]").click()
    page.locator("#yes").click()
    page.locator("#accounts a", has_text="m2").click(timeout=_LONG)
    until_then = re.compile(r"^setup of game 1: your move, until [A-Z]\w+day,? \d+ [A-Z]\w+ \d{4}, \d\d:\d\d$")
    expect(page.locator("#whose-move")).to_have_text(until_then, timeout=_LONG)  # as letters write it


def fill_in(page: Page, user: Path, **more: str) -> None:
    """The form by which Anna registers on the server at home."""
    given = {
        "account": "anna@pbem.localhost",
        "address": "anna@home.localhost",
        "mail_in": f"maildir:{user}/.local/share/pbem/mail/anna@home.localhost",
        "mail_out": f"smtp://127.0.0.1:{port_of(user)}",
        **more,
    }
    for name, value in given.items():
        page.locator(f'#register [name="{name}"]').fill(value)


def stop(page: Page) -> None:
    """It is asked once, and words are left."""
    page.locator("#stop").click()
    page.locator("#no").click()
    expect(page.locator("#accounts a")).to_be_visible()  # nothing has happened
    page.locator("#stop").click()
    expect(page.locator("#yes")).to_have_text("Stop")
    page.locator("#yes").click()
    expect(page.locator("#ended-title")).to_be_focused()
    expect(page.locator("#ended")).to_contain_text("pbem play --browser")
    demand_accessible(page)


def demand_accessible(page: Page) -> None:
    violations = Axe().run(page).response["violations"]
    assert [(one["id"], [node["html"][:200] for node in one["nodes"]]) for one in violations] == []


def test_from_nothing_to_the_first_report_by_clicks(
    start: Callable[..., HomePage], user: Path, chromium: Browser
) -> None:
    page, process, address = start("--browser")
    demand_accessible(page)
    practise(page)
    for name, title in (
        ("lesson", "Spaceships in five steps"),
        ("rules", "Spaceships: the rules"),
    ):  # beside the board
        with page.context.expect_page() as taught:
            page.locator(f"#{name}").click()
        expect(taught.value.locator("h1")).to_have_text(title)
        demand_accessible(taught.value)
        expect(page.locator(f'.card.spaceships a[href="{name}?game=spaceships"]')).to_have_count(1)
        taught.value.close()
    frame = page.frame_locator("#board")
    expect(page.locator("#hand-over")).to_be_enabled()
    expect(frame.locator("#mail")).to_be_hidden()  # what sends letters is the page's own
    expect(frame.locator("#signing")).to_be_hidden()
    frame.locator('table[aria-label^="The other space"] button[data-name="Gx3"]').click()
    expect(frame.locator("#notation")).to_have_value("Gx3")
    demand_accessible(page)
    page.locator("#hand-over").click()
    expect(page.locator("#read-back")).to_have_text("conventional strikes at Gx3")
    expect(page.locator("#careful")).to_contain_text(re.compile(r"Unused: \d conventional strikes"))
    page.locator("#no").click()
    assert "orders" not in str(page.locator("#told").text_content())
    page.locator("#hand-over").click()
    page.locator("#yes").click()
    expect(page.locator("#whose-move")).to_have_text("turn 2: your move", timeout=_LONG)
    expect(page.locator("#letters summary").filter(has_text=re.compile(", turn 1$"))).to_have_count(1)
    expect(frame.locator("#news")).to_contain_text("you lost")  # what came of it is the first thing there
    expect(frame.locator('[aria-label^="The other space"] [data-name="Gx3"]')).to_have_class(re.compile("fresh"))
    frame.locator("#last summary").click()
    expect(frame.locator("#last")).to_contain_text("Gx3")
    page.locator("header a").click()
    expect(page.locator("#accounts a")).to_have_text("m1 with house (a program): Spaceships")
    boards = page.locator("#accounts img")  # five planes of five squares, a gap between them; two spaces
    expect(boards).to_have_js_property("naturalWidth", 5 * 5 * 6 + 4 * 6)
    expect(boards).to_have_js_property("naturalHeight", 2 * 5 * 6 + 6)
    demand_accessible(page)
    # The address opened the page once, and that of its tab opens nothing in another browser.
    for used in (address, page.url):
        other = chromium.new_context()
        shut = other.new_page()
        answer = shut.goto(used)
        assert answer is not None
        assert answer.status == 403
        expect(shut.locator("h1")).to_have_text("This address was used up")
        other.close()
    stop(page)
    assert process.wait(30) == 0
    with closing(Memory(places(environment(user)).memory("guest@pbem.localhost"))) as memory:
        assert [sent.form.split("\n")[5] for sent in memory.prepared("orders", "m1")] == ["Gx3"]


def test_a_second_tab_shows_the_same_and_what_comes_appears_there(start: Callable[..., HomePage]) -> None:
    page, _, _ = start("--browser")
    practise(page)
    second = page.context.new_page()
    second.goto(page.url)
    expect(second.locator("#whose-move")).to_have_text("turn 1: your move")
    order(page)
    for one in (page, second):
        expect(one.locator("#whose-move")).to_have_text("turn 2: your move", timeout=_LONG)
        expect(one.frame_locator("#board").locator("#task")).to_have_text("Your orders for turn 2")


def test_a_question_takes_no_other_ones_place(start: Callable[..., HomePage], user: Path) -> None:
    page, _, _ = start("--browser")
    practise(page)

    def slowly(route: Route) -> None:
        page.locator("#talk").click()
        page.locator("#sentences button", has_text="Resign the match").click()
        route.continue_()

    page.route("**/judge", slowly)
    page.frame_locator("#board").locator("#notation").fill("Gx3")
    page.locator("#hand-over").click()
    expect(page.locator("#sure-title")).to_have_text("m1, turn 1: You order")
    page.locator("#yes").click()
    expect(page.locator("#whose-move")).to_have_text("turn 2: your move", timeout=_LONG)
    with closing(Memory(places(environment(user)).memory("guest@pbem.localhost"))) as memory:
        assert not memory.prepared("resign", "m1")


def test_what_was_confirmed_for_a_match_goes_to_no_other(start: Callable[..., HomePage]) -> None:
    page, _, _ = start("--browser")
    practise(page)
    page.locator("#talk").click()
    page.locator("#said").fill("I have no mines left")
    page.locator("#press button").click()
    expect(page.locator("#sure")).to_be_visible()
    page.evaluate("location.hash = 'guest@pbem.localhost/m999'")
    expect(page.locator("#sure")).to_be_hidden()
    expect(page.locator("#one")).to_be_hidden()  # until the other match is there
    page.route("**/match?*", lambda route: route.fulfill(json={"later": True}), times=1)  # it is asked for again
    page.go_back()
    expect(page.locator("#one")).to_be_visible(timeout=_LONG)


def test_a_draw_and_a_message_may_be_for_some_alone(start: Callable[..., HomePage]) -> None:
    """As where three and more play; what the server makes of it, other tests show."""
    page, _, _ = start("--browser")
    others, said = [{"name": name, "program": False} for name in ("bob", "carl", "dan")], list[Any]()
    page.route("**/match?*", lambda route: route.fulfill(json={**route.fetch().json(), "others": others}))

    def hear(route: Route) -> None:
        said.append(route.request.post_data_json)
        route.fulfill(json={"sent": True})

    page.route("**/say", hear)
    practise(page)
    page.locator("#talk").click()
    assert page.locator("#some").get_attribute("placeholder") == "bob carl dan"
    page.locator("#some").fill(" bob,carl ")
    page.locator("#sentences button", has_text="Offer a draw").click()
    expect(page.locator("#read-back")).to_have_text("draw m1 offer for bob carl")
    page.locator("#yes").click()
    page.locator("#talk").click()
    page.locator("#said").fill("Shall we share it?")
    page.locator("#press button").click()
    expect(page.locator("#sure-title")).to_have_text("m1: bob carl")
    page.locator("#yes").click()
    expect(page.locator("#said")).to_have_value("")
    page.locator("#talk").click()
    page.locator("#some").fill("")
    page.locator("#sentences button", has_text="Offer a draw").click()
    expect(page.locator("#read-back")).to_have_text("draw m1 offer")
    page.locator("#no").click()
    assert [(one["what"], one["word"], one.get("to", "")) for one in said] == [
        ("draw", "offer for bob carl", ""),
        ("press", "Shall we share it?", "bob carl"),
    ]


def test_orders_are_not_written_into_the_composer_of_the_match_before(start: Callable[..., HomePage]) -> None:
    page, _, _ = start("--browser")
    practise(page)
    page.route("**/composer?*match=m2*", lambda _: None)  # on its way for ever
    page.locator("header a").click()
    page.locator('#games [data-game="shoot-em-up"]').click()
    expect(page.locator("#title")).to_contain_text("m2", timeout=_LONG)
    expect(page.locator("#hand-over")).to_be_disabled()
    expect(page.frame_locator("#board").locator("#notation")).to_have_count(0)


@pytest.mark.parametrize("by_signal", [False, True])
def test_when_it_ends_no_tab_asks_the_port_any_more(start: Callable[..., HomePage], by_signal: bool) -> None:
    page, process, _ = start("--browser")
    practise(page)
    second = page.context.new_page()
    second.goto(page.url)
    expect(second.locator("#whose-move")).to_have_text("turn 1: your move")
    until(second, "sessionStorage.length === 1")  # the draft of the composer
    if by_signal:
        process.terminate()
    else:
        page.locator("#stop").click()
        page.locator("#yes").click()
    expect(second.locator("#ended")).to_be_visible(timeout=_LONG)
    assert second.evaluate("sessionStorage.length") == 0


def test_nothing_secret_is_left_in_the_browser_whose_tab_was_closed_or_whose_program_was_killed(
    start: Callable[..., HomePage],
) -> None:
    page, process, _ = start("--browser")
    practise(page)
    second = page.context.new_page()
    second.goto(page.url)
    until(second, "sessionStorage.length === 1")
    page.close()
    assert second.evaluate("localStorage.length") == 0
    process.kill()
    until(second, "sessionStorage.length === 0")


def test_the_keyboard_alone_is_enough_on_a_telephone(start: Callable[..., HomePage]) -> None:
    page, _, _ = start("--browser", width=390)

    def tab_to(selector: str) -> None:
        for _ in range(60):
            page.keyboard.press("Tab")
            if page.locator(selector).evaluate("(element) => element === document.activeElement"):
                return
        raise AssertionError(selector)

    assert page.locator("#all-title").evaluate("(element) => element === document.activeElement")
    tab_to('#games [data-game="spaceships"]')
    page.keyboard.press("Enter")
    expect(page.locator("#whose-move")).to_have_text("turn 1: your move", timeout=_LONG)
    page.frame_locator("#board").locator("#notation").focus()
    page.keyboard.type("Gx3")
    tab_to("#hand-over")
    page.keyboard.press("Enter")
    expect(page.locator("#yes")).to_be_focused()
    page.keyboard.press("Escape")
    expect(page.locator("#sure")).to_be_hidden()
    page.locator("#hand-over").focus()
    page.keyboard.press("Enter")
    expect(page.locator("#yes")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("#whose-move")).to_have_text("turn 2: your move", timeout=_LONG)
    for width in (390, 320):
        page.set_viewport_size({"width": width, "height": 800})
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    demand_accessible(page)


def test_another_turn_is_ordered_in_advance(start: Callable[..., HomePage]) -> None:
    page, _, _ = start("--browser")
    practise(page)
    expect(page.locator("#when option")).to_have_text(["for turn 1, which is due", "for a later turn"])
    page.frame_locator("#board").locator("#notation").fill("Gx3")
    expect(page.locator("#brief")).to_have_text("legal orders")
    page.locator("#when").select_option("later")
    expect(page.locator("#brief")).to_be_empty()
    expect(page.locator("#early-orders")).to_have_value("Gx3")
    expect(page.locator("#later")).to_have_value("2")
    demand_accessible(page)
    page.locator("#later").fill("1")
    page.locator("#hand-over").click()
    expect(page.locator("#sure")).to_be_hidden()  # the browser says what is wrong
    page.locator("#later").fill("3")
    page.locator("#early-orders").fill("Gx3 " * 30)
    page.locator("#hand-over").click()
    expect(page.locator("#sure-title")).to_have_text("m1, turn 3: You order")
    expect(page.locator("#careful")).to_have_text(
        re.compile("In turn 1, which is being played, they would not be legal: that is .* too many")
    )
    page.locator("#yes").click()
    expect(page.locator("#whose-move")).to_have_text("turn 1: your move; stored: turn 3", timeout=_LONG)
    expect(page.locator("#when")).to_have_value("")
    page.locator("#when").select_option("later")
    page.locator("#early-orders").fill("Gx4")
    page.locator("#hand-over").click()
    expect(page.locator("#read-back")).to_have_text("conventional strikes at Gx4")
    page.locator("#yes").click()
    expect(page.locator("#whose-move")).to_have_text("turn 1: your move; stored: turn 2, turn 3", timeout=_LONG)
    expect(page.locator("#stored p")).to_have_text(["turn 2: storedTake it back", "turn 3: storedTake it back"])
    demand_accessible(page)
    order(page)
    expect(page.locator("#whose-move")).to_have_text(
        "turn 3: your move; what you had sent does not count", timeout=_LONG
    )
    expect(page.locator("#letters summary").filter(has_text=re.compile(", turn 2$"))).to_have_count(1)
    expect(page.frame_locator("#board").locator('[data-name="Gx4"].fresh').first).to_be_attached()


def test_conditions_are_put_together_on_a_telephone(start: Callable[..., HomePage]) -> None:
    page, _, _ = start("--browser", width=390)
    practise(page)
    page.frame_locator("#board").locator("#notation").fill("Gx4")
    expect(page.locator("#brief")).to_have_text("legal orders")
    expect(page.locator("#conditional")).to_be_hidden()
    page.locator("#when").select_option("later")
    page.locator("#add-branch").click()
    rows = page.locator("#branches li")
    rows.nth(0).locator("input").nth(0).fill("Gx3")
    expect(page.locator("#early-orders")).to_have_value("if Gx3 hit then Gx4")
    page.locator("#add-branch").click()
    rows.nth(1).locator("select").select_option(label="if you lost …")
    rows.nth(1).locator("input").nth(0).fill("any")
    rows.nth(1).locator("input").nth(1).fill("Gx5 " * 30)
    page.locator("#add-branch").click()
    rows.nth(2).locator("button").click()
    page.locator("#else-orders").fill("next Ow1")
    wanted = f"if Gx3 hit then Gx4\nelse if lost any then {('Gx5 ' * 30).strip()}\nelse next Ow1"
    expect(page.locator("#early-orders")).to_have_value(wanted)
    demand_accessible(page)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.locator("#hand-over").click()
    said = page.locator("#read-back li")
    expect(said).to_have_count(4)
    expect(said.nth(0)).to_have_text("branch 1, if you hit Gx3: conventional strikes at Gx4")
    expect(said.nth(2)).to_have_text(re.compile("branch 2 would not be legal now: that is .* too many"))
    expect(said.nth(3)).to_have_text("branch 3, otherwise: next Ow1")
    demand_accessible(page)
    page.locator("#yes").click()
    expect(page.locator("#whose-move")).to_have_text("turn 1: your move; stored: turn 2", timeout=_LONG)
    expect(page.locator("#early-orders")).to_have_value("")
    expect(rows).to_have_count(0)


def test_orders_in_advance_of_a_sealed_match_wait_here(start: Callable[..., HomePage]) -> None:
    page, _, _ = start("--browser")
    practise(page)
    begin(page, "sealed: yes\nfleet: cost:6")
    order(page, "MD1 Rv1 Rv2 Rv3\nMD2 Bx1 Bx2 Bx3", "a legal setup")
    expect(page.locator("#sure-title")).to_have_text("Keep these words", timeout=_LONG)
    page.locator("#yes").click()
    expect(page.locator("#whose-move")).to_contain_text("turn 1: your move", timeout=_LONG)
    page.locator("#when").select_option("later")
    page.locator("#early-orders").fill("if Gx3 hit then Gx4 else next Gx3 Gx5")
    page.locator("#hand-over").click()
    expect(page.locator("#read-back li").nth(1)).to_have_text("branch 2, otherwise: next Gx3 Gx5")
    expect(page.locator("#careful")).to_contain_text("It waits on this machine alone; when it is due")
    page.locator("#yes").click()
    expect(page.locator("#whose-move")).to_contain_text("; stored: turn 2", timeout=_LONG)
    expect(page.locator("#stored p")).to_have_text("turn 2: it waits on this machine aloneTake it back")
    page.locator("#when").select_option("default")
    page.locator("#early-orders").fill("next Gx3")
    page.locator("#hand-over").click()
    page.locator("#yes").click()
    expect(page.locator("#whose-move")).to_contain_text("; stored: default orders, turn 2", timeout=_LONG)
    page.locator("#stored button").first.click()
    page.locator("#yes").click()
    expect(page.locator("#stored p")).to_have_count(1, timeout=_LONG)
    order(page, "", "no orders: you would do nothing")  # so that Gx3 is surely not hit, and the house not beaten
    expect(page.locator("#told")).to_contain_text(
        "m2, turn 2: of the orders that waited here, branch 2 counts:", timeout=2 * _LONG
    )
    expect(page.locator("#stored")).to_be_empty()


AWAY = """
globalThis.rung = [];
Object.defineProperty(document, "hidden", { get: () => Boolean(globalThis.away) });
globalThis.Notification = class extends EventTarget {
  static requestPermission() {}
  constructor(title, { body }) { super(); rung.push([title, body]); }
};
"""
"""A browser whose tab counts as hidden on demand, and which notes its notices."""


def test_who_asked_for_a_notice_gets_one_while_the_tab_is_hidden(start: Callable[..., HomePage]) -> None:
    page, _, _ = start("--browser", script=AWAY)
    practise(page)
    page.locator("header a").click()
    page.locator("#bell").check()
    page.locator("#accounts a").click()
    expect(page.frame_locator("#board").locator("#task")).to_be_visible()
    page.evaluate("away = true")
    order(page)
    until(page, "rung.length === 1")
    assert page.evaluate("rung") == [["Your move - m1", "m1 with house (a program): Spaceships"]]


def test_play_now_takes_as_long_as_the_server_needs(start: Callable[..., HomePage]) -> None:
    page, _, _ = start("--browser", width=390)
    asked: list[str] = []

    def late(route: Route) -> None:
        asked.append(route.request.post_data or "")
        expect(page.locator("#games [data-game]:enabled")).to_have_count(0)
        if len(asked) < 3:
            route.fulfill(json={"later": True})
        else:
            route.continue_()

    page.route("**/practise", late)
    page.locator('#games [data-game="dueling-masters"]').click()
    expect(page.locator("#state")).to_have_text(
        "A server of your own begins: this may take a few seconds.", timeout=_LONG
    )
    expect(page.locator("#whose-move")).to_have_text("turn 1: your move", timeout=_LONG)
    assert len(asked) == 3
    assert page.locator("#title").evaluate(
        """(title) => {
            const name = document.createRange(), text = title.firstChild;
            name.setStart(text, text.data.indexOf("house"));
            name.setEnd(text, text.data.indexOf("house") + "house".length);
            return name.getBoundingClientRect().right <= title.getBoundingClientRect().right;
        }"""
    )
    page.locator("header a").click()
    expect(page.locator("#games [data-game]:enabled")).to_have_count(3)
    expect(page.locator("#state")).to_have_text("")


def test_a_match_to_its_end_and_the_proof(start: Callable[..., HomePage]) -> None:
    page, _, _ = start("--browser")
    practise(page)
    page.locator("#talk").click()
    expect(page.locator("#talked p").first).to_have_text(re.compile("^house"))
    demand_accessible(page)
    page.locator("#sentences button", has_text="Resign the match").click()
    expect(page.locator("#read-back")).to_have_text("resign m1 match")
    page.locator("#yes").click()
    over = re.compile(r"^over: you lost to house, (\d+) : (\d+) \(you resigned\)$")
    expect(page.locator("#whose-move")).to_have_text(over, timeout=_LONG)
    found = over.match(str(page.locator("#whose-move").text_content()))
    assert found is not None
    page.locator("#verify").click()
    expect(page.locator("#proved")).to_contain_text("m1: verified: ")
    demand_accessible(page)
    board = page.frame_locator("#board")  # both fleets, the proof and a way to step through, in place
    expect(board.locator("#badge")).to_have_class(re.compile("good"), timeout=_LONG)
    expect(board.locator("#end")).to_have_text(f"You lost, {found[1]} to {found[2]}")  # one's own first, in both
    with page.expect_download() as picture:
        page.locator("#picture").click()
    with Image.open(picture.value.path()) as saved:
        assert saved.format == "PNG"
        assert min(saved.size) > 600, "both fleets can be read"
    expect(board.locator("#boards h3")).to_have_text(["house", "guest"])
    expect(board.locator('#boards section:has(h3:text-is("house")) [data-ship="DS"]')).to_have_count(8)
    with page.context.expect_page() as opened:
        page.locator("#replay").click()
    expect(opened.value.locator("#badge")).to_have_class(re.compile("good"), timeout=_LONG)
    page.locator("#anew").click()
    expect(page.locator("#title")).to_contain_text("m2 with house (a program): Spaceships", timeout=_LONG)
    expect(page).to_have_title("Your move - m2", timeout=_LONG)


def test_an_account_with_a_mailbox_is_registered_by_a_form(start: Callable[..., HomePage], user: Path) -> None:
    page, _, _ = start("--browser")
    practise(page)  # so that there is a server to register on
    page.locator("header a").click()
    page.locator("#joining > summary").click()
    demand_accessible(page)
    fill_in(page, user, key="~/anna_ed25519", password_file="~/secret/password", password="xyzzy")
    page.locator("#register button").click()
    expect(page.locator("#accounts h2").filter(has_text="anna@pbem.localhost")).to_have_text(
        "anna@pbem.localhost", timeout=_LONG
    )
    kept = user / "secret/password"
    assert kept.read_text() == "xyzzy\n"
    assert kept.stat().st_mode & 0o777 == 0o600
    assert (user / "anna_ed25519").stat().st_mode & 0o777 == 0o600
    assert page.locator("#password").input_value() == ""
    # A file that is there is not overwritten, and the key is not made again.
    page.locator("#password").fill("other")
    page.locator("#register button").click()
    expect(page.locator("#state")).to_contain_text("The password was not kept")
    assert kept.read_text() == "xyzzy\n"
    # Its owner proposes a sealed match to the guest, who agrees.
    page.locator("#whose").select_option("anna@pbem.localhost")
    page.locator("#opponents").fill("guest")
    page.locator("#options").fill("sealed: yes\npace: none")
    page.locator("#propose [type=submit]").click()
    page.locator("#yes").click()
    expect(page.locator("#accounts tr").filter(has_text="proposed: do you agree?")).to_have_count(1, timeout=_LONG)
    page.locator("#accounts tr").filter(has_text="proposed: do you agree?").locator("a").click()
    page.locator("#decide button", has_text="Accept").click()
    page.locator("#yes").click()
    expect(page.locator("#whose-move")).to_have_text("setup of game 1: your move", timeout=_LONG)
    page.frame_locator("#board").locator("#notation").fill(
        "DS Ov1-Yw2\nKC Gv4-Gx5\nPC Rz1-Rz4\nMD Bx1 By1 Bz1\nHS Bv5 Bw5"
    )
    page.locator("#hand-over").click()
    page.locator("#yes").click()
    expect(page.locator("#sure-title")).to_have_text("Keep these words")
    page.locator("#yes").click()
    with closing(Memory(places(environment(user)).memory("guest@pbem.localhost"))) as memory:
        waiting.until(
            lambda: [sent.command for sent in memory.in_state("done") if sent.match == "m2"] == ["accept", "seal"]
        )


def slow(route: Route) -> None:
    answer = route.fetch()
    time.sleep(0.5)
    route.fulfill(response=answer)


def signed(page: Page, wanted: Locator) -> int:
    """Agree to all that is to be signed, until something is there; how often that was asked."""
    signs, agreed = page.get_by_role("heading", name="Sign this with your passkey"), 0
    while True:
        expect(wanted.or_(signs).first).to_be_visible(timeout=_LONG)
        if not signs.is_visible():
            return agreed
        if not agreed:
            demand_accessible(page)
        page.locator("#yes").click()
        expect(signs).to_be_hidden()
        agreed += 1


ALONE = "Object.defineProperty(navigator, 'userActivation', { value: { isActive: false } })"
"""A page on which nobody has pressed anything for some time."""


@pytest.mark.parametrize("script", ["", ALONE])
def test_a_passkey_signs_for_an_account_at_home(start: Callable[..., HomePage], user: Path, script: str) -> None:
    """It is asked for a touch at once after a press, or when its owner agreed; who cancels has sent nothing."""
    page, _, _ = start("--browser", script=script)
    device = page.context.new_cdp_session(page)
    device.send("WebAuthn.enable")
    found = device.send("WebAuthn.addVirtualAuthenticator", {"options": AUTHENTICATOR})
    practise(page)  # so that there is a server to register on
    page.locator("header a").click()
    page.locator("#joining > summary").click()
    fill_in(page, user)
    page.locator("#holder").select_option("passkey")
    page.locator("#register button").click()
    heading = page.locator("#accounts h2").filter(has_text=re.compile("^anna@pbem.localhost$"))
    agreed = signed(page, heading)
    line = next((user / ".config/pbem").glob("anna@pbem.localhost.*.pub")).read_text()
    assert parse_key(line).public.startswith("sk-ecdsa-sha2-nistp256@openssh.com ")
    page.locator("#whose").select_option("anna@pbem.localhost")
    page.locator("#opponents").fill("house")
    page.locator("#options").fill("pace: none")
    page.locator("#propose [type=submit]").click()
    page.locator("#yes").click()
    match = page.locator("#accounts tr").filter(has_text="setup of game 1: your move")
    agreed += signed(page, match)
    match.locator("a").click()
    page.frame_locator("#board").locator("#notation").fill(
        "DS Ov1-Yw2\nKC Gv4-Gx5\nPC Rz1-Rz4\nMD Bx1 By1 Bz1\nHS Bv5 Bw5"
    )
    ours = {"authenticatorId": found["authenticatorId"]}
    device.send("WebAuthn.setUserVerified", {**ours, "isUserVerified": False})
    page.locator("#hand-over").click()
    page.locator("#yes").click()
    agreed += signed(page, page.get_by_text("Nothing was signed: nobody touched it in time, it was cancelled").first)
    device.send("WebAuthn.setUserVerified", {**ours, "isUserVerified": True})
    page.locator("#hand-over").click()
    page.locator("#yes").click()
    if script:
        page.get_by_role("heading", name="Sign this with your passkey").wait_for()
        page.route("**/touched", slow)  # its answer hides nothing of what is said meanwhile
        with page.expect_response("**/touched"):
            page.locator("#no").click()
        expect(page.locator("#state")).to_contain_text("Nothing was signed: you did not want to.")
        page.locator("#hand-over").click()
        page.locator("#yes").click()
    agreed += signed(page, page.locator("#whose-move").filter(has_text="turn 1: your move"))
    assert agreed >= (3 if script else 0)
    with closing(Memory(places(environment(user)).memory("anna@pbem.localhost"))) as memory:
        assert [sent.command for sent in memory.in_state("done") if sent.match] == ["setup"]
    # Where no browser is, nothing is signed.
    done = subprocess.run(
        [PBEM, "play", "--account", "anna@pbem.localhost", "m2", "Gx3", "--yes"],
        env=environment(user), cwd=user, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == 4
    assert "pbem play --browser signs with it" in done.stderr


class Entrant:
    """Ann with her page, at a referee in a box whose tournament of three Bob has announced and entered."""

    def __init__(self, user: Path, referee: Referee) -> None:
        referee.now = datetime.now(UTC)  # by which `pbem play` dates its letters
        self.terminal = Terminal(user, referee)
        self.terminal.home = user
        self.terminal.register()
        self.club = Club(referee, "bob", "carl")
        closes = f"closes: {(referee.now + timedelta(days=4)).date()}"
        self.club.say("bob", f"tournament new spaceships\n{closes}\nentrants: 3\n{SMALL}\nend")
        self.club.enter("bob")

    def carry(self, page: Page) -> None:
        """What Ann has signed goes to the referee, and its answers come."""
        for _ in range(500):
            if list(self.terminal.drafts.glob("*.eml")):
                break
            page.wait_for_timeout(20)
        expect(page.locator("#state")).to_contain_text("Sent.")  # it may say so of the letter before
        self.terminal.post()
        self.terminal.bring()

    def signs(self, page: Page, what: str) -> None:
        page.locator(what).click()
        page.locator("#yes").click()
        self.carry(page)


def test_a_tournament_is_entered_and_left(start: Callable[..., HomePage], user: Path, referee: Referee) -> None:
    ann = Entrant(user, referee)
    page, _, _ = start("--account", "ann@play.example", "--browser")
    page.locator("#looked").fill("t1")
    page.locator("#look button").click()
    ann.carry(page)
    expect(page.locator("#accounts")).to_contain_text("players so far: 1")
    page.locator("#accounts a", has_text="t1: Spaceships, round robin").click()
    expect(page.locator("#tournament-terms")).to_contain_text("tournament t1, by bob")
    demand_accessible(page)
    page.locator("#team").fill("reds")
    page.locator("#enter").click()
    expect(page.locator("#read-back")).to_have_text(f"enter t1 {ann.club.t.rules_hash} team reds")
    expect(page.locator("#careful")).to_contain_text("accepts all your matches")
    page.locator("#no").click()
    assert not list(ann.terminal.drafts.glob("*.eml"))
    ann.signs(page, "#enter")
    expect(page.locator("#tournament-standing")).to_contain_text("players so far: 2, until ")
    expect(page.locator("#tournament-standing")).to_contain_text("; you are in")
    expect(page.locator("#enter")).to_be_hidden()
    assert ann.club.t.entrants["ann"].team == "reds"
    ann.signs(page, "#leave")
    expect(page.locator("#tournament-standing")).to_contain_text("players so far: 1")
    expect(page.locator("#leave")).to_be_hidden()
    assert "ann" not in ann.club.t.entrants


def test_a_tournament_is_announced_read_back_and_shown_with_its_number(
    start: Callable[..., HomePage], user: Path, referee: Referee
) -> None:
    ann = Entrant(user, referee)
    page, _, _ = start("--account", "ann@play.example", "--browser")
    page.locator("summary", has_text="Announce a tournament").click()
    demand_accessible(page)
    page.locator("#announce button").click()
    expect(page.locator("#closes")).to_be_focused()  # the day is missing
    closes = (referee.now + timedelta(days=9)).date()
    page.locator("#closes").fill(f"{closes}")
    page.locator("#most").fill("6")
    page.locator("#announce button").click()
    expect(page.locator("#read-back")).to_contain_text(f"closes: {closes}")
    expect(page.locator("#read-back")).to_contain_text("keys: optional")
    page.locator("#yes").click()
    ann.carry(page)
    expect(page.locator("#tournament-title")).to_have_text("t2: Spaceships, round robin")
    expect(page.locator("#tournament-terms")).to_contain_text("6 at most")
    expect(page.locator("#tournament-invites")).to_contain_text("enter t2")
    demand_accessible(page)


def test_terms_that_are_not_those_of_the_hash_are_not_entered(
    start: Callable[..., HomePage], user: Path, referee: Referee
) -> None:
    ann = Entrant(user, referee)
    ann.terminal("ask", "tournament", "t1")
    ann.terminal()
    with closing(Memory(places(environment(user)).memory("ann@play.example"))) as memory:
        told = memory.tournament("t1")
        assert told is not None
        memory.stand_in(msgspec.structs.replace(told, hash="0" * 64))
    page, _, _ = start("--account", "ann@play.example", "--browser")
    page.locator("#accounts a", has_text="t1: Spaceships").click()
    expect(page.locator("#state")).to_contain_text("is not that of its terms: do not enter it")
    expect(page.locator("#tournament")).to_be_hidden()
