"""A clock that was a year ahead, or behind, for an hour, and was set right: afterwards all is as before.

Implements reliability.md, case 38. `test_accident_cases.py` has what is told and what was due; whole weeks with such
clocks are simulated (simulation/).
"""

from __future__ import annotations

from contextlib import contextmanager
from datetime import timedelta
from email.utils import format_datetime
from typing import TYPE_CHECKING

import pytest
from in_a_box.referee import ANN, BOB, SERVER, another, body, form_in, new, placed
from judges import sentences
from judges.honest import accused

from pbem.desk.strangers import EACH
from pbem.identity import ssh
from pbem.match.transcript import Entry, written
from pbem.store.inbox import Envelope

if TYPE_CHECKING:
    from collections.abc import Iterator

    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from in_a_box.referee import Mailbox, Referee

HOUR, DAY, YEAR = timedelta(hours=1), timedelta(days=1), timedelta(days=365)


@contextmanager
def wrong(referee: Referee, by: timedelta) -> Iterator[None]:
    """An hour during which the clock is wrong by so much."""
    referee.alive()
    referee.now += by
    referee.work()
    referee.wait(HOUR)
    yield
    referee.alive()
    referee.now -= by
    referee.work()


def ask(referee: Referee, stranger: Mailbox, text: str = "help\n") -> int:
    """A letter for which nobody vouches; returns how many letters its sender has by then."""
    referee.deliver(referee.raw(stranger, text), "x@elsewhere.example")
    return len(stranger.letters)


@pytest.mark.parametrize("by", [YEAR, -YEAR, DAY])
def test_strangers_are_answered_as_before(referee: Referee, by: timedelta) -> None:
    eve = referee.person("eve")
    with wrong(referee, by):
        for _ in range(EACH):
            ask(referee, eve)
    for _ in range(3):
        referee.wait(2 * DAY)
        before = len(eve.letters)
        for _ in range(EACH + 1):
            ask(referee, eve)
        assert len(eve.letters) == before + EACH


def test_a_network_may_send_as_much_as_before(referee: Referee) -> None:
    def come(number: int) -> int | None:
        envelope = Envelope("eve@elsewhere.example", ("pbem@play.example",), "192.0.2.0/24")
        return referee.inbox.put_all([(envelope, b"%d" % number)], lambda: referee.now, 2)[0]

    with wrong(referee, YEAR):
        assert [come(number) is not None for number in range(3)] == [True, True, False]
    assert [come(number) is not None for number in range(3, 6)] == [True, True, False]


@pytest.mark.parametrize("by", [YEAR, -YEAR])
def test_what_is_kept_stays_and_goes_in_its_time(referee: Referee, by: timedelta) -> None:
    """Letters, and the registration that waits for its answer."""
    ann = referee.person("ann")
    referee.send(ann, f"register ann\n{ssh.public(ann.key)}\n", sign=False)
    form = form_in(ann.text, "confirm")
    with wrong(referee, by):
        referee.send(referee.person("eve"), "register eve\n", sign=False)
        referee.wait(timedelta())
    assert referee.inbox.count() == 2
    referee.wait(HOUR)
    referee.send(ann, form)
    assert sentences.YOU_ARE_REGISTERED in ann.text
    referee.wait(referee.config.limits.letters_kept + 2 * DAY)
    assert referee.inbox.count() == (by > timedelta())  # what came at a time that is still to come stays


def test_a_letter_that_was_under_way_is_sent_again_by_the_right_clock(referee: Referee) -> None:
    """Its server was killed before it knew what had come of it."""
    with wrong(referee, YEAR):
        ask(referee, referee.person("eve"))
        referee.database.execute("UPDATE outbox SET state = 'leased', settled = NULL WHERE recipient LIKE 'eve@%'")
    referee.outbox.release_all()
    due = referee.outbox.next_due()
    assert due is not None
    assert due <= referee.now


def test_proposals_that_wait_for_the_morning_wait_for_the_next_one(referee: Referee) -> None:
    """A player is told at once of a stranger's first proposals; the others come in one letter in the morning."""
    eve, bob = referee.registered("eve"), referee.registered("bob")
    with wrong(referee, YEAR):
        for pace in range(4):
            referee.send(eve, new(eve, "spaceships", "bob", options=f"pace: {pace + 1}d"))
        before = len(bob.letters)
    referee.wait(DAY)
    assert [str(letter["Subject"]) for letter in bob.letters[before:]] == ["[pbem] Matches for you"]


def test_who_was_asked_by_a_clock_that_was_ahead_is_asked_again(referee: Referee) -> None:
    eve = referee.registered("eve")
    referee.wait(DAY)
    with wrong(referee, YEAR):
        before = ask(referee, eve, "stop\n")
        assert ask(referee, eve, "stop\n") == before
    referee.wait(DAY)
    assert ask(referee, eve, "stop\n") == before + 1


def test_a_turn_waits_no_longer_to_settle_than_agreed(referee: Referee) -> None:
    ann, bob = referee.begun("settle: 10m")
    with wrong(referee, YEAR):
        for one in (ann, bob):
            referee.send(one, one.filled("orders", "Gx3").replace("final\n", ""))
    referee.wait(timedelta(minutes=11))
    assert "turn" in [Entry.read(row.entry).type for row in referee.desk.archive.matches.entries(1)]


def test_orders_after_a_miss_are_taken(referee: Referee) -> None:
    """The entry of the miss bears a time a year ahead; orders that counted as received then were misdated."""
    ann, bob = referee.begun("pace: 1d\ngrace: 1h\nmiss: wait")
    referee.send(bob, bob.filled("orders", "Gx3"))
    with wrong(referee, YEAR):
        pass
    referee.wait(2 * DAY)
    assert referee.match().missed == {1}
    assert referee.match().time > written(referee.now + 300 * DAY)
    dated(referee, ann, ann.filled("orders", "Gx3"))
    assert sentences.YOUR_ORDERS_FOR_TURN_STAND.format(1) in ann.text
    referee.wait(timedelta(minutes=11))
    assert referee.match().turn == 2
    referee.send(bob, "resign m1 match\n")
    assert accused(referee) == []


def dated(referee: Referee, person: Mailbox, text: str) -> None:
    """A signed letter with the right date."""
    headers = f"Date: {format_datetime(referee.now)}\n"
    referee.deliver(referee.raw(person, referee.signed(person, text), headers=headers), person.address)


def missed_in_that_hour(referee: Referee, seat: int) -> None:
    """The time of this seat is over, without grace, within an hour in which the clock is a year ahead."""
    patience = referee.match().clocks[seat].grace_ends
    assert patience is not None
    referee.wait(patience - referee.now - HOUR / 2)
    with wrong(referee, YEAR):
        pass
    assert referee.match().time > written(referee.now + 300 * DAY)


def test_who_misses_a_turn_in_that_hour_plays_the_next(referee: Referee) -> None:
    """The missed turn is over; letters about the next turn need not count as received a year later."""
    ann, bob = referee.begun("pace: 1d\ngrace: 0\nmiss: default\nsettle: 0")
    default = ann.filled("orders", "Gx3")
    dated(referee, ann, default.replace("turn 1", "default", 1))
    referee.turn((bob, "Gx3"))
    missed_in_that_hour(referee, 1)
    assert referee.match().turn == 2
    dated(referee, ann, ann.filled("orders", "final\nGx4"))
    assert "Your orders for turn 2 stand" in ann.text
    referee.turn((bob, "Gx4"))
    assert referee.match().turn == 3
    dated(referee, bob, sentence("resign m1 match", referee, bob))
    assert referee.match().phase == "closed"
    assert accused(referee) == []


def test_who_misses_a_game_in_that_hour_plays_the_next(referee: Referee) -> None:
    ann, bob = referee.begun("pace: 1d\ngrace: 0\nmiss: forfeit\nkind: scored\ngames: 2\nsettle: 0")
    referee.turn((bob, "Gx3"))
    missed_in_that_hour(referee, 1)
    assert (referee.match().phase, referee.match().game) == ("setup", 2)
    dated(referee, ann, ann.filled("setup", ANN))
    dated(referee, bob, bob.filled("setup", BOB))
    assert referee.match().turn == 1
    dated(referee, bob, sentence("resign m1 match", referee, bob))
    assert accused(referee) == []


def test_who_misses_a_turn_in_that_hour_may_resign(referee: Referee) -> None:
    """The missed turn cannot be answered, as its deadline is a year ahead; everything else is obeyed."""
    ann, bob = referee.begun("pace: 1d\ngrace: 0\nmiss: wait\nsettle: 0")
    referee.turn((bob, "Gx3"))
    missed_in_that_hour(referee, 1)
    dated(referee, ann, ann.filled("orders", "final\nGx4"))
    assert "cannot be right" in ann.text
    dated(referee, ann, sentence("resign m1 match", referee, ann))
    assert referee.match().phase == "closed"
    assert accused(referee) == []


def sentence(words: str, referee: Referee, person: Mailbox) -> str:
    return f"{words}\n{placed(person)}prev {referee.match().prev}\nrev 1\nturn {referee.match().turn}\nend\n"


@pytest.mark.parametrize("by", [YEAR, -YEAR])
def test_a_recovery_takes_as_long_as_it_was_to(referee: Referee, by: timedelta) -> None:
    """Otherwise whoever reads somebody's mail had the account at once, or its owner waited for a year."""
    ann, bob = referee.begun()
    ask_for_recovery(referee, ann, another("ann"))
    before = len(ann.letters), len(bob.letters)
    with wrong(referee, by):
        pass
    assert changed(referee) == 0
    assert [len(ann.letters) - before[0], len(bob.letters) - before[1]] == [
        2,
        2,
    ]  # told the new time, and the old one
    assert sentences.REPLACES_ALL_YOUR_OTHERS_ON in ann.text
    referee.wait(6 * DAY)
    assert changed(referee) == 0
    referee.wait(DAY)
    assert changed(referee) == 1


@pytest.mark.parametrize("by", [YEAR, -YEAR])
def test_a_recovery_that_is_asked_for_then_takes_as_long(referee: Referee, by: timedelta) -> None:
    ann, _ = referee.begun()
    referee.wait(HOUR)
    with wrong(referee, by):
        ask_for_recovery(referee, ann, another("ann"))
    referee.wait(6 * DAY)
    assert changed(referee) == 0
    referee.wait(DAY)
    assert changed(referee) == 1


def test_nobody_loses_an_account_while_the_server_is_down(referee: Referee) -> None:
    """Who could have objected then has as much time afterwards."""
    ann, _ = referee.begun()
    ask_for_recovery(referee, ann, another("ann"))
    referee.outage(8 * DAY)
    referee.send(ann, "status m1\n")
    referee.wait(8 * DAY)
    assert changed(referee) == 0


def ask_for_recovery(referee: Referee, person: Mailbox, new: Ed25519PrivateKey) -> None:
    """Somebody who reads that mail says that all keys are lost, and proves to have another."""
    referee.send(person, f"recover\n{ssh.public(new)}\n", sign=False)
    form = form_in(body(person.find("says that your keys are lost")), "confirm")
    referee.deliver(referee.raw(person, form + ssh.sign(new, form.encode(), f"pbem@{SERVER}")), person.address)
    assert sentences.REPLACES_ALL_YOUR_OTHERS_ON in person.text


def changed(referee: Referee) -> int:
    """How often a key was changed."""
    entries = referee.desk.archive.matches.entries(1)
    return [Entry.read(row.entry).type for row in entries].count("keys")
