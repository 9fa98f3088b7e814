"""`pbem play --browser` at work, and its page in a browser: for tests of the page at home."""

from __future__ import annotations

import os
import re
import subprocess
from typing import TYPE_CHECKING, NamedTuple

import pytest
from axe_playwright_python.sync_playwright import Axe
from browser.test_passkey import is_wrong
from cli.test_try import port_of
from machines.post_office import PBEM
from playwright.sync_api import expect

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from playwright.sync_api import Browser, BrowserContext, Page


_ADDRESS = re.compile(r"http://localhost:\d+/\S+")


LONG = 120_000  # milliseconds: the first start of a server and its house, on a busy machine


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


def practise(page: Page) -> None:
    page.locator('#games [data-game="spaceships"]').click()
    expect(page.locator("#whose-move")).to_have_text("turn 1: your move", timeout=LONG)
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
    page.locator("#accounts a", has_text="m2").click(timeout=LONG)
    until_then = re.compile(r"^setup of game 1: your move, until [A-Z]\w+day,? \d+ [A-Z]\w+ \d{4}, \d\d:\d\d$")
    expect(page.locator("#whose-move")).to_have_text(until_then, timeout=LONG)  # as letters write it


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
