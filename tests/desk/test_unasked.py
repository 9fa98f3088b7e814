"""Letters that nobody asked for: how many strangers can have the server write to a player, and `block`."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest
from in_a_box.referee import Mailbox, Referee, form_in, new, placed
from in_a_box.small_games import DESTROYERS, SMALL
from judges.golden import reads_like

DAY = timedelta(days=1)


@pytest.fixture
def victim(referee: Referee) -> Mailbox:
    return referee.registered("victim")


def said(referee: Referee, person: Mailbox, text: str) -> str:
    """A command of one line, as a signed form; the answer."""
    referee.send(person, f"{text}\n{placed(person)}end\n")
    return " ".join(person.text.split())


class TestFlood:
    def test_five_accounts_that_propose_and_withdraw(self, referee: Referee, victim: Mailbox) -> None:
        """It was 300 letters in a day."""
        people = [referee.registered(f"mal{number}") for number in range(5)]
        before, match = len(victim.letters), 0
        for round_ in range(12):
            for person in people:
                match += 1
                referee.send(person, new(person, "spaceships", "victim", options=f"pace: {round_ + 1}d"))
                said(referee, person, f"withdraw m{match}")
        referee.wait(DAY)
        assert len(victim.letters) - before == 3
        referee.wait(DAY)
        assert len(victim.letters) - before == 3, "what was withdrawn before it was read is not even named"

    def test_what_comes_beyond_three_waits_for_one_letter_a_day(self, referee: Referee, victim: Mailbox) -> None:
        people = [referee.registered(f"mal{number}") for number in range(5)]
        before = len(victim.letters)
        for person in people:
            for game in ("spaceships", "shoot-em-up"):
                referee.send(person, new(person, game, "victim"))
                assert "proposed" in person.text.lower()
        assert len(victim.letters) - before == 3
        said(referee, people[4], "withdraw m9")
        referee.wait(DAY)
        assert len(victim.letters) - before == 4
        reads_like(victim.last, "unasked/matches-for-you")
        assert len(victim.last.as_bytes()) < 4096
        referee.wait(DAY)
        assert len(victim.letters) - before == 4
        referee.send(victim, "status m10\n", sign=False)
        referee.send(victim, form_in(victim.text, "accept", lines=1))
        assert "the match begins" in victim.text

    def test_players_who_have_played_together_are_not_counted(self, referee: Referee) -> None:
        ann, bob = referee.begun(SMALL, DESTROYERS)
        before = len(bob.letters)
        for number in range(6):
            referee.send(ann, new(ann, "spaceships", "bob", options=f"pace: {number + 1}d"))
        assert len(bob.letters) - before == 6

    def test_messages_of_strangers_wait_until_the_match_is_accepted(self, referee: Referee, victim: Mailbox) -> None:
        mallory = referee.registered("mallory")
        referee.send(mallory, new(mallory, "spaceships", "victim"))
        before = len(victim.letters)
        press = f"press m1\n{placed(mallory)}Buy pills.\nend\n"
        referee.send(mallory, press)
        assert "once another player has accepted" in " ".join(mallory.text.split())
        assert len(victim.letters) == before
        referee.send(victim, f"press m1\n{placed(victim)}A slower pace?\nend\n")
        assert "A slower pace?" in mallory.text

    def test_offers_of_a_seat_are_counted(self, referee: Referee, victim: Mailbox) -> None:
        ann, bob = referee.begun(SMALL, DESTROYERS)
        before = len(victim.letters)
        for number in range(6):
            for person in (bob, ann):
                referee.send(person, f"substitute m1 victim for bob # {number}\n")
            referee.send(ann, f"substitute m1 none for bob # {number}\n")
        for person in (bob, ann):
            referee.send(person, "substitute m1 victim for bob # at last\n")
        assert len(victim.letters) - before == 3
        referee.wait(DAY)
        assert len(victim.letters) - before == 4
        assert "ann and others offer you a seat in Spaceships" in victim.text
        assert "status m1" not in victim.text
        (take,) = re.findall("`(substitute m1 .*)`", victim.text)
        referee.send(victim, f"{take}\n")
        referee.send(victim, form_in(victim.text, "substitute"))
        assert victim.find("your seat")

    def test_what_waits_for_a_digest_and_is_withdrawn_is_not_sent(self, referee: Referee, victim: Mailbox) -> None:
        said(referee, victim, "set mail digest")
        ann = referee.registered("ann")
        before = len(victim.letters)
        referee.send(ann, new(ann, "spaceships", "victim"))
        said(referee, ann, "withdraw m1")
        referee.wait(2 * DAY)
        assert len(victim.letters) == before


class TestBlock:
    def test_nothing_comes_from_who_is_blocked(self, referee: Referee, victim: Mailbox) -> None:
        mallory = referee.registered("mallory")
        said(referee, victim, "block mallory")
        reads_like(victim.last, "unasked/blocked")
        before = len(victim.letters)
        told = []
        for name in ("victim", "nemo", "victim@mail.example"):
            referee.send(mallory, new(mallory, "spaceships", name))
            told.append(mallory.text.replace(name, "X"))
        assert "wants no mail" in told[0]
        assert "wants no mail" in told[1]
        assert "No invitation was sent" in told[2]
        assert len(victim.letters) == before
        assert "You block nobody" in said(referee, victim, "unblock mallory")
        referee.send(mallory, new(mallory, "spaceships", "victim"))
        assert "mallory proposes" in victim.text
        assert "you do not block mallory" in said(referee, victim, "unblock mallory # again")

    def test_a_blocked_player_cannot_join_or_write(self, referee: Referee) -> None:
        ann, bob = referee.begun(SMALL, DESTROYERS)
        referee.send(ann, f"press m1\n{placed(ann)}Hello.\nend\n")
        answer, before = ann.text, len(bob.letters)
        assert "Hello." in bob.text
        said(referee, bob, "block ann")
        referee.send(bob, new(bob, "spaceships"))
        before = len(bob.letters)
        referee.send(ann, f"press m1\n{placed(ann)}Again.\nend\n")
        assert ann.text.replace("Again", "Hello") == answer, "nothing tells that it was not passed on"
        referee.send(ann, "list open\n", sign=False)
        assert "m2" not in ann.text
        assert "not on the open list" in said(referee, ann, "join m2")
        assert len(bob.letters) == before
        carl = referee.registered("carl")
        referee.send(carl, "list open\n", sign=False)
        assert "m2" in carl.text

    def test_nobody_learns_by_it_who_has_an_account(self, referee: Referee, victim: Mailbox) -> None:
        referee.registered("carl")
        told = [said(referee, victim, f"block {name}").replace(name, "X") for name in ("carl", "nemo")]
        hashes = re.compile("BEGIN.*END")
        assert hashes.sub("", told[0]).split("You block")[0] == hashes.sub("", told[1]).split("You block")[0]
        assert "this is you" in said(referee, victim, "block victim")
