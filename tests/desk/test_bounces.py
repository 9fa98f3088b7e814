"""Letters that do not arrive: who is out of reach, who is told, and that nothing automatic is answered."""

from __future__ import annotations

from datetime import timedelta

import pytest
from in_a_box.bounces import bounce, return_path
from in_a_box.inquiries import held
from in_a_box.referee import Mailbox, Referee, body
from judges.golden import reads_like

from pbem.store.database import to_db
from pbem.store.inbox import Envelope
from pbem.store.players import Players

DAY, HOUR = timedelta(days=1), timedelta(hours=1)


def gone(referee: Referee, person: Mailbox, time: timedelta = timedelta()) -> None:
    """Time goes by, and each letter to this person bounces."""
    end = referee.now + time
    query = (
        "SELECT token FROM outbox WHERE recipient = ? AND created >= ? AND id NOT IN (SELECT outbox FROM bounces)"
        " ORDER BY id"
    )
    while True:
        while tokens := referee.database.rows(query, (person.address, to_db(referee.now - HOUR))):
            bounce(referee, f"pbem+b{tokens[0]['token']}@play.example")
        if referee.now >= end:
            return
        referee.wait(min(HOUR, end - referee.now))


def since(referee: Referee, person: Mailbox) -> str | None:
    return Players(referee.database).unreachable(person.name)


@pytest.fixture
def table(referee: Referee) -> tuple[Mailbox, Mailbox]:
    ann, bob = referee.begun()
    referee.now += HOUR
    referee.alive()
    return ann, bob


def test_a_hard_bounce_cuts_a_player_off_and_is_told_once(
    referee: Referee, operator: Mailbox, table: tuple[Mailbox, Mailbox]
) -> None:
    ann, bob = table
    letters = len(ann.letters), len(bob.letters), len(operator.letters)
    bounce(referee, return_path(referee, bob))
    assert since(referee, bob) == to_db(referee.now)
    assert (len(ann.letters), len(bob.letters), len(operator.letters)) == tuple(number + 1 for number in letters)
    assert "Letters to bob no longer arrive (match m1" in ann.text
    assert "bounced" in bob.text
    assert "bob@mail.example" in operator.text
    assert "player     bob" in operator.text
    assert "5.1.1" in operator.text
    assert "mail.example" not in ann.text.replace("ann@mail.example", "")
    assert "5.1.1" not in ann.text
    referee.now += HOUR
    referee.alive()
    bounce(referee, return_path(referee, bob))
    assert since(referee, bob) == to_db(referee.now - HOUR)
    assert (len(ann.letters), len(bob.letters), len(operator.letters)) == tuple(number + 1 for number in letters)
    assert referee.outbox.all_bounces() == {"permanent": 2}


def test_a_letter_that_was_refused_cuts_off_as_well(
    referee: Referee, operator: Mailbox, table: tuple[Mailbox, Mailbox]
) -> None:
    ann, bob = table
    referee.send(ann, ann.filled("orders", "final\n"))
    referee.inbox.put(*letter_of(referee, bob, bob.filled("orders", "final\n")), referee.now)
    referee.handle_waiting()
    while row := referee.outbox.lease(referee.now):
        reply = "550 5.1.1 bob@mail.example unknown" if row.recipient == bob.address else None
        if reply:
            referee.outbox.failed(row.id, reply, referee.now, None)
        else:
            referee.outbox.delivered(row.id, "250 ok", referee.now)
    referee.work()
    assert since(referee, bob) is not None
    assert "550 5.1.1 bob@mail.example unknown" in operator.text
    assert "Letters to bob no longer arrive" in ann.text
    assert referee.outbox.failures() == []


def letter_of(referee: Referee, person: Mailbox, text: str) -> tuple[Envelope, bytes]:
    return Envelope(person.address, ("pbem@play.example",)), referee.raw(person, referee.signed(person, text))


@pytest.mark.parametrize(
    ("action", "status", "kind"), [("delayed", "4.4.1", "temporary"), ("delivered", "2.0.0", "unclear")]
)
def test_what_is_no_failure_is_only_counted(
    referee: Referee, table: tuple[Mailbox, Mailbox], action: str, status: str, kind: str
) -> None:
    ann, bob = table
    letters = len(ann.letters)
    bounce(referee, return_path(referee, bob), action, status)
    assert (since(referee, bob), len(ann.letters)) == (None, letters)
    assert referee.outbox.all_bounces() == {kind: 1}


@pytest.mark.parametrize(
    "to", ["pbem@play.example", "pbem+b0123456789abcdef0123@play.example", "pbem+b1@play.example"]
)
def test_a_bounce_that_anybody_could_have_made_means_nothing(
    referee: Referee, table: tuple[Mailbox, Mailbox], to: str
) -> None:
    ann, bob = table
    letters = len(ann.letters), len(bob.letters)
    bounce(referee, to)
    assert (since(referee, bob), len(ann.letters), len(bob.letters)) == (None, *letters)
    assert referee.outbox.all_bounces() == {}


def test_nothing_unsigned_that_comes_to_a_return_path_is_answered(
    referee: Referee, table: tuple[Mailbox, Mailbox]
) -> None:
    ann, bob = table
    letters = len(ann.letters), len(bob.letters)
    referee.send(bob, "status m1\n", sign=False, to=return_path(referee, bob))
    assert (len(ann.letters), len(bob.letters)) == letters


def test_a_signed_letter_brings_a_player_back(referee: Referee, table: tuple[Mailbox, Mailbox]) -> None:
    ann, bob = table
    bounce(referee, return_path(referee, bob))
    referee.now += HOUR
    referee.send(bob, "help\n", sign=False)
    assert since(referee, bob) is not None
    referee.send(bob, "status m1\n")
    assert since(referee, bob) is None
    assert "A letter from bob has arrived" in body(ann.find("can be reached again"))
    assert "Sunday 1 March 2026, 13:00 UTC" in body(ann.find("can be reached again"))


def test_what_others_can_send_brings_nobody_back(referee: Referee, table: tuple[Mailbox, Mailbox]) -> None:
    """The reply address only names the match: whoever saw a letter knows it; an old letter may be seen as well."""
    ann, bob = table
    old = referee.signed(bob, "status m1\n")
    referee.deliver(referee.raw(bob, old), bob.address)
    to = str(bob.find("game 1 begins")["Reply-To"])
    bounce(referee, return_path(referee, bob))
    referee.now += HOUR
    referee.deliver(referee.raw(bob, "status m1\n"), "eve@elsewhere.example", to)
    referee.deliver(referee.raw(bob, old, subject="again"), ann.address)
    assert since(referee, bob) is not None


def test_a_letter_from_before_the_bounce_brings_nobody_back(referee: Referee, table: tuple[Mailbox, Mailbox]) -> None:
    _, bob = table
    envelope, raw = letter_of(referee, bob, "status m1\n")
    early = referee.now
    referee.now += HOUR
    referee.alive()
    bounce(referee, return_path(referee, bob))
    referee.inbox.put(envelope, raw, early)
    referee.work()
    assert since(referee, bob) is not None


def test_the_operators_own_address_being_dead_starts_no_loop(referee: Referee) -> None:
    ann = referee.registered("ann")
    referee.inbox.put(*letter_of(referee, ann, "help\n"), referee.now)
    before = referee.outbox.count()
    referee.handle_waiting()
    for _ in range(5):
        while row := referee.outbox.lease(referee.now):
            referee.outbox.failed(row.id, "550 unknown", referee.now, None)
        referee.running.tick(referee.now)
    assert referee.outbox.count() == before + 2  # the answer, and that it was refused


class TestForEver:
    """Whom no letter reaches for ever loses nothing, but nobody must wait for ever."""

    def lost(self, referee: Referee, options: str = "") -> tuple[Mailbox, Mailbox]:
        ann, bob = referee.begun(f"unreachable: stands\n{options}")
        referee.send(ann, ann.filled("orders", "final\n"))
        gone(referee, bob)
        return ann, bob

    def test_the_match_can_be_ended_after_pace_and_grace_and_nobody_has_won(self, referee: Referee) -> None:
        ann, bob = self.lost(referee, "kind: scored\ngames: 3\nmiss: forfeit")
        reads_like(ann.last, "post/unreachable")
        gone(referee, bob, 9 * DAY)
        referee.send(ann, "claim m1\n")
        assert "there is nothing to claim" in ann.text
        referee.open_desk()
        gone(referee, bob, DAY)
        referee.send(ann, "claim m1 # now\n")
        assert "Your claim is granted" in ann.text
        end = ann.find("the end")
        assert "game 1 ends without a winner before turn 1, because nobody\nplayed on." in body(end)
        assert "because nobody played on" in body(ann.find("the match is closed"))
        held(end)
        referee.send(ann, "standings\n", sign=False)
        assert "     -        0     0      0       1  ann" in ann.text

    def test_the_clocks_of_later_turns_stand_too(self, referee: Referee) -> None:
        """Bob's orders were in when he was lost: the next turn's clock must not run against him."""
        ann, bob = referee.begun("unreachable: stands\nmiss: forfeit")
        referee.send(bob, bob.filled("orders", "final\n"))
        gone(referee, bob)
        referee.send(ann, ann.filled("orders", "final\n"))
        referee.send(ann, ann.filled("orders", "final\n"))
        referee.open_desk()
        gone(referee, bob, 60 * DAY)
        assert "is lost" not in ann.text
        assert not any("a deadline was missed" in str(letter["Subject"]) for letter in ann.letters)
        referee.send(bob, "status m1\n")
        assert "Your orders are due by\n    Thursday 7 May 2026, 12:00 UTC" in bob.text


class TestSilence:
    """Anybody can write a bounce of a letter that reached him."""

    def test_who_bounces_one_letter_and_is_silent_loses_all_the_same(self, referee: Referee) -> None:
        """Even under terms by which the clock stands."""
        ann, bob = referee.begun("unreachable: stands\nmiss: forfeit")
        referee.send(ann, ann.filled("orders", "final\n"))
        bounce(referee, return_path(referee, bob))
        assert since(referee, bob) is not None
        referee.wait(2 * DAY)
        assert since(referee, bob) is None
        reads_like(ann.find("can be reached again"), "post/reached-again")
        reads_like(bob.find("letters reach you again"), "post/letters-reach-you-again")
        referee.wait(10 * DAY)
        assert "You won Spaceships game 1" in body(ann.find("the end"))
        held(ann.find("the end"))

    def test_a_letter_that_bounces_although_a_later_one_arrived_is_not_believed(
        self, referee: Referee, operator: Mailbox
    ) -> None:
        ann, bob = referee.begun("unreachable: stands")
        path = return_path(referee, bob)
        referee.send(bob, "status m1\n", sign=False)
        letters = len(ann.letters), len(bob.letters), len(operator.letters)
        bounce(referee, path)
        assert since(referee, bob) is None
        assert (len(ann.letters), len(bob.letters), len(operator.letters)) == letters
        bounce(referee, return_path(referee, bob))
        assert since(referee, bob) is not None, "the later one did not arrive either"

    def test_by_default_it_loses_after_the_same_time(self, referee: Referee) -> None:
        ann, bob = referee.begun("miss: forfeit")
        referee.send(ann, ann.filled("orders", "final\n"))
        gone(referee, bob)
        reads_like(ann.last, "post/unreachable-loses")
        reads_like(bob.last, "post/returned-loses")
        gone(referee, bob, 9 * DAY)
        assert not any("the end" in str(letter["Subject"]) for letter in ann.letters)
        gone(referee, bob, DAY)
        assert "You won Spaceships game 1" in body(ann.find("the end"))
        held(ann.find("the end"))

    def test_nothing_is_claimed_by_who_owes_an_answer(self, referee: Referee) -> None:
        """Bob missed his time, and then his letters bounced; he may have answered since."""
        ann, bob = referee.begun("unreachable: stands")
        referee.wait(11 * DAY)
        bounce(referee, return_path(referee, bob))
        gone(referee, bob, 11 * DAY)
        referee.send(ann, "claim m1\n")
        assert "first send what is due" in ann.text
