"""The page of a match: stepped through by keyboard, its proof recomputed, and what was tampered with named."""

from __future__ import annotations

import io
import json
import re
import zipfile
from random import Random
from typing import TYPE_CHECKING

import pytest
from axe_playwright_python.sync_playwright import Axe
from random_players import PLAYERS, sensible_orders
from referee import ANN, BOB, attachment

from pbem.match import bundle
from pbem.pages import replay as pages
from pbem.pages.replay import replay
from tests.referee import Referee

if TYPE_CHECKING:
    from collections.abc import Callable

    from playwright.sync_api import Page

SETUPS = {
    "spaceships": {"ann": ANN, "bob": BOB},
    "dueling-masters": {
        "ann": "* A1 A2 A3 A4 A5 A6 A7\nW C1\nB C2\nX C3 C4\nY C5 C6\nZ C7 C8 C9 C10\nH B5",
        "bob": "* J1 J2 J3 J4 J5 J6 J7\nW H1\nB H2\nX H3 H4\nY H5 H6\nZ H7 H8 H9 H10\nH I5",
    },
    "shoot-em-up": {
        "ann": "A b1 N\nB c1 N\nC d1 N",
        "bob": "D b9 S\nE c9 S\nF d9 S",
        "cem": "G a3 E\nH a4 E\nI a5 E",
    },
}


@pytest.fixture(scope="module")
def bundles(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """The bundle of a match of each game, six turns and a resignation."""
    found: dict[str, bytes] = {}
    for game, setups in SETUPS.items():
        referee = Referee(tmp_path_factory.mktemp(game))
        people = referee.table(game, "settle: 0", setups)
        random = Random(2)
        orders = sensible_orders if game == "spaceships" else PLAYERS[game].orders
        for _ in range(6):
            asked = []
            for person in people:
                letter = next(one for one in reversed(person.letters) if "position.json" in str(one))
                position = json.loads(attachment(letter, "position.json"))
                if position["asked"]:
                    asked.append((person, orders(random, position["view"])))
            referee.turn(*asked)
        referee.send(people[1], "resign m1 match")
        found[game] = attachment(people[0].find("what was secret"), ".zip")
        referee.close()
    return found


def verified(page: Page) -> list[str]:
    page.locator("#verify").click()
    page.wait_for_selector("#proof > p")
    return page.locator("#proof li, #proof > p").all_inner_texts()


@pytest.mark.parametrize("game", SETUPS)
def test_a_match_is_stepped_through_and_proved(
    game: str, bundles: dict[str, bytes], opened: Callable[..., Page]
) -> None:
    page = opened(replay(bundle.read(bundles[game])))
    assert page.locator("#at").inner_text() == "before the first turn"
    boards = {page.locator("#boards").inner_text()}
    page.locator("#next").focus()
    for turn in range(1, 7):
        page.keyboard.press("Enter")
        assert page.locator("#at").inner_text().startswith(f"turn {turn} of 6")
        boards.add(page.locator("#boards").inner_text())
        assert page.locator("#events").inner_text().strip()
    assert len(boards) > 3
    assert page.locator("#next").is_disabled()
    assert page.locator("#chart polyline").count() == len(SETUPS[game])
    said = verified(page)
    assert said[-1] == "All that can be checked here holds."
    assert all(line.startswith("ok") for line in said[:-1])
    assert re.search(r"players: [1-9][0-9]* letters signed", "\n".join(said))
    assert "cannot be judged" not in "\n".join(said)


def tampered(content: bytes, path: str, change: Callable[[bytes], bytes]) -> bytes:
    """The bundle with one file changed, otherwise a sound archive."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as old, zipfile.ZipFile(out, "w", zipfile.ZIP_STORED) as new:
        for info in old.infolist():
            inside = old.read(info)
            new.writestr(info, change(inside) if info.filename == path else inside)
    assert out.getvalue() != content
    return out.getvalue()


def carrying(content: bytes, other: bytes) -> str:
    """The page of a bundle, made by somebody who put another one into it."""
    html, packed = replay(bundle.read(content)), pages._packed(content)
    assert packed in html
    return html.replace(packed, pages._packed(other))


@pytest.mark.parametrize(
    ("path", "old", "new", "said"),
    [
        ("transcript.jsonl", b'"turn":3', b'"turn":4', r"chain: entry \d+ does not follow the entry before it"),
        ("transcript.jsonl", b'"prev"', b' "prev"', "chain: entry 1 is not written as entries are"),
        ("heads.txt", None, None, r"server: entry 1: the server's signature does not hold"),
        ("openings/game-1-seat-2.txt", b"DS ", b"DS  ", r"papers: entry \d+: openings/game-1-seat-2.txt is not what"),
        (
            "letters/game-1-turn-2-seat-1.eml",
            b"Subject",
            b"subject",
            r"papers: entry \d+: letters/game-1-turn-2-seat-1",
        ),
        ("reports/game-1-turn-5.json", b"hit", b"mis", r"papers: entry \d+: reports/game-1-turn-5.json"),
        ("records/game-1.pbem.toml", b"winner = 1", b"winner = 2", r"papers: entry \d+: records/game-1.pbem.toml"),
    ],
)
def test_a_tampered_page_says_what_is_wrong_and_where(  # noqa: PLR0917
    path: str, old: bytes | None, new: bytes, said: str, bundles: dict[str, bytes], opened: Callable[..., Page]
) -> None:
    content = bundles["spaceships"]

    def change(inside: bytes) -> bytes:
        if old is None:
            _, _, signature = inside.split(b"\n")[0].split(b" ")
            return inside.replace(signature, signature[:-2] + (b"00" if signature[-2:] != b"00" else b"11"), 1)
        assert old in inside
        return inside.replace(old, new, 1)

    page = opened(carrying(content, tampered(content, path, change)))
    found = verified(page)
    assert found[-1] == "This does not hold."
    assert re.match(f"FAILED +{said}", found[-2]), found


def test_axe_finds_nothing_on_it(bundles: dict[str, bytes], opened: Callable[..., Page]) -> None:
    page = opened(replay(bundle.read(bundles["spaceships"])))
    assert [(one["id"], one["nodes"][0]["html"]) for one in Axe().run(page).response["violations"]] == []
    assert len(bundle.read(bundles["spaceships"]).papers) > 30
