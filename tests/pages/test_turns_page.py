"""The page of a match whose game is another package's: each turn with its picture, the bundle, and no script."""

from __future__ import annotations

import re
from base64 import b64decode
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner
from in_a_box.outside import MARBLES, RACE, referee_of
from in_a_box.referee import Referee, attachment
from pages.test_site import files

from pbem.cli.group import group
from pbem.games import GAMES, outside
from pbem.match import record
from pbem.pages.match_page import replay
from pbem.proof import bundle
from pbem.proof.verification import verify

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

Played = tuple[Referee, bytes]
PRESS = [{"game": 1, "turn": 2, "by": "ann", "text": "<b>Hm</b>"}]


@pytest.fixture(scope="module", params=["race", "marbles"])
def match(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Iterator[Played]:
    """A match that is over: one of a game that draws, one of a game in words alone."""
    game, source = request.param, {"race": RACE, "marbles": MARBLES}[request.param]
    with referee_of(tmp_path_factory.mktemp("match"), game, source) as referee:
        people = referee.agreed("", game=game)
        for person in people if game == "marbles" else ():
            referee.send(person, person.filled("setup", "hide 5"))
        for turn in range(60):
            orders = "throw it" if game == "race" else f"guess {(4, 9, 5)[turn % 3]}"
            person = people[turn % 2]
            referee.send(person, person.filled("orders", f"final\n{orders}"))
            if any("the end" in str(letter["Subject"]) for letter in person.letters):
                break
        yield referee, attachment(people[0].find("the end"), ".zip")


def test_each_turn_has_one_picture(match: Played) -> None:
    found = bundle.read(match[1])
    page = replay(found, press=PRESS)
    played = record.read(found.papers["records/game-1.pbem.toml"].decode())
    turns = re.findall(r'<section id="game-1-turn-(\d+)">(.*?)</section>', page, re.DOTALL)
    assert [int(number) for number, _ in turns] == [*range(1, len(played.turns) + 1)]
    for (_, shown), turn in zip(turns, played.turns, strict=True):
        ((seat, orders),) = turn.orders.items()
        assert f"{('ann', 'bob')[seat - 1]}: {orders}" in shown
        assert shown.count("<img") == (played.game == "race")
    if played.game == "race":
        last = dict(turns)[str(len(turns))]
        scores = played.result.scores if played.result else ()
        assert f'alt="A track of thirty fields: seat 1 is on field {scores[0]}, seat 2 on field {scores[1]}."' in last
    else:
        assert "ann guesses 4: more" in turns[0][1]
    assert "&lt;b&gt;Hm&lt;/b&gt;" in turns[1][1]
    assert page.count("&gt;Hm") == 1
    assert "Seen from the side of ann." in page
    assert "Seen from the side of bob." in replay(found, seat=2)


def test_nothing_runs_in_it_and_the_bundle_comes_out_whole(match: Played) -> None:
    page = replay(bundle.read(match[1]))
    assert "<script" not in page
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', page)
    assert policy
    assert "default-src &#39;none&#39;" in policy[1] or "default-src 'none'" in policy[1]
    assert "script-src" not in policy[1]
    saved = re.search(r'href="data:application/zip;base64,([^"]*)" download="m1.pbem.zip"', page)
    assert saved
    assert [*verify(b64decode(saved[1]))][-1].holds
    assert "not the very code" not in page


def test_other_rules_than_the_agreed_ones_are_named(
    match: Played, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    game, here = next(iter(outside.PACKAGES.items()))
    monkeypatch.setitem(outside.PACKAGES, game, here._replace(code=None))
    assert "The package here is not the very code that was agreed on." in replay(bundle.read(match[1]))
    file = tmp_path / "m1.pbem.zip"
    file.write_bytes(match[1])
    assert "<!DOCTYPE html>" in CliRunner().invoke(group, ["publish", str(file)]).output
    monkeypatch.delitem(GAMES, game)
    done = CliRunner().invoke(group, ["publish", str(file)])
    assert done.exit_code == 2
    assert f'the game "{game}" of pbem-{game} 0.1.0 is not enabled: pbem --game {game}' in done.output


def test_a_site_has_it_where_the_rules_are_the_agreed_ones(match: Played, monkeypatch: pytest.MonkeyPatch) -> None:
    referee, _ = match
    game, here = next(iter(outside.PACKAGES.items()))
    pages = files(referee)
    assert 'id="game-1-turn-1"' in pages["m1.html"]
    assert "Zug 1" in pages["m1.de.html"]
    monkeypatch.setitem(outside.PACKAGES, game, here._replace(code="0" * 64))
    assert "m1.html" not in files(referee)
