"""A clock that is set back, or a zone's clocks that are changed, make no honest server look like a liar."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from in_a_box.referee import Mailbox, Referee, form_in, new
from judges.honest import accused
from vectors.make import SETUPS, SMALL, asked, early, home, keyless, proof, reply

from pbem.match.documents import Receipt
from pbem.match.transcript import Entry
from pbem.store.inbox import Envelope
from pbem.store.operator import Instructions
from verifier import verified

HOUR = timedelta(hours=1)
STEPS = [2 * HOUR, 30 * HOUR]
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
    """How often this seat missed its time."""
    entries = [Entry.read(row.entry) for row in referee.desk.archive.matches.entries(1)]
    return sum(entry.type == "missed" and entry.body["seat"] == seat for entry in entries)


@pytest.mark.parametrize("back", STEPS)
class TestAfterAMiss:
    def test_orders_after_a_gift(self, referee: Referee, back: timedelta) -> None:
        """Who got more time is in `missed` no longer; the entry stands."""
        ann, bob = referee.begun(f"{QUICK}\nmiss: wait", SETUPS)
        referee.send(bob, bob.filled("orders", "final\n"))
        until_missed(referee, 1)
        referee.send(bob, "extend m1 3d\n")
        assert not referee.match().missed
        referee.now -= back
        referee.turn((ann, "Rv1"))
        assert referee.match().turn == 2
        sound(referee, bob)

    def test_a_setup_that_is_asked_for_again(self, referee: Referee, back: timedelta) -> None:
        ann, bob = referee.agreed(f"{QUICK}\nmiss: pass")
        referee.send(bob, bob.filled("setup", SETUPS[1]))
        until_missed(referee, 1)
        referee.now -= back
        referee.send(ann, ann.filled("setup", SETUPS[0]))
        assert referee.match().turn == 1
        sound(referee, bob)

    def test_default_orders_a_turn_later(self, referee: Referee, back: timedelta) -> None:
        """They were not in when others were played for them, though the clock says so."""
        ann, bob = referee.begun(f"{QUICK}\nmiss: default", SETUPS)
        early(referee, ann, "default", "Rv3")
        referee.turn((bob, ""))
        until_missed(referee, 1)
        assert referee.match().turn == 2
        referee.now -= back
        head, _, rest = ann.filled("orders", "Rv1", 2).partition("\n")
        referee.send(ann, f"{head.partition(' turn ')[0]} default\n{rest}")
        assert referee.match().stored[1, 0].rev == 2
        sound(referee, bob)

    def test_default_orders_withdrawn_once_they_were_played(self, referee: Referee, back: timedelta) -> None:
        ann, bob = referee.begun(f"{QUICK}\nmiss: default", SETUPS)
        early(referee, ann, "default", "Rv3")
        referee.turn((bob, ""))
        until_missed(referee, 1)
        assert referee.match().turn == 2
        referee.now -= back
        referee.send(ann, "clear m1 default\n")
        assert "Withdrawn" in ann.text
        sound(referee, bob)

    def test_who_took_the_seat_over(self, referee: Referee, back: timedelta) -> None:
        _, bob = referee.begun(f"{QUICK}\nmiss: wait", SETUPS)
        carl = referee.registered("carl")
        referee.turn((bob, ""))
        until_missed(referee, 1)
        referee.now -= back
        referee.send(bob, "substitute m1 carl for ann\n")
        referee.send(carl, carl.form("substitute"))
        assert referee.match().names == ("carl", "bob")
        referee.turn((carl, "Rv1"))
        assert referee.match().turn == 2
        sound(referee, bob)

    def test_a_letter_that_waited_since(self, referee: Referee, back: timedelta) -> None:
        """It came by the clock that was put right, and is handled when that has caught up."""
        ann, bob = referee.begun(f"{QUICK}\nmiss: wait", SETUPS)
        referee.turn((bob, ""))
        until_missed(referee, 1)
        raw = referee.raw(ann, referee.signed(ann, ann.filled("orders", "final\nRv1")))
        referee.inbox.put(Envelope(ann.address, ("pbem@play.example",)), raw, referee.now - back)
        referee.work()
        assert referee.match().turn == 2
        sound(referee, bob)


@pytest.mark.parametrize("back", STEPS)
class TestBeforeAWithdrawal:
    """What was withdrawn was in before, by whatever clock."""

    def test_of_orders(self, referee: Referee, back: timedelta) -> None:
        ann, bob = referee.begun(f"{QUICK}\nmiss: pass", SETUPS)
        referee.send(ann, ann.filled("orders", "Rv1"))
        referee.now -= back
        referee.send(ann, "clear m1\n")
        referee.turn((bob, ""))
        until_missed(referee, 1)
        assert referee.match().turn == 2
        sound(referee, bob)

    def test_of_a_setup(self, referee: Referee, back: timedelta) -> None:
        ann, bob = referee.agreed(f"{QUICK}\nmiss: forfeit")
        referee.send(ann, ann.filled("setup", SETUPS[0]))
        referee.now -= back
        referee.send(ann, "clear m1\n")
        referee.send(bob, bob.filled("setup", SETUPS[1]))
        until_missed(referee, 1)
        assert referee.match().phase == "closed"
        sound(referee, bob)

    def test_of_default_orders(self, referee: Referee, back: timedelta) -> None:
        ann, bob = referee.begun(f"{QUICK}\nmiss: default", SETUPS)
        early(referee, ann, "default", "Rv3")
        referee.now -= back
        referee.send(ann, "clear m1 default\n")
        referee.turn((bob, ""))
        until_missed(referee, 1)
        referee.send(bob, "claim m1\n")
        assert referee.match().phase == "closed"
        sound(referee, bob)


def operated(referee: Referee, what: str) -> None:
    Instructions(referee.database).give(what, 1, "the server moves", "root", referee.now)
    referee.work()


@pytest.mark.parametrize("grace", ["1d", "0"])
def test_a_match_that_is_paused_in_the_second_of_a_deadline(referee: Referee, grace: str) -> None:
    """The deadline is that second, and not the end of the pause."""
    ann, bob = referee.begun(f"{SMALL}\npace: 2d\ngrace: {grace}\nmiss: wait", SETUPS)
    referee.turn((bob, ""))
    referee.now += 48 * HOUR
    referee.alive()
    operated(referee, "pause")
    referee.wait(5 * HOUR)
    operated(referee, "resume")
    referee.wait(30 * HOUR)
    assert referee.match().missed == {1}
    referee.turn((ann, "Rv1"))
    sound(referee, bob)
    referee.read_cold()


def test_a_gift_after_a_miss_whose_deadline_a_wrong_clock_moved(referee: Referee) -> None:
    """What was missed stays missed: the gift begins with its entry, whatever the deadline would be by now."""
    ann, bob = referee.begun(f"{QUICK}\nmiss: wait", SETUPS)
    referee.turn((bob, ""))
    until_missed(referee, 1)
    stepped(referee, -365 * 24 * HOUR)
    stepped(referee, 365 * 24 * HOUR)
    stepped(referee, 9 * 24 * HOUR)
    referee.send(bob, "extend m1 1d\n")
    stepped(referee, -9 * 24 * HOUR)
    until_missed(referee, 1)
    referee.turn((ann, "Rv1"))
    sound(referee, bob)


def stepped(referee: Referee, by: timedelta) -> None:
    """The clock is set, and the server notices."""
    referee.alive()
    referee.now += by
    referee.work()


@pytest.mark.parametrize("back", STEPS)
def test_orders_after_a_pause_within_the_grace(referee: Referee, back: timedelta) -> None:
    """The pause lengthens the grace, and not the time from which letters counted as too late."""
    ann, bob = referee.begun(f"{QUICK}\nmiss: wait", SETUPS)
    referee.turn((bob, ""))
    referee.wait(50 * HOUR)
    operated(referee, "pause")
    referee.wait(40 * HOUR)
    operated(referee, "resume")
    until_missed(referee, 1)
    referee.now -= back
    referee.turn((ann, "Rv1"))
    assert referee.match().turn == 2
    sound(referee, bob)


@pytest.mark.parametrize("ahead", [5 * 24 * HOUR, 365 * 24 * HOUR])
def test_a_gift_by_a_clock_that_is_ahead(referee: Referee, ahead: timedelta) -> None:
    """By that clock the server was down, so that the deadline stood; set right, it had not been."""
    ann, bob = referee.begun(f"{QUICK}\nmiss: wait", SETUPS)
    referee.turn((bob, ""))
    stepped(referee, ahead)
    referee.send(bob, "extend m1 1d\n")
    stepped(referee, -ahead)
    until_missed(referee, 1)
    referee.turn((ann, "Rv1"))
    sound(referee, bob)
    referee.read_cold()


class TestWhenALetterCounts:
    def receipt(self, referee: Referee, person: Mailbox) -> Receipt:
        seat = referee.match().seat_of(person.name)
        assert seat is not None
        return Receipt.read(referee.match().orders[seat].paper)

    def test_who_missed_nothing_learns_nothing(self, referee: Referee) -> None:
        """That Bob's orders are in must not be told by the time that Ann's receipt bears."""
        ann, bob = referee.begun("fleet: cost:3", SETUPS)
        referee.now += 5 * HOUR
        referee.alive()
        early(referee, bob, "turn 3", "")
        referee.send(bob, bob.filled("orders", ""))
        referee.now -= 2 * HOUR
        referee.send(ann, ann.filled("orders", "Rv1"))
        assert self.receipt(referee, ann).received == f"{referee.now:%Y-%m-%dT%H:%M:%SZ}"

    def test_a_letter_that_waited_came_when_it_came(self, referee: Referee) -> None:
        """While the clock goes right, what is handled late counts from when it was received."""
        ann, bob = referee.begun(SMALL, SETUPS)
        came = referee.now
        raw = referee.raw(ann, referee.signed(ann, ann.filled("orders", "Rv1")))
        referee.now += 5 * HOUR
        referee.alive()
        referee.send(bob, "vacation 2026-04-05 to 2026-04-08\n")
        referee.inbox.put(Envelope(ann.address, ("pbem@play.example",)), raw, came)
        referee.work()
        assert self.receipt(referee, ann).received == f"{came:%Y-%m-%dT%H:%M:%SZ}"


class TestALetterWithoutASignature:
    def test_after_a_miss(self, referee: Referee) -> None:
        """Its evidence names the same time as its paper."""
        ann, bob = keyless(referee, options=f"{QUICK}\nmiss: wait")
        referee.turn((ann, "Rv1"))
        until_missed(referee, 2)
        referee.now -= 30 * HOUR
        reply(referee, home(), bob, bob.filled("orders", "final"), asked(bob, "orders"))
        assert referee.match().turn == 2
        sound(referee, ann)


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
