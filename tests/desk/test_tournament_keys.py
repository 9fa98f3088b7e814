"""Keys in tournaments: those that entries name, changes of keys while one is played, and players without keys."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest
from desk.test_keyless import Phones
from desk.test_tournaments import club
from in_a_box.key_letters import code_of
from in_a_box.keyless import HOME, answer, registered
from in_a_box.mailing_club import CLOSES, RULED, SMALL, Club, planned
from in_a_box.referee import Referee, another, body, form_in, placed

from pbem.desk.seats import SeatContext
from pbem.identity import ssh
from pbem.match import progress

__all__ = ["club"]


def add_key(club: Club, name: str) -> None:
    """A player adds a key, and signs with it from now on."""
    person, fresh = club.people[name], another(name)
    club.referee.send(person, f"key add\n{ssh.public(fresh)} {name}@new\n")
    person.key = fresh
    club.referee.send(person, form_in(person.text, "confirm"))


@pytest.mark.parametrize(
    ("options", "name", "words", "told"),
    [
        ("", "carl", "leave t1", "first send `enter t1"),
        ("format: ladder", "carl", "challenge t1 bob", "first send `enter t1"),
    ],
)
def test_a_key_that_no_entry_names_does_not_count(club: Club, options: str, name: str, words: str, told: str) -> None:
    """A verifier knows only the keys in the tournament's entries."""
    club.announce("ann", options)
    club.enter("ann", "bob", "carl")
    add_key(club, name)
    assert told in " ".join(club.say(name, words).split())
    club.enter(name)
    assert "Refused" not in club.say(name, words)
    club.proof()


def test_a_match_begins_with_the_keys_with_which_it_was_paired(club: Club) -> None:
    """Its players enter again after that, before the clock has begun it."""
    club.announce("ann", "format: ladder")
    club.enter("carl", "bob", "ann")
    referee, old = club.referee, club.people["carl"].key
    add_key(club, "carl")
    referee.send(club.people["carl"], f"key revoke {ssh.parse(ssh.public(old)).fingerprint}\n")
    for name, words in (("bob", "challenge t1 carl"), ("carl", f"enter t1 {club.t.rules_hash}")):
        person = club.people[name]
        referee.put(person, f"{words}\n{placed(person)}")
    referee.handle_waiting()
    assert [entry.type for entry in referee.desk.director.archive.entries(1)[-2:]] == ["paired", "entered"]
    referee.work()
    club.win(club.awaited[0], "bob")  # which carl signs with the new key
    assert club.t.ladder == ("bob", "carl", "ann")
    club.proof(club.bundles())


def test_a_recovery_takes_the_place_of_earlier_changes_of_keys(club: Club) -> None:
    club.announce("ann", "format: ladder")
    club.enter("carl", "ann", "bob")
    add_key(club, "carl")
    person, rows = club.people["carl"], club.referee.desk.director.archive.rows
    code, person.key = code_of(person), another("carl2")
    club.referee.send(person, f"recover {code}\n{ssh.public(person.key)}\n", sign=False)
    club.referee.send(person, form_in(person.text, "confirm"))
    assert [one["body"]["change"] for one in rows.changed_keys(1, "carl")] == ["replaced"]
    club.say("ann", "challenge t1 carl")
    club.win(club.awaited[0], "ann")
    assert club.t.ladder == ("ann", "carl", "bob")
    assert not [one for one in club.proof(club.bundles()) if not one.startswith("ok")]


def test_an_organiser_with_another_key_still_rules(club: Club) -> None:
    """A verifier takes the new key by the server's word, as everything in a ruling is somebody's word."""
    club.announce("ann")
    club.enter("bob", "carl")
    add_key(club, "ann")
    club.people["dave"] = club.referee.registered("dave")
    club.enter("dave")
    club.start()
    for pairing in club.awaited[:2]:
        assert RULED in club.say("ann", f"rule t1 annul {pairing.match}\nreason: by error\nend")
    words = [line for line in club.proof() if line.startswith("WORD")]
    assert ["by other keys, by the server's word" in line for line in words] == [True, False]


def test_two_without_keys_enter_in_the_same_words_and_one_again(club: Club) -> None:
    referee = club.referee
    club.announce("ann", "keys: optional")

    def reply(name: str, text: str) -> str:
        answer(referee, club.people[name], f"{text}\n")
        return club.people[name].text

    for name in ("dave", "eve"):
        club.people[name] = registered(referee, name)
        assert "You are in." in reply(name, f"enter t1 {club.t.rules_hash}")
    assert "these words were obeyed before" in reply("dave", f"enter t1 {club.t.rules_hash}\nleave t1\n")
    assert "You are no longer entered" in reply("dave", "leave t1")
    assert "You are in." in reply("dave", f"enter t1 {club.t.rules_hash}")
    club.enter("ann")
    club.start()
    assert len(club.awaited) == 3
    club.proof(club.bundles())


@pytest.mark.parametrize("words", ["yes", "Yes, gladly!", "Ja gerne"])
def test_who_has_no_key_enters_by_new_letters_and_consent_to_terms_asks_for_the_line(
    referee: Referee, words: str
) -> None:
    phones = Phones(referee)
    anna, bob = phones.registered("anna"), phones.registered("bob")
    lines = f"tournament new spaceships\ncloses: {CLOSES}\n{SMALL}\nkeys: optional\nend"
    assert "t1" in phones.reply(anna, lines)
    raw = referee.raw(bob, "enter t1\n")  # no answer, as the page and the terminal say
    referee.deliver(HOME.sign(raw, referee.now), bob.address)
    assert "To enter, and so to accept" in " ".join(body(bob.last).split())
    told = phones.reply(bob, words)
    assert "Not understood" not in told
    (line,) = re.findall(r"(?m)^enter t1 [0-9a-f]{64}$", body(bob.last))
    assert "Entered: bob" not in told
    assert "You are in." in phones.reply(bob, line)


def test_a_match_closes_no_earlier_than_the_entries_of_its_tournament(club: Club) -> None:
    """The clock stands still while an older letter waits, and the tournament goes on by letters."""
    referee = planned(club)
    referee.work()
    add_key(club, "carl")
    seats = referee.desk.due_tasks.seats
    while True:  # until just before the clock closes m1
        at = SeatContext(seats, *seats.archive.known(1))
        assert at.match.wakes is not None
        step = at.step(closes := at.match.wakes)
        progress.tick(step)
        if step.match.phase == "closed":
            break
        referee.wait(closes - referee.now)
    referee.now = closes + timedelta(seconds=1)
    referee.alive()
    person = club.people["carl"]
    referee.put(person, f"enter t1 {club.t.rules_hash}\n{placed(person)}")
    referee.handle_waiting()
    assert [entry.type for entry in referee.desk.director.archive.entries(1)[-1:]] == ["entered"]
    with referee.database.transaction():
        referee.desk.due_tasks._tick_match(1, closes)
    assert referee.match(1).phase == "closed"
    club.proof(club.bundles())


@pytest.mark.parametrize("keys", ["demanded", "optional"])
def test_a_player_without_a_key_is_shown_what_would_count(referee: Referee, keys: str) -> None:
    ann, bob = referee.registered("ann"), registered(referee, "bob")
    options = f"format: round robin\ncloses: 2026-03-20\npace: 3d\nkeys: {keys}\n"
    referee.send(ann, f"tournament new spaceships\n{placed(ann)}rev 1\n{options}end\n")
    answer(referee, bob, "tournament t1\n")
    told = " ".join(bob.text.split())
    assert ("and so to accept all your matches in it, sign these lines" in told) is (keys == "demanded")
    assert ("and so to accept all your matches in it, answer this letter" in told) is (keys == "optional")
