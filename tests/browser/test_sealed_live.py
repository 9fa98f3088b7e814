"""A sealed match by a running server: `pbem agent` with a Maildir against a browser with a mailbox."""

from __future__ import annotations

import subprocess
import threading
from contextlib import contextmanager
from random import Random
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlsplit

from browser.test_sealed import DECIDE, HOME
from browser.waiting import until
from demo.whole_match import Terminal
from in_a_box.bulletins import bulletin
from in_a_box.sealed_seats import document
from machines.by_hand import Letter, Player, new_player
from machines.post_office import PATIENCE, PBEM, SERVER, PostOffice, Servers
from playing.random_players import random_setup, sensible_orders

from pbem.games import rules
from pbem.pages import composer, fragment

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from playwright.sync_api import Page

MATCH = "m1"


def setup(random: Random, seat: int) -> list[str]:
    judge = rules("spaceships")
    options = judge.options({}, 2)
    return judge.setup(options, seat, random_setup(random, options, seat)).text.split("\n")


@contextmanager
def agent(terminal: Terminal) -> Iterator[list[str]]:
    """`pbem agent`, and somebody who answers with its own example whenever it asks for orders; what it says."""
    process = subprocess.Popen(
        [PBEM, "agent"],
        env=terminal.environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        bufsize=1,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    typed, said, told = process.stdin, process.stdout, list[str]()

    def sit() -> None:
        example = ""
        for line in said:
            told.append(line)
            if line.startswith("Example:"):
                example = line.removeprefix("Example:").strip().split("   ")[0]
            if "your orders?" in line:
                typed.write(f"{MATCH} {example}\n")
                typed.flush()

    person = threading.Thread(target=sit)
    person.start()
    try:
        yield told
    finally:
        process.terminate()
        process.wait(PATIENCE)
        person.join(PATIENCE)
        typed.close()
        said.close()


class Reader:
    """Somebody who opens the page by the link in each letter that asks for something, and mails what it signs."""

    def __init__(self, player: Player, page: Page) -> None:
        self.player, self.page, self.random = player, page, Random(player.name)
        self.last: dict[str, Any] = {}
        page.locator("#signing > summary").click()
        page.locator("#make").click()
        until(page, "document.getElementById('public').value")
        page.locator("#server").fill(SERVER)
        player.send(f"register {player.name}\n{page.locator('#public').input_value()}\n", sign=False)
        challenge = player.wait("To prove that the key")
        self.sign(challenge.form("confirm").replace("NAME", player.name), challenge)
        player.wait(f"You are registered as {player.name}.")

    def sign(self, text: str, answering: Letter) -> None:
        self.page.locator("#other").fill(text)
        self.page.locator("#sign-other").click()
        until(self.page, "document.getElementById('other').value.includes('END SSH SIGNATURE')")
        self.player.send(self.page.locator("#other").input_value(), answering=answering, sign=False)

    def compose(self, letter: Letter, found: dict[str, Any]) -> None:
        """The letter that the page opens: its text goes off as the mail program has it."""
        page = self.page
        if found == self.last:  # a letter that tells of several things
            return
        self.last = found
        page.evaluate("document.getElementById('loaded').textContent = ''")
        page.goto(f"{page.url.partition('#')[0]}#{fragment(found)}")
        until(page, "document.getElementById('loaded').textContent")
        assert page.locator("#work").is_visible(), page.locator("#loaded").text_content()
        if page.locator("#draw-words").is_visible():
            page.locator("#draw-words").click()
            until(page, "document.getElementById('draw-words').hidden")
        if page.locator("#composing").is_visible():
            is_setup = found["pbem"] == "setup 1"
            lines = (
                setup(self.random, 2) if is_setup else [sensible_orders(self.random, page.evaluate(DECIDE, found))]
            )
            page.locator("#notation").fill("\n".join(lines))
        page.locator("#mail").click()
        until(page, "document.getElementById('form').value.includes('END SSH SIGNATURE')")
        link = page.locator("#mail").get_attribute("href")
        assert link is not None
        (text,) = parse_qs(urlsplit(link).query).get("body") or [page.locator("#form").input_value()]
        self.player.send(text.replace("\r\n", "\n"), answering=letter, sign=False)


def test_a_sealed_game_of_the_agent_against_a_browser(tmp_path: Path, opened: Callable[..., Page]) -> None:
    office, random = PostOffice(tmp_path), Random("ann")
    with office.opened():
        server = office.servers = Servers(tmp_path, office.port, "store.sqlite")
        try:
            office.box(f"operator@{SERVER}")
            ann = Terminal(tmp_path, "ann", office, "sealed")
            bob = new_player("bob", office)
            ann.register()
            reader = Reader(bob, opened(composer("spaceships", HOME)))
            ann("new", "spaceships", "bob", "sealed: yes", "pace: none", "--yes")
            proposal = bob.wait("accept m1")
            reader.sign(proposal.form("accept", 1), proposal)
            ann.wait()
            ann("setup", MATCH, *setup(random, 1), "--yes")
            with agent(ann) as told:
                closed = False
                while not closed:
                    letter = bob.any()
                    found = document(letter.message)
                    closed = any(item.get("phase") == "closed" for item in bulletin(letter.message)["items"])
                    if found and found["sealed"]["owes"]:
                        reader.compose(letter, found)
            assert "".join(told).count("your orders?") > 3
            ann("verify", MATCH)
            server.stop()
        finally:
            server.kill()
