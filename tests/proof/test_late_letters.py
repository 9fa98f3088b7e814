"""Letters after a miss, or late because of summer time, make no honest server look like a liar."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from in_a_box.inquiries import early
from in_a_box.referee import Mailbox, Referee, form_in, new
from judges.honest import accused
from vectors.matches import SETUPS, SMALL, proof

from pbem.match.documents import Receipt
from pbem.match.transcript import Entry
from pbem.store.inbox import Envelope
from verifier import verified

HOUR = timedelta(hours=1)
QUICK = f"{SMALL}\npace: 2d\ngrace: 1d"


def until_missed(referee: Referee, seat: int) -> None:
    """Time goes by until a moment after this seat's next miss."""
    patience = referee.match().clocks[seat].grace_ends
    assert patience is not None
    before = misses(referee, seat)
    referee.wait(patience - referee.now + timedelta(seconds=10))
    assert misses(referee, seat) == before + 1


def sound(referee: Referee, loser: Mailbox) -> None:
    """The match ends, and nothing speaks against the server; the second verifier says the same."""
    if referee.match().phase != "closed":
        referee.send(loser, "resign m1 match\n")
    assert accused(referee) == []
    verified(proof(referee, loser))


def misses(referee: Referee, seat: int) -> int:
    """The number of misses of this seat."""
    entries = [Entry.read(row.entry) for row in referee.desk.archive.matches.entries(1)]
    return sum(entry.type == "missed" and entry.body["seat"] == seat for entry in entries)


class TestAfterAMiss:
    def test_a_letter_that_waited_since(self, referee: Referee) -> None:
        """Nobody knew that it counts: it counts from the miss on."""
        ann, bob = referee.begun(f"{QUICK}\nmiss: wait", SETUPS)
        referee.turn((bob, ""))
        until_missed(referee, 1)
        raw = referee.raw(ann, referee.signed(ann, ann.filled("orders", "final\nRv1")))
        referee.inbox.put(Envelope(ann.address, ("pbem@play.example",)), raw, referee.now - 2 * HOUR)
        referee.work()
        assert referee.match().turn == 2
        sound(referee, bob)


@pytest.mark.parametrize("grace", ["1d", "0"])
def test_a_match_that_is_paused_in_the_second_of_a_deadline(referee: Referee, grace: str) -> None:
    """The deadline is that second, and not the end of the pause."""
    ann, bob = referee.begun(f"{SMALL}\npace: 2d\ngrace: {grace}\nmiss: wait", SETUPS)
    referee.turn((bob, ""))
    referee.now += 48 * HOUR
    referee.alive()
    referee.instruct("pause")
    referee.wait(5 * HOUR)
    referee.instruct("resume")
    referee.wait(30 * HOUR)
    assert referee.match().missed == {1}
    referee.turn((ann, "Rv1"))
    sound(referee, bob)
    referee.read_cold()


def test_orders_after_a_pause_within_the_grace(referee: Referee) -> None:
    """The pause lengthens the grace, and not the time from which letters counted as too late."""
    ann, bob = referee.begun(f"{QUICK}\nmiss: wait", SETUPS)
    referee.turn((bob, ""))
    referee.wait(50 * HOUR)
    referee.instruct("pause")
    referee.wait(40 * HOUR)
    referee.instruct("resume")
    until_missed(referee, 1)
    referee.turn((ann, "Rv1"))
    assert referee.match().turn == 2
    sound(referee, bob)


class TestWhenALetterCounts:
    def receipt(self, referee: Referee, person: Mailbox) -> Receipt:
        seat = referee.match().seat_of(person.name)
        assert seat is not None
        return Receipt.read(referee.match().orders[seat].paper)

    def test_a_letter_that_waited_came_when_it_came(self, referee: Referee) -> None:
        """A letter that is handled late counts from its receipt."""
        ann, bob = referee.begun(SMALL, SETUPS)
        came = referee.now
        raw = referee.raw(ann, referee.signed(ann, ann.filled("orders", "Rv1")))
        referee.now += 5 * HOUR
        referee.alive()
        referee.send(bob, "vacation 2026-04-05 to 2026-04-08\n")
        referee.inbox.put(Envelope(ann.address, ("pbem@play.example",)), raw, came)
        referee.work()
        assert self.receipt(referee, ann).received == f"{came:%Y-%m-%dT%H:%M:%SZ}"


class TestSummerTime:
    """A day of grace has 23 hours in the night that lacks one, and what comes in the 24th comes late."""

    def missed(self, referee: Referee, miss: str) -> tuple[Mailbox, Mailbox]:
        referee.now = datetime(2026, 3, 26, 12, 0, tzinfo=UTC)
        ann, bob = referee.registered("ann"), referee.registered("bob")
        referee.send(ann, "set timezone Europe/Berlin\nserver play.example\nplayer ann\nrev 1\nend\n")
        referee.send(ann, new(ann, "spaceships", "bob", options=f"{QUICK}\nmiss: {miss}"))
        referee.send(bob, form_in(bob.text, "accept", lines=1))
        referee.send(ann, ann.filled("setup", SETUPS[0]))
        referee.send(bob, bob.filled("setup", SETUPS[1]))
        if miss == "default":
            early(referee, ann, "default", "Rv3")
        referee.turn((bob, ""))
        until_missed(referee, 1)
        assert referee.now == datetime(2026, 3, 29, 11, 0, 10, tzinfo=UTC)
        return ann, bob

    def test_orders_soon_after_the_miss(self, referee: Referee) -> None:
        ann, bob = self.missed(referee, "wait")
        referee.turn((ann, "Rv1"))
        assert referee.match().turn == 2
        sound(referee, bob)

    def test_default_orders_withdrawn_soon_after_they_were_played(self, referee: Referee) -> None:
        ann, bob = self.missed(referee, "default")
        referee.send(ann, "clear m1 default\n")
        assert "Withdrawn" in ann.text
        sound(referee, bob)
