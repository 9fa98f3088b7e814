"""Accounts and tournaments on the page at home: registered by a form, signed for by a passkey, entered, announced."""

from __future__ import annotations

import re
import subprocess
import time
from contextlib import closing
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest
from browser.home_page import LONG, HomePage, demand_accessible, environment, fill_in, practise, start
from browser.test_passkey import AUTHENTICATOR
from cli.test_try import user
from in_a_box.mailing_club import SMALL, Club
from in_a_box.terminal import Terminal
from machines import waiting
from machines.post_office import PBEM
from playwright.sync_api import expect

from pbem.identity import parse_key
from pbem.player.account_file import places
from pbem.player.memory import Memory

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from in_a_box.referee import Referee
    from playwright.sync_api import Locator, Page, Route

__all__ = ["start", "user"]


def test_an_account_with_a_mailbox_is_registered_by_a_form(start: Callable[..., HomePage], user: Path) -> None:
    page, _, _ = start("--browser")
    practise(page)  # so that there is a server to register on
    page.locator("header a").click()
    page.locator("#joining > summary").click()
    demand_accessible(page)
    fill_in(page, user, key="~/anna_ed25519", password_file="~/secret/password", password="xyzzy")
    page.locator("#register button").click()
    expect(page.locator("#accounts h2").filter(has_text="anna@pbem.localhost")).to_have_text(
        "anna@pbem.localhost", timeout=LONG
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
    expect(page.locator("#accounts tr").filter(has_text="proposed: do you agree?")).to_have_count(1, timeout=LONG)
    page.locator("#accounts tr").filter(has_text="proposed: do you agree?").locator("a").click()
    page.locator("#decide button", has_text="Accept").click()
    page.locator("#yes").click()
    expect(page.locator("#whose-move")).to_have_text("setup of game 1: your move", timeout=LONG)
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
        expect(wanted.or_(signs).first).to_be_visible(timeout=LONG)
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
        """Carry Ann's signed letters to the referee, and its answers back."""
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
