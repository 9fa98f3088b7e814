"""Letters in a player's name by somebody else: they bring letters to the player, and have no other effect."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import pytest
from in_a_box.keyless import reply_to
from in_a_box.referee import SERVER, Mailbox, Referee, another, body, form_in, placed, sent_from
from in_a_box.small_games import FLEETS, SMALL

from pbem.identity import ssh

if TYPE_CHECKING:
    from email.message import EmailMessage


DAY = timedelta(days=1)


def line(name: object) -> str:
    return ssh.public(another(str(name)))


def signed(name: object, text: str) -> str:
    return text + ssh.sign(another(str(name)), text.encode(), f"pbem@{SERVER}")


def forge(referee: Referee, person: Mailbox, text: str) -> None:
    """A letter in a person's name, by somebody at the same provider who cannot read it."""
    referee.deliver(referee.raw(person, text, headers=sent_from(person.address)), person.address)


def answer(referee: Referee, person: Mailbox, text: str, to: EmailMessage | None = None) -> None:
    """A person's answer to a letter, the latest one if none is named."""
    letter = person.last if to is None else to
    referee.send(person, text, sign=False, to=reply_to(letter))


def silent(referee: Referee, person: Mailbox) -> bool:
    return referee.desk.people.opted_out(person.address)


class TestStop:
    def test_a_signed_one_counts_at_once_and_once(self, referee: Referee) -> None:
        ann = referee.registered("ann")
        letter = referee.raw(ann, referee.signed(ann, f"stop\n{placed(ann)}"))
        referee.deliver(letter, ann.address)
        assert "You will get no more mail from here" in ann.text
        assert silent(referee, ann)
        referee.send(ann, "new spaceships\nend\n")
        assert not silent(referee, ann)
        # The same letter, by somebody who has seen it: not proved, so the player is asked.
        referee.deliver(letter.replace(b"Subject: orders", b"Subject: again"), "eve@elsewhere.example")
        assert not silent(referee, ann)
        assert "If it was you, answer this letter" in " ".join(ann.text.split())

    @pytest.mark.parametrize("who", ["with a key", "without one", "stranger"])
    def test_case_41_an_unsigned_one_is_asked_about_once_a_week(self, referee: Referee, who: str) -> None:
        ann = referee.registered("ann") if who == "with a key" else referee.person("ann")
        if who == "without one":
            referee.desk.players.add("ann", ann.address, None, "2026-03-01T00:00:00Z")
        before = len(ann.letters)
        for _ in range(3):
            forge(referee, ann, "stop\n")
        assert len(ann.letters) == before + 1
        asked = ann.last
        assert str(asked["Reply-To"]).startswith("pbem+stop.")
        assert not silent(referee, ann)
        # Only the very address that was asked, and only with the word.
        answer(referee, referee.person("eve"), "stop\n", asked)
        assert not silent(referee, referee.people["eve@mail.example"])
        answer(referee, ann, "help\n", asked)
        assert not silent(referee, ann)
        answer(referee, ann, "Stop\n\nOn Sunday the referee wrote:\n> stop\n", asked)
        assert silent(referee, ann)
        assert "You will get no more mail from here" in ann.text
        before = len(ann.letters)
        forge(referee, ann, "stop\n")
        assert len(ann.letters) == before, "there is nothing left to ask"
        # The address was good for one letter.
        referee.desk.people.opt_in([ann.address])
        answer(referee, ann, "stop\n# again\n", asked)
        assert not silent(referee, ann)

    def test_a_key_that_waits_silences_nobody(self, referee: Referee) -> None:
        """Eve has a key of hers wait in the name of a stranger, and of a player, and signs with it."""
        cat, ann = referee.person("cat"), referee.registered("ann")
        forge(referee, cat, f"register cat\n{line('eve')}\n")
        forge(referee, ann, f"recover\n{line('eve')}\n")
        for person in (cat, ann):
            forge(referee, person, signed("eve", "stop\n"))
            assert not silent(referee, person)


class TestRegistration:
    def test_case_41_forged_ones_do_not_keep_the_true_one_out(self, referee: Referee) -> None:
        ann = referee.person("ann")
        for number in range(9):
            forge(referee, ann, f"register ann{number}\n{line(number)}\n")
        assert "Answer this letter with your command" in " ".join(ann.text.split())
        answer(referee, ann, f"register ann\n{ssh.public(ann.key)}\n")
        referee.send(ann, form_in(ann.text, "confirm"))
        assert "You are registered as ann" in ann.text

    def test_forged_registrations_do_not_fill_the_store(self, referee: Referee) -> None:
        ann = referee.person("ann")
        for day in range(8):
            for number in range(7):
                forge(referee, ann, f"register ann\n{line((day, number))}\n")
            referee.now += DAY
        assert len(referee.desk.players.challenges(ann.address)) <= 5

    def test_forged_registrations_do_not_replace_the_true_one(self, referee: Referee) -> None:
        """Neither later, nor with the same key and another name: a public key is public."""
        ann = referee.person("ann")
        referee.send(ann, f"register ann\n{ssh.public(ann.key)}\n", sign=False)
        form = form_in(ann.text, "confirm")
        for day in range(3):
            referee.now += DAY
            forge(referee, ann, f"register ann\n{line(day)}\n")
            forge(referee, ann, f"register zoe\n{ssh.public(ann.key)}\n")
            forge(referee, ann, f"register ann\n{ssh.public(ann.key)}\n")
        referee.send(ann, form)
        assert "You are registered as ann" in ann.text

    def test_forged_registrations_without_a_key_do_not_keep_the_true_one_out(self, referee: Referee) -> None:
        ann = referee.person("ann")
        for number in range(9):
            forge(referee, ann, f"register ann{number}\n")
        assert "Answer this letter with your command" in " ".join(ann.text.split())
        answer(referee, ann, "register ann\n")
        assert "Welcome, ann" in ann.text
        assert str(ann.last["Reply-To"]).startswith("pbem+register.")

    def test_a_name_is_nobodys_before_it_is_confirmed(self, referee: Referee) -> None:
        eve = referee.person("eve")
        referee.send(eve, f"register ann\n{line('eve')}\n", sign=False)
        referee.registered("ann")


class TestQuotas:
    def test_case_34_whose_unsigned_letters_are_used_up_is_read_all_the_same(self, referee: Referee) -> None:
        ann, _ = referee.begun(SMALL, FLEETS)
        for _ in range(60):
            forge(referee, ann, "games\n")
        assert "More than 50 unsigned letters" in ann.text
        letters = len(ann.letters)
        forge(referee, ann, "status m1\n")
        assert len(ann.letters) == letters
        for _ in range(3):
            answer(referee, ann, "status m1\n")
            assert "You have submitted no orders" in ann.text
        referee.send(ann, "status m1\n")
        assert "You have submitted no orders" in ann.text

    def test_a_key_that_waits_does_not_get_round_it(self, referee: Referee) -> None:
        """Nor does a signature by a key that Eve had registered in the name of somebody else, to flood them."""
        cat, ann = referee.person("cat"), referee.registered("ann")
        forge(referee, cat, f"register cat\n{line('eve')}\n")
        forge(referee, ann, f"recover\n{line('eve')}\n")
        for person in (cat, ann):
            letters = len(person.letters)
            for number in range(70):
                forge(referee, person, signed("eve", f"help # {number}\n"))
            assert len(person.letters) <= letters + 51

    def test_notices_of_bad_signatures(self, referee: Referee) -> None:
        ann, _ = referee.begun(SMALL, FLEETS)
        for number in range(15):
            forge(referee, ann, signed("eve", f"help # {number}\n"))
        assert "You get no more such letters today" in ann.text
        letters = len(ann.letters)
        answer(referee, ann, signed("new laptop", "status m1\n"))
        assert len(ann.letters) == letters + 1
        assert "A letter came in your name, and nothing was done with it" in ann.text
        answer(referee, ann, signed("new laptop", "status m1 # again\n"))
        assert len(ann.letters) == letters + 2


class TestKeys:
    def code(self, ann: Mailbox) -> str:
        return next(word for letter in ann.letters for word in body(letter).split() if word.count("-") == 7)

    def test_the_right_code_works_whatever_was_tried(self, referee: Referee) -> None:
        ann, _ = referee.begun(SMALL, FLEETS)
        code = self.code(ann)
        for number in range(70):
            forge(referee, ann, f"recover {number:032x}\n{line('eve')}\n")
        referee.send(ann, f"recover {code}\n{line('new')}\n", sign=False)
        referee.send(ann, signed("new", form_in(ann.text, "confirm")), sign=False)
        assert "has replaced all your others" in ann.text

    def test_case_41_forged_recoveries_do_not_keep_the_true_one_out(self, referee: Referee) -> None:
        ann, _ = referee.begun(SMALL, FLEETS)
        referee.send(ann, f"recover\n{line('before')}\n", sign=False)
        before = form_in(body(ann.find("says that your keys are lost")), "confirm")
        for number in range(9):
            forge(referee, ann, f"recover\n{line(number)}\n")
        assert "Answer this letter with your command" in " ".join(ann.text.split())
        answer(referee, ann, f"recover\n{line('after')}\n")
        after = form_in(body(ann.find("says that your keys are lost")), "confirm")
        referee.send(ann, signed("after", after), sign=False)
        assert "replaces all your others on" in " ".join(ann.text.split())
        # Those that wait side by side stand: the first one can be confirmed as well.
        referee.send(ann, signed("before", before), sign=False)
        assert "replaces all your others on" in " ".join(ann.text.split())

    def test_nobody_says_first_what_the_player_is_going_to_say(self, referee: Referee) -> None:
        """Signed with a key that merely waits, a text is not the player's: it does not count as said before."""
        ann, bob = referee.begun(SMALL, FLEETS)
        forge(referee, ann, f"recover\n{line('eve')}\n")
        text = "press m1\nWell played.\nend\n"
        forge(referee, ann, signed("eve", text))
        assert "is not yours yet" in " ".join(ann.text.split())
        referee.send(ann, text)
        assert "Well played." in bob.text
