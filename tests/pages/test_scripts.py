"""The scripts of the pages as such: what they ask of a browser, and what `make check` says of them."""

from __future__ import annotations

from pathlib import Path

import pytest
from page_scripts.javascript import PAGES, Failed, Scripts

from pbem.pages.match_page import checking

ROOT = Path(__file__).parents[2]
PROGRAMS = {"composer.js", "home/rooms.js", "registration.js", "replay.js"}
"""These work the elements of their page from their first line on, and have nothing that others would use."""
NAMES = sorted(path.relative_to(PAGES).as_posix() for path in PAGES.rglob("*.js"))
MADE = {"board.js": "make", "say.js": "say", "composer/spaceships/shapes.js": "SHAPES"}


@pytest.mark.parametrize("name", sorted({*NAMES} - PROGRAMS))
def test_a_script_is_loaded_without_a_document(name: str) -> None:
    folder, _, game = name.rpartition("/")
    folder, _, of_game = folder.partition("/")  # a noun of one game's
    verifying = [*checking(of_game or game.removesuffix(".js") if folder else "spaceships", sealed=True)]
    before = [*verifying, "board.js"] if folder == "composer" else verifying
    scripts = Scripts(*before[: before.index(name)] if name in before else before, name)
    made = MADE.get(name) or {"composer": "GAME", "replay": "GAME"}.get(folder, folder.upper()) or game[:-3].upper()
    assert scripts.evaluate(f"() => typeof {made}") in {"object", "function"}


def test_what_a_script_raises_is_told() -> None:
    with pytest.raises(Failed, match="ReferenceError: document is not defined"):
        Scripts("board.js").evaluate("() => make('p')")
    with pytest.raises(Failed, match="for ever"):
        Scripts().evaluate("() => new Promise(() => {})")
