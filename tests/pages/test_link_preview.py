"""What sites show of a link to a match that is over: its decisive turn, in words and as a picture."""

from __future__ import annotations

import io
import re
from typing import TYPE_CHECKING

import pytest
from data.material import EXAMPLES
from pages.test_feeds import folder
from pages.test_site import PAGES, carried, play
from PIL import Image, ImageChops
from vectors.make import good

from pbem.boards import picture
from pbem.games import part_of
from pbem.i18n import LANGUAGES
from pbem.match import record
from pbem.match.changed import replace
from pbem.pages.match_page import decisive_turn, decisive_turns
from pbem.pages.site import link_preview

if TYPE_CHECKING:
    from in_a_box.referee import Referee


@pytest.mark.parametrize(
    ("game", "turn"),
    [
        ("spaceships/gives-up", 1),
        ("spaceships/kamikaze-beside-a-strike", 1),  # in the second the winner loses a ship, too
        ("spaceships/burn-out", 1),  # the first of several that cost as much
        ("dueling-masters/destroys-beyond-its-death", 0),  # as much on both sides
        ("dueling-masters/both-home-planets", 5),  # where nobody won, what both lost counts
        ("dueling-masters/pass", 3),
        ("shoot-em-up/order-of-reports", 3),
        ("shoot-em-up/ends-in-an-action", 2),
    ],
)
def test_the_turn_that_cost_the_losers_most_is_decisive(game: str, turn: int) -> None:
    found = decisive_turn(record.read((EXAMPLES / f"{game}.pbem.toml").read_text()))
    assert found.turn == len(found.reports) == turn


def test_a_record_that_is_not_legal_decides_nothing() -> None:
    found = good("default")
    path = "records/game-1.pbem.toml"
    for text in (b"record = 2", b"\xff", found.papers[path].replace(b'"Rv1"', b'"Rv9"')):
        assert decisive_turns(replace(found, papers={**found.papers, path: text})) == {}
    assert decisive_turns(found)


def test_a_match_has_a_picture_in_each_language(referee: Referee) -> None:
    play(referee)
    files = folder(referee)
    assert {name for name in files if name.endswith(".png")} == {"m1.png", "m1.de.png"}
    for name, title in (("m1", "ann, bob: ann won, 3 to 0"), ("m1.de", "ann, bob: ann hat gewonnen, 3 zu 0")):
        page = files[f"{name}.html"].decode()
        told = dict(re.findall(r'<meta (?:property|name)="((?:og|twitter):[a-z:]+)" content="([^"]*)">', page))
        line = {"m1": "The decisive turn", "m1.de": "Der entscheidende Zug"}[name]
        assert told == {
            "og:type": "article",
            "og:title": title,
            "og:description": f"Spaceships · {line}: 1 · m1, play.example",
            "og:url": f"{PAGES}{name}.html",
            "og:image": f"{PAGES}{name}.png",
            "og:image:alt": told["og:description"],
            "twitter:card": "summary_large_image",
        }
        assert carried(page)[0]["decisive"] == {"1": 1}
        with Image.open(io.BytesIO(files[f"{name}.png"])) as image:
            assert (image.format, image.size, image.info) == ("PNG", picture.CARD, {})
    assert files["m1.png"] != files["m1.de.png"]
    assert folder(referee) == files  # the same match, the same octets
    without = folder(referee, pages="")
    assert without["m1.png"] == files["m1.png"]
    assert b"og:title" in without["m1.html"]
    assert b"og:image" not in without["m1.html"]
    assert not [name for name, page in files.items() if b"og:" in page and not name.startswith("m1.")]


def test_only_what_is_over_and_revealed_has_a_picture(referee: Referee) -> None:
    referee.begun("settle: 0")
    assert not [name for name in folder(referee) if name.endswith(".png")]
    for name in ("running", "sealed-running", "sealed-silent"):
        assert [link_preview(good(name), language) for language in LANGUAGES] == [None, None]
    for name in ("sealed", "sealed-dueling-masters", "sealed-shoot-em-up", "substitute", "three-seats"):
        assert link_preview(good(name), "en")


@pytest.mark.parametrize("words", ["ann", "a" * 32, ", ".join(["w" * 32] * 4)])
def test_a_title_and_a_line_fit(words: str) -> None:
    boards = part_of("shoot-em-up", "boards").blank()
    with Image.open(io.BytesIO(picture.card(words, words, boards, {}))) as image:
        head = image.convert("RGB").crop((0, 0, picture.CARD[0], picture.HEAD))
    inked = ImageChops.difference(head, Image.new("RGB", head.size, picture.PAPER)).getbbox()
    assert inked is not None
    left, top, right, bottom = inked
    assert picture.EDGE - 2 <= left < right <= picture.CARD[0] - picture.EDGE + 2
    assert 0 < top < bottom < picture.HEAD
