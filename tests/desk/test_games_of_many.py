"""A game of many by letters: retreats in a part of the pace, secrets for some, powers without a player."""

from __future__ import annotations

import json
from datetime import timedelta
from fractions import Fraction
from typing import TYPE_CHECKING

import pytest
from attackers.forgers import both, fails, fails_for_both, holds, index, saying, second, with_entry
from in_a_box.keyless import HOME, answer, registered
from in_a_box.outside import POWERS, found_in, referee_of
from in_a_box.referee import Mailbox, Referee, attachment, body, form_in
from judges.honest import accused
from world.mutations import signed_again

from pbem.games import part_of, shoot_em_up
from pbem.match.transcript import utc
from pbem.proof import bundle
from verifier.acknowledged import end
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


def with_a_phone(referee: Referee) -> list[Mailbox]:
    """Ann, Bob and Cem, to whom Ann has written; Bob has no key."""
    referee.records[HOME.where] = HOME.record
    ann, cem, bob = referee.registered("ann"), referee.registered("cem"), registered(referee, "bob")
    referee.send(ann, f"new powers with bob cem\n{AGREED}\nend\n")
    answer(referee, bob, form_in(body(bob.last), "accept", lines=1))
    referee.send(cem, form_in(body(cem.last), "accept", lines=1))
    referee.send(ann, "press m1\nGood morning.\nend\n")
    return [ann, bob, cem]


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


def test_terms_say_that_the_rules_may_give_a_turn_less_time(referee: Referee) -> None:
    _, bob, _ = retreating(referee)
    assert "7 days for each turn and setup\n            (the rules may give some turns less)" in body(
        bob.find("proposes")
    )


def test_the_players_of_a_proposal_fit_a_terminal(referee: Referee) -> None:
    *_, last = referee.table("powers", "rounds: 1", {f"{name}-of-very-long-name": "" for name in "abcdef"})
    assert max(map(len, body(last.find("proposes")).splitlines())) <= 78


def test_who_has_no_matches_hears_of_those_to_join(referee: Referee) -> None:
    ann, *_ = referee.table("powers", "rounds: 1", {"ann": "", "bob": ""})
    carl = referee.registered("carl")
    referee.send(carl, "list\n")
    assert "You have no matches; `list open` shows those" in carl.text
    for person, of in ((carl, "powers"), (ann, "m1")):
        referee.send(person, f"sheet {of}\n")
        assert "this game has no boards" in person.text
    referee.send(ann, "new powers\nseats: 3\nend\n")
    referee.send(carl, "list open\n", sign=False)
    assert "answer this letter with a line such as `join m2`" in carl.text


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


def test_a_subject_has_the_name_that_the_game_gives_to_a_turn(referee: Referee) -> None:
    ann, _, cem = retreating(referee)
    assert cem.find("turn 1")["subject"] == "[pbem m1] Powers, game 1, turn 1"
    assert "DESCRIPTION:Powers m1\\, game 1\\, turn 2 (retreats)" in attachment(cem.find("turn 1"), ".ics").decode()
    referee.turn((cem, "stand"))
    assert ann.find("turn 2")["subject"] == "[pbem m1] Powers, game 1, turn 2 (retreats)"


def test_players_are_written_to_by_what_they_play(referee: Referee) -> None:
    ann, bob, cem = retreating(referee)
    referee.send(ann, "press m1 to power-5 bob\nSorry again.\nend\n")
    assert "Sent on to bob (Power-1) and cem (Power-5), and to nobody else." in " ".join(ann.text.split())
    assert "ann (Power-3) writes to you, bob (Power-1),\nand nobody else" in cem.text
    assert "Sorry again." in cem.text
    assert "\npress m1 to ann bob\n" in cem.text
    assert "ann (Power-3) writes to you" in cem.last["subject"]
    referee.send(cem, "press m1 to p3\nNever mind.\nend\n")
    assert "Never mind." in ann.text
    assert not any("Never mind." in body(letter) for letter in bob.letters)
    referee.send(ann, "press m1 to p4\nAnybody?\nend\n")
    assert "no other player of the match; there are bob (Power-1), cem (Power-5)" in " ".join(ann.text.split())
    referee.send(ann, "draw m1 offer for p5\n")
    assert "there are ann (Power-3), bob (Power-1), cem (Power-5)" in " ".join(ann.text.split())


def test_words_that_could_be_orders_go_to_the_others_once_it_is_said(referee: Referee) -> None:
    """A game that finds one fault in a whole text calls any prose nearly right."""
    ann, bob, cem = with_a_phone(referee)
    answer(referee, bob, "Sleep well, all of you!\n", letter=bob.find("ann (Power-3) writes"))
    assert "If it is a message to the other players, write `press m1` in a line above" in " ".join(bob.text.split())
    assert not any("bob (Power-1) writes" in letter["subject"] for letter in cem.letters)
    answer(referee, bob, "press m1\nSleep well, all of you!\nend\n")
    for reader in (ann, cem):
        assert "Sleep well, all of you!" in body(reader.find("bob (Power-1) writes"))
    answer(referee, bob, "march 7 north\n", letter=bob.find("begins"))
    assert "a message" not in bob.text
    answer(referee, bob, "press to ann\nSleep well!\nendpress\n", letter=bob.find("begins"))
    assert "or `press m1 to NAME`, and `end` in one below" in " ".join(bob.text.split())


def test_words_joined_by_a_dash_could_be_orders(referee: Referee) -> None:
    _, bob, cem = with_a_phone(referee)
    answer(referee, bob, "march-north\n", letter=bob.find("ann (Power-3) writes"))
    assert not any("bob (Power-1) writes" in letter["subject"] for letter in cem.letters)


@pytest.mark.parametrize(
    ("words", "passed"),
    [("To p5: bob is weak, is he not?", False), ("Sleep well, all of you!", True)],
)
def test_plain_words_for_one_power_are_not_passed_on_to_all(referee: Referee, words: str, *, passed: bool) -> None:
    ann, bob, cem = with_a_phone(referee)
    answer(referee, bob, "march 7\n", letter=bob.find("begins"))
    referee.turn((ann, "march 5"), (cem, "hold"))
    answer(referee, bob, f"{words}\n", letter=bob.find("ann (Power-3) writes"))
    assert any("bob (Power-1) writes" in letter["subject"] for letter in cem.letters) == passed


def test_a_word_that_is_one_player_s_name_and_another_s_power_is_for_none(referee: Referee) -> None:
    people = referee.table("powers", AGREED, {"ann": "", "p5": "", "cem": ""})
    referee.send(people[0], "press m1 to p5\nWho are you?\nend\n")
    assert "no other player of the match" in people[0].text


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


def test_who_resigns_last_is_not_told_that_the_others_play_on(referee: Referee) -> None:
    """The turn waited for Bob alone, and was the last one: the next game, which is due from him, has begun."""
    options = AGREED.replace("rounds: 3", "rounds: 1\nkind: scored\ngames: 2")
    ann, bob, cem = referee.table("powers", options, SEATS)
    referee.turn((ann, "hold"), (cem, "hold"))
    referee.send(bob, "resign m1 game 1\n")
    assert (referee.match().game, referee.match().asked(2)) == (2, True)
    assert "You have resigned game 1 of match m1." in bob.text
    assert "play on" not in bob.text


def test_who_claims_last_is_not_told_to_play_on(referee: Referee) -> None:
    options = AGREED.replace("rounds: 3", "rounds: 1").replace("forfeit", "wait")
    ann, _, cem = referee.table("powers", options, SEATS)
    referee.turn((ann, "hold"), (cem, "hold"))
    referee.wait(8 * DAY)
    referee.send(ann, "claim m1\n")
    assert referee.match().phase == "closed"
    assert "Your claim is granted: the match ends." in ann.text


def early(referee: Referee, person: Mailbox, orders: str) -> bytes:
    """Default orders; their receipt."""
    referee.send(person, person.filled("orders", orders).replace("turn 1", "default"))
    return attachment(person.last, ".receipt.txt")


def ended_by(referee: Referee, *people: Mailbox) -> bytes:
    """The bundle, once these have resigned."""
    for person in people:
        referee.send(person, "resign m1 match\n")
    return referee.desk.archive.bundle(*referee.desk.archive.known(1))


def test_default_orders_that_are_illegal_accuse_nobody(referee: Referee) -> None:
    """The trace of the turn shows that the rules refused them, though only Ann was missing."""
    ann, bob, cem = referee.table("powers", AGREED.replace("forfeit", "default"), SEATS)
    receipt = early(referee, ann, "draw north")
    referee.turn((bob, "hold"), (cem, "hold"))
    referee.wait(8 * DAY)
    assert "they are not legal" in body(ann.find("a deadline was missed"))
    referee.turn((ann, "hold"))
    found = ended_by(referee, bob, cem)
    assert accused(referee) == []
    assert end(found, receipt) == "refused by the rules"


def test_default_orders_wait_for_one_who_leaves_meanwhile(referee: Referee) -> None:
    """The turn was waiting for Cem, too, whom its entry does not name: so Ann's seat had time to change hands."""
    ann, bob, cem = referee.table("powers", AGREED.replace("forfeit", "default"), SEATS)
    dan = referee.registered("dan")
    receipt = early(referee, ann, "hold")
    referee.turn((bob, "hold"))
    referee.wait(8 * DAY)
    referee.send(bob, "substitute m1 dan for ann\n")
    referee.send(dan, form_in(dan.text, "substitute"))
    referee.turn((dan, "hold"))
    referee.send(cem, "resign m1 match\n")
    assert referee.match().turn == 2
    found = ended_by(referee, bob)
    assert accused(referee) == []
    assert end(found, receipt) == "left"


def test_illegal_default_orders_accuse_nobody_when_their_player_is_gone(referee: Referee) -> None:
    """Though the turn had waited for Ann alone, until her seat was handed over."""
    ann, bob, cem = referee.table("powers", AGREED.replace("forfeit", "default"), SEATS)
    dan = referee.registered("dan")
    receipt = early(referee, ann, "draw north")
    referee.turn((bob, "hold"), (cem, "hold"))
    referee.wait(8 * DAY)
    for person in (bob, cem):
        referee.send(person, "substitute m1 dan for ann\n")
    referee.send(dan, form_in(dan.text, "substitute"))
    referee.turn((dan, "hold"))
    assert referee.match().turn == 2
    found = ended_by(referee, bob, cem)
    assert accused(referee) == []
    assert end(found, receipt) == "refused by the rules"
