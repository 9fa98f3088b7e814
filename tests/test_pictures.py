"""The pictures of README.md show what is there now, and are small."""

from __future__ import annotations

import json
import re

import pytest
from demo import pictures

README = (pictures.ROOT / "README.md").read_text("utf-8")
NEWER = "what this picture shows has changed: run `make pictures`, and look at it"


@pytest.mark.parametrize("picture", pictures.TEMPLATES)
def test_a_picture_is_no_older_than_what_it_shows(picture: str) -> None:
    assert (pictures.PICTURES / picture).is_file()
    assert json.loads(pictures.SHOWN.read_text("utf-8"))[picture] == pictures.fingerprint(picture), NEWER


def test_a_fingerprint_covers_what_a_template_includes() -> None:
    letter, page = pictures.sources("letter.png"), pictures.sources("match.png")
    assert {"letters/turn.html", "letters/parts.html", "spaceships/position.html"} <= set(letter)
    assert {"pages/replay.html", "pages/page.html", "pages/page.css"} <= set(page)


def test_pictures_are_small_together_and_none_is_left_over() -> None:
    made = {path.name: path.stat().st_size for path in pictures.PICTURES.iterdir()}
    assert set(made) == {*pictures.TEMPLATES, pictures.BADGES.name, pictures.SHOWN.name}
    assert sum(made.values()) < 400_000


def test_the_readme_shows_pictures_that_are_made() -> None:
    shown = re.findall(r"docs/pictures/([\w.-]+)\)", README)
    assert {"letter.png", "terminal.svg", "match.png", "badges.svg"} <= set(shown)
    assert set(shown) <= {*pictures.TEMPLATES, pictures.BADGES.name}


def test_the_badges_are_true() -> None:
    assert pictures.BADGES.read_text("utf-8") == pictures.badges(), NEWER
