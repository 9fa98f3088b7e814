"""A headless Chromium for tests of pages and letters: Debian's, driven by Playwright."""

from __future__ import annotations

import os
from importlib.util import find_spec
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from playwright.sync_api import Browser, Page

# Without Playwright these modules cannot even be imported: `make test` leaves them, `make test-browser` finds none.
collect_ignore_glob = [] if find_spec("playwright") else ["test_*.py"]

CHROMIUM = os.environ.get("PBEM_CHROMIUM", "/usr/bin/chromium")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if "/browser/" in item.path.as_posix():
            item.add_marker(pytest.mark.browser)


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    from playwright.sync_api import sync_playwright  # noqa: PLC0415 - only where a browser is tested

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def tab(chromium: Browser) -> Iterator[Page]:
    """A tab without a network, which fails the test when a script of its page fails or the page asks for any file."""
    context = chromium.new_context(viewport={"width": 1100, "height": 900}, offline=True)
    page = context.new_page()
    wrong: list[str] = []
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("console", lambda said: wrong.append(said.text) if said.type in {"error", "warning"} else None)
    page.on(
        "request",
        lambda asked: wrong.append(asked.url) if not asked.url.startswith(("file:", "blob:", "mailto:")) else None,
    )
    yield page
    context.close()
    assert wrong == []


@pytest.fixture
def opened(tab: Page, tmp_path: Path) -> object:
    """Open a page's text as a file."""

    def opened(html: str, name: str = "page.html", fragment: str = "") -> Page:
        path = tmp_path / name
        path.write_text(html, encoding="utf-8")
        tab.goto(f"file://{path}{fragment}")
        return tab

    return opened
