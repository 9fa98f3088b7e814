"""A game without setups: it begins when all have agreed, and the next one when it has ended."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from in_a_box.inquiries import held, proved, types
from in_a_box.outside import STICKS, referee_of
from in_a_box.referee import Mailbox, Referee, attachment, body, form_in, html

from pbem.match.transcript_replay import begin
from pbem.proof import bundle, without_rules

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def referee(tmp_path: Path) -> Iterator[Referee]:
    with referee_of(tmp_path, "sticks", STICKS) as referee:
        yield referee


def play(referee: Referee, *people: Mailbox) -> None:
    """A game of nine sticks."""
    for turn in range(3):
        person = people[turn % len(people)]
        referee.send(person, person.filled("orders", "final\ntake 3"))


def test_two_games_are_played_and_proved(referee: Referee) -> None:
    ann, bob = referee.agreed("kind: scored\ngames: 2\nsticks: 9", game="sticks")
    for person in (ann, bob):
        assert "9 sticks are left." in body(person.find("game 1 begins"))
        assert "setup" not in " ".join(str(letter["Subject"]) for letter in person.letters)
        assert "commitments" not in body(person.find("game 1 begins"))
    referee.read_cold()
    play(referee, ann, bob)
    assert "You won Sticks" in body(ann.find("game 1, the end"))
    assert "not revealed yet" in " ".join(proved(referee, bob)), "the running game has no papers yet"
    held(ann.find("game 1, the end"))
    assert "9 sticks are left." in body(bob.find("game 2 begins"))
    referee.send(bob, "setup m1 game 2\nserver play.example\nplayer bob\nrev 1\ntake 1\nend\n")
    assert "no setup is due" in bob.text
    play(referee, ann, bob)
    page = html(bob.find("turn 1"))
    assert "ann took 3." in page
    assert page.count("<b>I</b>") == 6
    referee.send(bob, "sheet sticks\nsheet m1\n", sign=False)
    assert attachment(bob.last, ".pdf").startswith(b"%PDF")
    found = held(bob.find("game 2, the end"))
    assert "game 1: it begins, without setups" in found
    assert types(referee)[:2] == ["agreed", "commitments"]
    content = bundle.read(attachment(bob.find("game 2, the end"), ".zip"))
    assert "papers is named" in without_rules.check(content, begin(content.entries[0]))
    (row,) = referee.database.execute("SELECT count(*) FROM inbox WHERE state = 'aside'")
    assert row[0] == 0


def test_a_match_that_is_paused_between_games_begins_when_it_goes_on(referee: Referee) -> None:
    ann, bob = referee.agreed("kind: scored\ngames: 2\nsticks: 9", game="sticks")
    referee.desk.operator.instructions.give("pause", "m1", "a storm", "operator", referee.now)
    referee.running.obey(referee.now)
    referee.desk.operator.instructions.give("resume", "m1", "", "operator", referee.now)
    referee.running.obey(referee.now)
    play(referee, ann, bob)
    assert "9 sticks are left." in body(bob.find("game 2 begins"))


def test_a_seat_is_handed_over(referee: Referee) -> None:
    ann, bob = referee.agreed("sticks: 9", game="sticks")
    carl = referee.registered("carl")
    referee.send(bob, "substitute m1 carl for bob\n")
    referee.send(ann, form_in(ann.text, "substitute"))
    referee.send(carl, form_in(carl.text, "substitute"))
    welcome = body(carl.find("your seat"))
    assert "9 sticks are left." in welcome
    assert "It is a secret" not in welcome
    assert "commitments" not in welcome
    play(referee, ann, carl)
    held(ann.find("the end"))
