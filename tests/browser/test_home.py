"""`pbem play --browser`: from nothing to the first report by clicks, with a house on this machine, and live."""

from __future__ import annotations

import re
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest
from browser.home_page import (
    LONG,
    HomePage,
    begin,
    demand_accessible,
    environment,
    order,
    practise,
    start,
    stop,
)
from browser.waiting import until
from cli.test_try import user
from PIL import Image
from playwright.sync_api import expect

from pbem.player.account_file import places
from pbem.player.memory import Memory

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from playwright.sync_api import Browser, Route

__all__ = ["start", "user"]


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
    expect(page.locator("#whose-move")).to_have_text("turn 2: your move", timeout=LONG)
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
        expect(one.locator("#whose-move")).to_have_text("turn 2: your move", timeout=LONG)
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
    expect(page.locator("#whose-move")).to_have_text("turn 2: your move", timeout=LONG)
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
    expect(page.locator("#one")).to_be_visible(timeout=LONG)


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
    expect(page.locator("#title")).to_contain_text("m2", timeout=LONG)
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
    expect(second.locator("#ended")).to_be_visible(timeout=LONG)
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
    expect(page.locator("#whose-move")).to_have_text("turn 1: your move", timeout=LONG)
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
    expect(page.locator("#whose-move")).to_have_text("turn 2: your move", timeout=LONG)
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
    expect(page.locator("#whose-move")).to_have_text("turn 1: your move; stored: turn 3", timeout=LONG)
    expect(page.locator("#when")).to_have_value("")
    page.locator("#when").select_option("later")
    page.locator("#early-orders").fill("Gx4")
    page.locator("#hand-over").click()
    expect(page.locator("#read-back")).to_have_text("conventional strikes at Gx4")
    page.locator("#yes").click()
    expect(page.locator("#whose-move")).to_have_text("turn 1: your move; stored: turn 2, turn 3", timeout=LONG)
    expect(page.locator("#stored p")).to_have_text(["turn 2: storedTake it back", "turn 3: storedTake it back"])
    demand_accessible(page)
    order(page)
    expect(page.locator("#whose-move")).to_have_text(
        "turn 3: your move; what you had sent does not count", timeout=LONG
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
    expect(page.locator("#whose-move")).to_have_text("turn 1: your move; stored: turn 2", timeout=LONG)
    expect(page.locator("#early-orders")).to_have_value("")
    expect(rows).to_have_count(0)


def test_orders_in_advance_of_a_sealed_match_wait_here(start: Callable[..., HomePage]) -> None:
    page, _, _ = start("--browser")
    practise(page)
    begin(page, "sealed: yes\nfleet: cost:6")
    order(page, "MD1 Rv1 Rv2 Rv3\nMD2 Bx1 Bx2 Bx3", "a legal setup")
    expect(page.locator("#sure-title")).to_have_text("Keep these words", timeout=LONG)
    page.locator("#yes").click()
    expect(page.locator("#whose-move")).to_contain_text("turn 1: your move", timeout=LONG)
    page.locator("#when").select_option("later")
    page.locator("#early-orders").fill("if Gx3 hit then Gx4 else next Gx3 Gx5")
    page.locator("#hand-over").click()
    expect(page.locator("#read-back li").nth(1)).to_have_text("branch 2, otherwise: next Gx3 Gx5")
    expect(page.locator("#careful")).to_contain_text("It waits on this machine alone; when it is due")
    page.locator("#yes").click()
    expect(page.locator("#whose-move")).to_contain_text("; stored: turn 2", timeout=LONG)
    expect(page.locator("#stored p")).to_have_text("turn 2: it waits on this machine aloneTake it back")
    page.locator("#when").select_option("default")
    page.locator("#early-orders").fill("next Gx3")
    page.locator("#hand-over").click()
    page.locator("#yes").click()
    expect(page.locator("#whose-move")).to_contain_text("; stored: default orders, turn 2", timeout=LONG)
    page.locator("#stored button").first.click()
    page.locator("#yes").click()
    expect(page.locator("#stored p")).to_have_count(1, timeout=LONG)
    order(page, "", "no orders: you would do nothing")  # so that Gx3 is surely not hit, and the house not beaten
    expect(page.locator("#told")).to_contain_text(
        "m2, turn 2: of the orders that waited here, branch 2 counts:", timeout=2 * LONG
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
        "A server of your own begins: this may take a few seconds.", timeout=LONG
    )
    expect(page.locator("#whose-move")).to_have_text("turn 1: your move", timeout=LONG)
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
    expect(page.locator("#whose-move")).to_have_text(over, timeout=LONG)
    found = over.match(str(page.locator("#whose-move").text_content()))
    assert found is not None
    page.locator("#verify").click()
    expect(page.locator("#proved")).to_contain_text("m1: verified: ")
    demand_accessible(page)
    board = page.frame_locator("#board")  # both fleets, the proof and a way to step through, in place
    expect(board.locator("#badge")).to_have_class(re.compile("good"), timeout=LONG)
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
    expect(opened.value.locator("#badge")).to_have_class(re.compile("good"), timeout=LONG)
    page.locator("#anew").click()
    expect(page.locator("#title")).to_contain_text("m2 with house (a program): Spaceships", timeout=LONG)
    expect(page).to_have_title("Your move - m2", timeout=LONG)
