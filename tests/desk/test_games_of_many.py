"""A game of many by letters: retreats in a part of the pace, secrets for some, powers without a player."""

from __future__ import annotations

import json
from datetime import timedelta
from fractions import Fraction
from typing import TYPE_CHECKING

import pytest
from attackers.forgers import both, fails, fails_for_both, holds, index, saying, second, with_entry
from in_a_box.outside import POWERS, found_in, referee_of
from in_a_box.referee import Mailbox, Referee, attachment, body
from world.mutations import signed_again

from pbem.games import part_of, shoot_em_up
from pbem.match.transcript import utc
from pbem.proof import bundle
from verifier.rules.shoot_em_up import Game as SecondShootEmUp

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pbem.proof.bundle import Bundle

DAY = timedelta(days=1)
AGREED = "powers: [3, 1, 5]\nrounds: 3\nmiss: forfeit\ngrace: 0\nsettle: 0"

SEATS = {"ann": "", "bob": "", "cem": ""}


@pytest.fixture
def referee(tmp_path: Path) -> Iterator[Referee]:
    with referee_of(tmp_path, "powers", POWERS) as referee:
        yield referee


def retreating(referee: Referee, options: str = AGREED) -> list[Mailbox]:
    """Ann, Bob and Cem after a turn in which Ann marched against Cem, and told Cem something."""
    people = referee.table("powers", options, SEATS)
    ann, bob, cem = people
    referee.turn((ann, "march 5 tell 3 sorry"), (bob, "march 7"), (cem, "hold"))
    return people


def later(found: Bundle, at: int, **body: str) -> Bundle:
    """The bundle with another deadline in this entry, signed again."""
    return signed_again(with_entry(found, at, saying(**body)), at)


def test_a_retreat_is_due_within_its_part_of_the_pace(referee: Referee) -> None:
    ann, bob, cem = retreating(referee)
    assert "nothing to do" in body(ann.find("turn 1"))
    assert referee.match().clocks[3].time == 7 * 86400 // 7
    referee.wait(DAY - timedelta(hours=1))
    assert not referee.match().missed
    referee.wait(timedelta(hours=2))
    referee.send(bob, "resign m1 match\n")  # the last but one, since Cem has left
    found = bundle.read(attachment(cem.find("the end"), ".zip"))
    holds(found)
    assert second(found) is None, "it has no rules of other packages"
    missed = index(found, "missed", turn=2)
    assert found.entries[missed].body["seat"] == 3
    early = found.entries[missed].body["deadline"].replace("T12", "T08")
    fails(later(found, missed, deadline=early), "the deadline is earlier than what was agreed")


def test_the_next_turn_has_the_whole_pace_again(referee: Referee) -> None:
    _, _, cem = retreating(referee)
    referee.read_cold()
    referee.turn((cem, "stand"))
    assert {clock.time for clock in referee.match().clocks.values()} == {7 * 86400}


def test_without_the_rules_such_a_deadline_is_open(referee: Referee) -> None:
    _, bob, cem = retreating(referee)
    referee.wait(2 * DAY)
    referee.send(bob, "resign m1 match\n")
    found = bundle.read(attachment(cem.find("the end"), ".zip"))
    with found_in():
        pass  # no game is enabled any more
    assert both(found) is None
    assert both(later(found, index(found, "missed", turn=2), deadline="2020-01-01T12:00:00Z")) is None


def test_a_secret_is_for_the_seats_that_it_names(referee: Referee) -> None:
    ann, bob, cem = retreating(referee)
    assert "ann tells you sorry" in body(cem.find("turn 1"))
    for person, readers in ((ann, True), (bob, False), (cem, True)):
        assert ("sorry" in body(person.find("turn 1"))) == readers
        assert (b"sorry" in attachment(person.find("turn 1"), ".json")) == readers


def test_powers_without_a_player_are_in_disorder(referee: Referee) -> None:
    """Nobody has power 7, nor that of Bob once he has resigned: both lose armies, and nobody is asked for them."""
    ann, bob, cem = retreating(referee, AGREED.replace("forfeit", "wait"))
    referee.send(bob, "resign m1 match\n")
    referee.turn((cem, "retreat"))
    referee.turn((ann, "march 1"), (cem, "march 1"))
    assert referee.match().under_way.armies == (7, 9, 9, 9, 8, 9, 8)  # type: ignore[attr-defined]  # this game's
    assert referee.match().choosing == [1, 3], "nobody retreats for Bob"


def test_a_turn_ends_once_the_only_one_who_retreats_has_resigned(referee: Referee) -> None:
    ann, bob, cem = retreating(referee)
    referee.send(cem, "resign m1 match\n")
    assert (referee.match().turn, referee.match().choosing) == (3, [1, 2])
    for person in (ann, bob):
        assert "orders m1 turn 3" in body(person.last)
    referee.read_cold()
    referee.send(bob, "resign m1 match\n")
    holds(bundle.read(attachment(ann.find("the end"), ".zip")))


def test_chance_deals_the_powers(referee: Referee) -> None:
    ann, bob, cem = referee.table("powers", "rounds: 1\nsettle: 0", SEATS)
    referee.turn((ann, "draw north"), (bob, "draw south"), (cem, "draw peace"))
    powers = referee.match().under_way.powers  # type: ignore[attr-defined]  # this game's
    assert len({*powers} & {*range(1, 8)}) == 3
    referee.turn((ann, "hold"), (bob, "hold"), (cem, "hold"))
    found = bundle.read(attachment(cem.find("the end"), ".zip"))
    holds(found)
    dealt = json.loads(found.papers["reports/game-1-turn-1.json"])["reports"][-1]
    assert dealt == {"kind": "powers", "seats": [*powers]}


@pytest.mark.parametrize("hours", [0, -8])
def test_both_verifiers_know_a_part_of_the_pace(tmp_path: Path, hours: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """No game of ours has one: here a turn of Shoot 'em up has half of it."""
    part_of.cache_clear()
    monkeypatch.setattr(shoot_em_up, "pace", lambda _state: Fraction(1, 2), raising=False)
    monkeypatch.setattr(SecondShootEmUp, "pace", Fraction(1, 2))
    referee = Referee(tmp_path)
    setups = {"ann": "A b1 E\nB c1 W\nC d1 N", "bob": "D b5 S\nE c5 S\nF d5 S"}
    ann, _ = referee.table("shoot-em-up", "board: 5x5\nsettle: 0\nmiss: forfeit\npace: 4d\ngrace: 0", setups)
    referee.wait(3 * DAY)
    found = bundle.read(attachment(ann.find("the end"), ".zip"))
    referee.close()
    missed = index(found, "missed", turn=1)
    entries = list(found.entries)
    deadline = utc(entries[missed].body["deadline"]) + timedelta(hours=hours)
    told = later(found, missed, deadline=f"{deadline:%Y-%m-%dT%H:%M:%SZ}")
    if hours:
        fails_for_both(told, "the deadline is earlier than what was agreed")
    else:
        assert both(told) is True
        monkeypatch.setattr(SecondShootEmUp, "pace", Fraction(1))
        assert second(told) is False
    part_of.cache_clear()
