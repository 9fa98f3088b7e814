"""The page on which an answer is composed: its link in letters that ask for something, and the page as a file."""

from __future__ import annotations

import base64
import json
import re
import zlib
from typing import TYPE_CHECKING, Any

import pytest
from in_a_box.referee import ANN, BOB, SERVER, Referee, attachment, body, form_in, html

if TYPE_CHECKING:
    from in_a_box.referee import Referee


PAGES = "https://play.example/pbem/"
LINK = re.compile(rf"{re.escape(PAGES)}([a-z-]+(?:\.de)?\.html)#([A-Za-z0-9_-]+)")


def linked(text: str) -> tuple[str, Any]:
    """The page that a text links to, and what the link tells it."""
    (found,) = LINK.findall(text)
    page, packed = found
    return page, json.loads(zlib.decompress(base64.urlsafe_b64decode(packed + "=" * (-len(packed) % 4)), -15))


@pytest.mark.parametrize("language", ["en", "de"])
def test_what_asks_for_something_has_the_link_in_text_and_html(referee: Referee, language: str) -> None:
    referee.configure(pages=PAGES)
    ann, bob = referee.agreed("settle: 0")
    for person in (ann, bob):
        referee.send(person, f"set language {language}\n")
    asked = ann.find("your setup")
    page, told = linked(body(asked))
    assert (page, told["pbem"]) == ("spaceships.html", "setup 1")
    assert linked(html(asked)) == (page, told)
    assert told["address"] == str(asked["Reply-To"])
    assert f"prev {told['prev']}\n" in body(asked)
    for person, setup in ((ann, ANN), (bob, BOB)):
        referee.send(person, person.filled("setup", setup))
    referee.turn((ann, "Ry3 Ry4"), (bob, "Ov1"))
    turn = next(letter for letter in reversed(ann.letters) if "position.json" in str(letter))
    page, told = linked(body(turn))
    assert page == ("spaceships.html" if language == "en" else "spaceships.de.html")
    assert told == json.loads(attachment(turn, "position.json"))
    assert linked(html(turn)) == (page, told)
    assert told["names"] == ["ann", "bob"]
    assert "2026" in told["deadline"]
    assert "Ry3" in told["events"]
    assert told["events"].partition("\n\n")[0].endswith(".")  # the outcome, which the page has as its headline
    assert [report["cell"] for report in told["reports"] if report["seat"] == 1] == ["Ry3", "Ry4"]
    assert ("hit" in told["events"]) is (language == "en")
    assert max(map(len, turn.as_bytes().splitlines())) < 998  # RFC 5322, 2.1.1


def test_the_page_itself_comes_once_a_match_to_who_asked(referee: Referee) -> None:
    ann, bob = referee.registered("ann"), referee.registered("bob")
    referee.send(ann, "set composer on\n")
    assert "as a file" in ann.text
    referee.send(ann, "new spaceships with bob\nsettle: 0\nkind: scored\ngames: 2\nend\n")
    referee.send(bob, form_in(bob.text, "accept", lines=1))
    page = attachment(ann.find("your setup"), "spaceships.html").decode()
    assert f"pbem@{SERVER}" in page
    assert page.startswith("<!DOCTYPE html>")
    assert "spaceships.html" not in str(bob.find("your setup"))
    for person, setup in ((ann, ANN), (bob, BOB)):
        referee.send(person, person.filled("setup", setup))
    referee.send(bob, "resign m1 game 1\n")
    assert any("game 2: send your setup" in body(letter) for letter in ann.letters)
    assert sum("spaceships.html" in str(letter) for letter in ann.letters) == 1
    assert LINK.search(ann.find("your setup").as_string()) is None


# The address of an invitation's page.


@pytest.mark.parametrize(("language", "page"), [("en", "m1.html"), ("de", "m1.de.html")])
def test_an_invitation_is_passed_on_by_the_address_of_its_page(referee: Referee, language: str, page: str) -> None:
    referee.configure(pages=PAGES)
    ann = referee.registered("ann")
    referee.send(ann, f"set language {language}\n")
    referee.send(ann, "new spaceships\nend\n")
    assert f"\n    {PAGES}{page}\n" in ann.text
    referee.send(ann, "list open\n")
    assert f"\n       {PAGES}{page}\n" in ann.text
