"""Sealed matches in a browser: the composer's page decides, answers, opens and reveals, and a lost browser loses nothing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlsplit

import pytest
from axe_playwright_python.sync_playwright import Axe
from browser.waiting import until

from pbem.pages import Home, composer, fragment

if TYPE_CHECKING:
    from collections.abc import Callable

    from playwright.sync_api import Page

    Opened = Callable[..., Page]

SERVER = "play.example"
HOME = Home(SERVER, f"pbem@{SERVER}")
VECTOR = json.loads((Path(__file__).parents[1] / "player" / "sealed_note.json").read_text())

LOCKED = """async (vector) => {
    const lock = await NOTE.lockOf(vector.words, vector.note), found = await NOTE.open(lock, vector.note, vector.place);
    const again = await NOTE.seal(lock, found), other = { ...vector.place, game: 3 };
    const refused = await NOTE.open(lock, vector.note, other).catch((error) => error.message);
    const wrong = await NOTE.lockOf("lusab babad gutih tugad mudof babad", vector.note);
    const unlocked = await NOTE.open(wrong, vector.note, vector.place).catch((error) => error.message);
    return { found, same: again === vector.note, again: await NOTE.open(lock, again, vector.place), refused, unlocked };
}"""


def test_the_note_of_the_program_is_that_of_the_page(opened: Opened) -> None:
    """Either opens what the other sealed, with the six words and at its place alone."""
    said: Any = opened(composer("spaceships", HOME)).evaluate(LOCKED, VECTOR)
    assert said["found"] == said["again"] == VECTOR["secrets"]
    assert not said["same"]
    assert said["refused"] == said["unlocked"] == "these words do not open the note"
