"""Sealed matches before the page's verifier: their steps, their games, and what they reveal."""

from __future__ import annotations

import re
from datetime import timedelta
from time import monotonic
from typing import TYPE_CHECKING

import pytest
from attackers.forgers import checked, proof, with_entry
from in_a_box.referee import Referee
from in_a_box.sealed_seats import agreed, play
from page_scripts.javascript import Scripts
from page_scripts.verifying import PUBLIC, fails
from vectors.matches import good
from world.mutations import rewritten, signed_again

from pbem.desk.public import Public
from pbem.pages.match_page import checking, packed, replay
from pbem.proof import bundle

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("game", ["spaceships", "dueling-masters", "shoot-em-up"])
def test_the_page_of_a_sealed_match_without_its_letters_is_proved(tmp_path: Path, game: str) -> None:
    referee, verifier = Referee(tmp_path), Scripts(*checking(game, sealed=True))
    options = "fleet: cost:3\n" if game == "spaceships" else "max_turns: 6\n"
    play(referee, agreed(referee, "ann", "bob", game=game, options=options))
    (match,) = Public("play.example", referee.database, referee.vault).finished()
    assert match.bundle is not None
    assert any(path.startswith("steps/") for path in match.bundle.papers) == (game != "shoot-em-up")
    said = verifier.evaluate(PUBLIC, [packed(bundle.write(match.bundle)), dict(match.forms)])
    assert [one for one in said if one["holds"] is not True] == []
    assert any("letters signed with these keys" in one["said"] for one in said)
    replay(match.bundle, forms=match.forms)
    referee.close()


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (b"\nseat 1\n", b"\nseat 2\n", "steps: game 1: turn 1: a paper of seat 1 does not match its hash"),
        (b"\nto 5", b"\nto 6", "steps: game 1: turn 1: a paper of seat 1 does not cite the paper before it"),
        (b"Rv1 miss", b"Rv1 hit", "steps: entry 8: reports/game-1-turn-1.json does not follow from the steps"),
        (b"Rv1 miss", b"Rv1 lost", "steps: entry 6: this is no step of such a game"),
    ],
)
def test_a_paper_of_a_step_is_read_and_not_only_hashed(verifier: Scripts, old: bytes, new: bytes, said: str) -> None:
    found = good("sealed")
    path = "steps/game-1-turn-1-seat-1-answers.txt"
    forged = rewritten(found, path, found.papers[path].replace(old, new, 1))
    assert fails(verifier, forged) == said
    assert not checked(forged)[-1].holds


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"paper": "00" * 32}, "turn 1: seat 1 opened something other than what it committed to"),
        ({"turn": 7}, "turn 7: the step commit of seat 1 was not due"),
    ],
)
def test_a_step_opens_what_was_committed_to_when_it_is_due(
    verifier: Scripts, change: dict[str, object], said: str
) -> None:
    found = good("sealed")
    forged = signed_again(with_entry(found, 2, lambda body: body.update(change)))
    assert fails(verifier, forged) == f"steps: game 1: {said}"
    assert not checked(forged)[-1].holds


@pytest.mark.parametrize("words", ["resign m1 match\n", "annul m1 offer\n"])
def test_a_sealed_match_that_ends_in_a_setup_after_a_game_that_was_not_revealed(tmp_path: Path, words: str) -> None:
    """The setups that were withdrawn are listed by the number of the game that did not begin."""
    referee = Referee(tmp_path)
    ann, bob = seats = agreed(referee, "ann", "bob", options="fleet: cost:3\nkind: scored\ngames: 2\n")
    play(referee, seats, 6)
    referee.send(ann.box, "resign m1 game 1\n")
    bob.write(referee)
    referee.wait(timedelta(days=30))
    referee.send(ann.box, words)
    if words.startswith("annul"):
        referee.send(bob.box, "annul m1 accept\n")
    assert referee.match().phase == "closed"
    found = proof(referee, bob.box)
    assert "traces/game-2-end.txt" in found.papers
    assert checked(found)[-1].holds
    scripts = Scripts(*checking("spaceships", sealed=True))
    assert fails(scripts, found) is None
    ended = scripts.evaluate(OUTCOME, packed(bundle.write(found)))
    assert (ended["winners"], ended["reason"]) == (
        (["bob"], "resignation") if words.startswith("resign") else ([], "annulled")
    )
    referee.close()


OUTCOME = "async (packed) => BUNDLE.outcome(BUNDLE.unzip(await BUNDLE.unpacked(packed)))"
GAMES = "async (packed) => BUNDLE.games(BUNDLE.unzip(await BUNDLE.unpacked(packed))).map((game) => game.number)"


def test_a_game_after_one_that_was_not_revealed_is_drawn_and_checked(tmp_path: Path) -> None:
    referee = Referee(tmp_path)
    options = "max_turns: 2\nkind: scored\ngames: 2\n"
    ann, bob = seats = agreed(referee, "ann", "bob", game="dueling-masters", options=options)
    play(referee, seats, 4)
    referee.send(ann.box, "resign m1 game 1\n")
    bob.write(referee)
    referee.wait(timedelta(days=11))
    assert referee.match().game == 2
    play(referee, seats)
    found, scripts = proof(referee, bob.box), Scripts(*checking("dueling-masters", sealed=True))
    assert [path for path in found.papers if path.startswith("records/")] == ["records/game-2.pbem.toml"]
    assert checked(found)[-1].holds
    assert fails(scripts, found) is None
    assert scripts.evaluate(GAMES, packed(bundle.write(found))) == [2]
    record = "records/game-2.pbem.toml"
    other = found.papers[record].replace(b"winner = ", b"winner = 7")
    assert (
        fails(scripts, rewritten(found, record, other))
        == f"games: {record}: its result is not that of the entry `ended`"
    )
    referee.close()


@pytest.mark.parametrize(
    ("name", "old", "new"), [("sealed-shoot-em-up", "MSF", "SSS"), ("sealed-dueling-masters", "D9-D6", "D9-D7")]
)
def test_the_orders_of_a_sealed_game_are_those_that_were_committed_to(
    verifier: Scripts, name: str, old: str, new: str
) -> None:
    found = good(name)
    path = "records/game-1.pbem.toml"
    before, head, turns = found.papers[path].decode().partition("[[turn]]")
    assert old in turns
    forged = rewritten(found, path, f"{before}{head}{turns.replace(old, new, 1)}".encode())
    said = fails(verifier, forged) or ""
    assert re.fullmatch(f"games: {path}: the orders of seat . in turn [0-9]+ are not those of their opening", said)
    assert not checked(forged)[-1].holds


def test_no_line_of_a_step_is_read_in_more_ways_than_one() -> None:
    """Whoever writes steps into a link or a bundle would halt the page of whoever opens it."""
    for game in ("dueling-masters", "spaceships", "shoot-em-up"):
        scripts = Scripts(*checking(game, sealed=True))
        began = monotonic()
        assert not scripts.evaluate("(line) => SEALED.line.test(line)", "check " + "B1 " * 26 + "!")
        assert monotonic() - began < 3
