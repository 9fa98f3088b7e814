"""A seat that changes hands: handed over, or taken from who is gone; what each gets to read, and the proof."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import TYPE_CHECKING

from attackers.forgers import both, fails_for_both
from in_a_box.inquiries import proved, types
from in_a_box.referee import Mailbox, Referee, attachment, body, form_in
from in_a_box.small_games import DESTROYERS, SHIPS
from judges.golden import reads_like
from msgspec.structs import replace
from world.mutations import signed_again

from pbem.proof import bundle

if TYPE_CHECKING:
    import pytest

    from pbem.proof.bundle import Bundle

SMALL = "fleet: cost:3"
DAY = timedelta(days=1)


def begun(referee: Referee, options: str = "") -> tuple[Mailbox, Mailbox, Mailbox]:
    """A match of Ann and Bob, after a turn; Carl is registered, too."""
    ann, bob = referee.begun(f"{SMALL}\n{options}", DESTROYERS)
    referee.turn((ann, "Gx3"), (bob, ""))
    assert "turn 1" in str(bob.find("turn 1")["Subject"])
    return ann, bob, referee.registered("carl")


def says(referee: Referee, person: Mailbox, text: str = "substitute m1 carl for bob\n") -> None:
    referee.send(person, text)


class TestHandedOver:
    def test_a_seat_is_handed_over_with_the_opponents_consent(self, referee: Referee) -> None:
        ann, bob, carl = begun(referee)
        says(referee, bob)
        assert "others have yet to agree" in bob.text
        assert len(carl.letters) == 2, "nobody is asked before all agree"
        reads_like(ann.last, "substitutes/asked-for-consent")
        referee.send(ann, form_in(ann.text, "substitute"))
        assert "carl has been asked" in ann.text
        reads_like(carl.last, "substitutes/will-you-take-the-seat")
        referee.wait(DAY)
        referee.send(carl, form_in(body(carl.find("will you")), "substitute"))
        reads_like(carl.find("your seat"), "substitutes/welcome")
        reads_like(ann.last, "substitutes/taken")
        reads_like(bob.last, "substitutes/left")
        assert attachment(carl.find("your seat"), ".opening.txt").startswith(b"pbem opening 1\n")
        referee.read_cold()
        referee.send(bob, "status m1\n", sign=False)
        assert "you have no such match" in bob.text
        for shot in ("Rv1", "Rv2", "Rv3"):
            referee.turn((ann, ""), (carl, shot))
        end = ann.find("the end")
        assert "You lost Spaceships game 1 after 4 turns." in body(end)
        found = proved(referee, ann)
        assert "seat 2 wants carl in seat 2, signed" in found
        assert "seat 1 wants carl in seat 2, signed" in found
        assert any(line.startswith("carl takes seat 2, as agreed, signed; from here on") for line in found)
        referee.send(ann, "standings\n", sign=False)
        assert "bob" not in ann.text, "who leaves in good order has given nothing up"

    def test_orders_in_advance_and_by_default_are_given_up(self, referee: Referee) -> None:
        ann, bob, carl = begun(referee, "miss: default")
        referee.send(bob, bob.filled("orders", "Rv2").replace("turn 2", "turn 3"))
        referee.send(bob, bob.filled("orders", "").replace("turn 2", "default"))
        rows = "SELECT count(*) FROM submissions WHERE seat = 2 AND turn NOT IN (0, 1)"
        assert referee.database.scalar(rows) == 2
        says(referee, bob)
        says(referee, ann)
        referee.send(carl, form_in(carl.text, "substitute"))
        assert referee.database.scalar(rows) == 0
        referee.read_cold()
        referee.turn((ann, ""), (carl, ""))
        referee.send(carl, "status m1\n", sign=False)
        assert "You have submitted no orders" in carl.text
        proved(referee, ann)

    def test_a_nomination_is_taken_back_or_refused_by_none(self, referee: Referee) -> None:
        ann, bob, carl = begun(referee)
        says(referee, bob)
        says(referee, ann, "substitute m1 none for bob\n")
        reads_like(bob.last, "substitutes/refused-by-the-opponent")
        assert len(carl.letters) == 2
        for person in (bob, ann):
            referee.send(person, "substitute m1 carl for bob # anew\n")
        referee.send(carl, "substitute m1 none for bob\n")
        assert "You do not take bob's seat" in carl.text
        reads_like(ann.last, "substitutes/declined")
        assert "carl does not want bob's seat" in bob.text
        assert types(referee)[-1] == "substitute"
        proved(referee, ann)


class TestGone:
    def test_who_missed_the_time(self, referee: Referee) -> None:
        ann, bob, carl = begun(referee, "keys: demanded")
        referee.send(ann, ann.filled("orders", "Rv1"))
        says_so = "substitute m1 carl for bob\n"
        referee.send(ann, says_so)
        assert "bob plays on" in ann.text
        referee.wait(11 * DAY)
        assert "substitute m1 NAME for bob" in body(ann.find("a deadline was missed"))
        says(referee, ann, f"{says_so}# now\n")
        assert "carl has been asked" in ann.text
        assert "It is your seat" in bob.text
        referee.send(carl, form_in(carl.text, "substitute"))
        reads_like(bob.last, "substitutes/replaced")
        referee.read_cold()
        referee.send(carl, carl.filled("orders", "final\nRv1"))
        referee.wait(timedelta(minutes=10))
        assert types(referee)[-1] == "turn"
        referee.send(ann, "resign m1 match\n")
        assert "carl" in proved(referee, ann)[-1]
        referee.send(ann, "standings\n", sign=False)
        row = next(line for line in ann.text.splitlines() if line.endswith("bob"))
        assert row.split()[-2:] == ["1", "bob"], "it counts as abandoned for who left silently"

    def test_who_comes_back_keeps_the_seat(self, referee: Referee) -> None:
        ann, bob, carl = begun(referee)
        referee.send(ann, ann.filled("orders", "Rv1"))
        referee.wait(11 * DAY)
        says(referee, ann)
        form = form_in(carl.text, "substitute")
        referee.send(bob, bob.filled("orders", "Rv1"))
        referee.send(carl, form)
        assert "the others no longer agree" in carl.text
        assert types(referee)[-1] == "substitute"
        referee.wait(DAY)
        assert types(referee)[-1] == "turn"
        proved(referee, ann)


class TestRefused:
    def test_who_is_unknown_and_who_wants_no_mail_read_alike(self, referee: Referee) -> None:
        ann, _, _ = begun(referee)
        dora = referee.registered("dora")
        referee.send(dora, "stop\nserver play.example\nplayer dora\nend\n")
        told = []
        for name in ("dora", "nemo"):
            referee.send(ann, f"substitute m1 {name} for ann\n")
            told.append(ann.text.replace(name, "X"))
        assert "You will get no more mail" in dora.text
        told = [re.sub(r"(?m)^(?:  ssh|Date|On|  [A-Za-z0-9+/=]{20,}).*\n", "", text) for text in told]
        assert told[0] == told[1]
        assert "wants no mail" in told[0]

    def test_somebody_who_was_not_asked(self, referee: Referee) -> None:
        ann, bob, carl = begun(referee)
        dora = referee.registered("dora")
        says(referee, bob)
        referee.send(carl, "substitute m1 carl for bob\n")
        assert "you have no such match" in carl.text
        says(referee, ann)
        referee.send(dora, form_in(carl.text, "substitute").replace("carl", "dora"))
        assert "you have no such match" in dora.text
        form = form_in(carl.text, "substitute")
        for old, new, said in (
            ("for bob", "for ann", "you were asked to take bob's seat"),
            ("for bob\n", "for bob\n00000000 ", "the hash of the agreed rules is"),
            ("player carl", "player dora", "wrong `player`; expected carl"),
        ):
            referee.send(carl, form.replace(old, new))
            assert said in carl.text
        referee.send(carl, form, sign=False)
        assert "must be signed" in carl.text
        assert "substituted" not in types(referee)


class TestByMajority:
    """A table of four, whose terms let most of them decide."""

    OPTIONS = "board: 9x9\nsettle: 0\nsubstitutes: majority"

    def begun(self, referee: Referee, options: str = OPTIONS) -> list[Mailbox]:
        people = [*referee.table("shoot-em-up", options, SHIPS), referee.registered("eve")]
        says(referee, people[3], "substitute m1 eve for dan\n")
        return people

    def agree(self, referee: Referee, *people: Mailbox) -> None:
        for person in people:
            says(referee, person, "substitute m1 eve for dan\n")

    def test_most_of_the_others_agree(self, referee: Referee) -> None:
        ann, bob, cem, dan, eve = self.begun(referee)
        assert "Once most of you agree, the newcomer is asked" in " ".join(body(ann.last).split())
        self.agree(referee, ann)
        assert len(eve.letters) == 2, "one of three is no majority"
        self.agree(referee, bob)
        assert "will you take dan's seat?" in str(eve.last["Subject"])
        referee.read_cold()
        referee.send(eve, form_in(eve.text, "substitute"))
        assert referee.match().name(4) == "eve"
        assert "has taken your seat" in str(dan.last["Subject"])
        assert both(proof(referee, cem)) is True

    def test_who_has_agreed_is_not_asked_again(self, referee: Referee) -> None:
        ann, bob, cem, dan, _ = people = self.begun(referee)
        assert self.asked(*people) == [1, 1, 1, 0, 0]
        self.agree(referee, ann)
        assert self.asked(*people) == [1, 2, 2, 0, 0]
        self.agree(referee, bob)
        assert self.asked(*people) == [1, 2, 3, 0, 0]
        says(referee, dan, "substitute m1 none for dan\n")
        assert self.asked(ann, bob, cem) == [2, 3, 4], "all hear that a nomination is withdrawn"

    def asked(self, *people: Mailbox) -> list[int]:
        return [sum("who takes a seat?" in str(one["Subject"]) for one in person.letters) for person in people]

    def test_who_left_the_game_has_no_say(self, referee: Referee) -> None:
        ann, bob, cem, dan = referee.table("shoot-em-up", self.OPTIONS, SHIPS)
        eve, _ = referee.registered("eve"), referee.registered("fay")
        for person in (cem, dan):
            says(referee, person, "substitute m1 eve for cem\n")
        referee.send(dan, "resign m1 game 1\n")
        says(referee, ann, "substitute m1 eve for cem\n")
        assert len(eve.letters) == 2, "one of two is no majority"
        for name in ("none", "fay"):
            says(referee, dan, f"substitute m1 {name} for cem\n")
            assert "you are out of this game" in dan.text
        says(referee, bob, "substitute m1 eve for cem\n")
        referee.send(eve, form_in(eve.text, "substitute"))
        found = proof(referee, ann)
        assert both(found) is True
        at = max(number for number, entry in enumerate(found.entries) if entry.type == "substitute")
        papers = {
            re.sub(r"-(9|1[0-9])-", lambda number: f"-{int(number[1]) - 1}-", path): paper
            for path, paper in found.papers.items()
            if path != "letters/substitute-8-seat-2.eml"
        }
        later = [
            replace(entry, body={**entry.body, "entries": [number - 1 for number in entry.body["entries"]]})
            if entry.type == "left"
            else entry
            for entry in found.entries[at + 1 :]
        ]
        fewer = replace(found, entries=(*found.entries[:at], *later), papers=papers)
        fails_for_both(signed_again(fewer), "the others no longer agree to it")

    def test_all_must_agree_if_the_terms_say_nothing(self, referee: Referee) -> None:
        ann, bob, cem, _, eve = self.begun(referee, "board: 9x9\nsettle: 0")
        self.agree(referee, ann, bob)
        assert len(eve.letters) == 2
        self.agree(referee, cem)
        referee.send(eve, form_in(eve.text, "substitute"))
        found = proof(referee, cem)
        assert both(found) is True
        assert "substitutes" not in found.entries[0].body["terms"]

    def test_nobody_is_replaced_against_their_will(self, referee: Referee) -> None:
        ann, bob, cem, dan, eve = self.begun(referee)
        says(referee, dan, "substitute m1 none for dan\n")
        self.agree(referee, ann, bob, cem)
        assert "dan plays on" in body(cem.last)
        assert len(eve.letters) == 2

    def test_others_may_name_another_for_who_hands_the_seat_over(self, referee: Referee) -> None:
        ann, bob, cem, dan, eve = self.begun(referee)
        fay = referee.registered("fay")
        for person in (ann, dan, bob):
            says(referee, person, "substitute m1 fay for dan\n")
        assert len(eve.letters) == 2
        referee.send(fay, form_in(fay.text, "substitute"))
        assert referee.match().name(4) == "fay"
        assert both(proof(referee, cem)) is True

    def test_nobody_decides_for_who_left_only_the_game(self, liar: Referee, monkeypatch: pytest.MonkeyPatch) -> None:
        """Cem hands over to Eve the seat that has no game left; Bob is late, so that Ann alone could name another."""
        three = {name: setup for name, setup in SHIPS.items() if name != "dan"}
        ann, _, cem = liar.table("shoot-em-up", "settle: 0\nkind: scored\ngames: 2\nmax_turns: 1", three)
        _, fay = liar.registered("eve"), liar.registered("fay")
        liar.send(cem, "resign m1 game 1\n")
        says(liar, cem, "substitute m1 eve for cem\n")
        liar.send(ann, ann.filled("orders", "final\nA: LRL\nB: LRL\nC: LRL"))
        liar.wait(11 * DAY)
        says(liar, ann, "substitute m1 fay for cem\n")
        assert "others have yet to agree" in ann.text
        assert "substitute m1 fay for cem" in cem.text
        assert len(fay.letters) == 2
        with monkeypatch.context() as lax:
            lax.setattr("pbem.match.events.substituted._consents", lambda *_: True)
            named = "substitute m1 fay for cem\n"
            accepts = form_in(cem.text, "substitute").replace(named, f"{named}{liar.match().rules_hash}\n")
            liar.send(fay, accepts.replace("player cem", "player fay"))
        assert liar.match().name(3) == "fay"
        fails_for_both(proof(liar, ann), "the others no longer agree to it")


class TestConsentOfAFormerPlayer:
    """Ann agrees that Fay takes Cem's seat, and hands over her own to Eve before Bob has agreed."""

    def begun(self, referee: Referee) -> list[Mailbox]:
        three = {name: setup for name, setup in SHIPS.items() if name != "dan"}
        people = referee.table("shoot-em-up", "settle: 0", three)
        ann, bob, cem, eve, _ = people = [*people, *map(referee.registered, ("eve", "fay"))]
        for person in (cem, ann):
            says(referee, person, "substitute m1 fay for cem\n")
        for person in (ann, bob, cem):
            says(referee, person, "substitute m1 eve for ann\n")
        referee.send(eve, form_in(body(eve.find("will you take ann's seat?")), "substitute"))
        assert referee.match().name(1) == "eve"
        says(referee, bob, "substitute m1 fay for cem\n")
        return people

    def test_the_next_player_of_the_seat_is_asked_anew(self, referee: Referee) -> None:
        *_, cem, eve, fay = self.begun(referee)
        assert len(fay.letters) == 2, "Eve has not agreed to anybody"
        referee.read_cold()
        welcome = body(eve.find("your seat"))
        assert "cem wants to hand the seat over to fay" in welcome
        referee.send(eve, form_in(welcome, "substitute"))
        assert "fay has been asked" in eve.text
        says(referee, eve, "substitute m1 fay for cem # again\n")
        assert "you have already said so" in eve.text
        referee.send(fay, form_in(fay.text, "substitute"))
        assert "fay has taken your seat" in str(cem.last["Subject"])
        assert both(proof(referee, eve)) is True

    def test_no_bundle_holds_in_which_it_counted(self, liar: Referee, monkeypatch: pytest.MonkeyPatch) -> None:
        with monkeypatch.context() as before:
            before.setattr("pbem.match.events.substituted._willing", lambda _, nomination: {*nomination.willing})
            *_, eve, fay = self.begun(liar)
            liar.send(fay, form_in(fay.text, "substitute"))
        assert liar.match().name(3) == "fay"
        fails_for_both(proof(liar, eve), "the others no longer agree to it")


def proof(referee: Referee, person: Mailbox) -> Bundle:
    """The bundle of the match, once the others have resigned it."""
    for other in referee.people.values():
        if other.name in referee.match().names and other.name != person.name:
            referee.send(other, "resign m1 match\n")
    return bundle.read(attachment(person.find("the end"), ".zip"))
