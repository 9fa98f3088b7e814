"""Letters that are late by no fault of who plays: clocks stand as long as they are under way."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from in_a_box.inquiries import held, types
from in_a_box.referee import Mailbox, Referee, attachment, body
from in_a_box.small_games import DESTROYERS
from judges.golden import reads_like

if TYPE_CHECKING:
    import pytest

DAY = timedelta(days=1)
HOUR = timedelta(hours=1)
MINUTE = timedelta(minutes=1)


def begun(referee: Referee, options: str = "") -> tuple[Mailbox, Mailbox]:
    return referee.begun(f"fleet: cost:3\n{options}", DESTROYERS)


def test_a_letter_that_was_late_moves_the_deadline_and_says_why(referee: Referee) -> None:
    ann, bob = begun(referee)
    referee.away = {bob.address}
    referee.turn((ann, ""), (bob, ""))
    referee.wait(5 * HOUR)
    referee.send(ann, "status m1\n", sign=False)
    assert "Sunday 8 March 2026, 12:00 UTC" in ann.text, "the other's clock goes on"
    referee.away.clear()
    referee.wait(HOUR)
    assert "Sunday 8 March 2026, 12:00 UTC" in body(
        next(one for one in bob.letters if str(one["Subject"]).endswith("turn 1"))
    )
    reads_like(bob.last, "clock/late-letter")
    assert b"20260308T171000Z" in attachment(bob.last, ".ics").replace(b"-", b"").replace(b":", b"")
    assert types(referee)[-2:] == ["halted", "moved"]
    referee.open_desk()
    referee.send(bob, "status m1\n", sign=False)
    assert "A letter could not be delivered to you at once" in bob.text
    referee.wait(11 * DAY)
    referee.send(ann, "transcript m1\n", sign=False)
    held(ann.last)


def test_a_late_letter_about_a_resumption_moves_the_deadline(referee: Referee) -> None:
    """Beside what an earlier letter about the same turn had moved (seed 65003 of the simulated weeks)."""
    ann, bob = begun(referee)
    referee.away = {bob.address}
    referee.turn((ann, ""), (bob, ""))
    referee.wait(5 * HOUR)
    referee.away.clear()
    referee.wait(HOUR)
    assert "Sunday 8 March 2026, 17:10 UTC" in bob.text
    referee.instruct("pause")
    referee.wait(DAY)
    referee.away = {bob.address}
    referee.instruct("resume")
    referee.wait(10 * HOUR)
    referee.away.clear()
    referee.wait(HOUR)
    assert "Tuesday 10 March 2026, 03:" in bob.text
    assert types(referee)[-4:] == ["paused", "resumed", "halted", "moved"]


def test_the_clock_stands_until_the_last_of_two_such_letters_arrived(referee: Referee) -> None:
    """The letter about the turn, which is late itself, arrives before the one that says that the match goes on."""
    ann, bob = begun(referee, "pace: 2h\ngrace: 0\nmiss: forfeit")
    referee.away = {bob.address}
    referee.turn((ann, ""), (bob, ""))
    referee.send(ann, "report m1\n", sign=False)
    referee.send(ann, ann.filled("orders", "final"))
    referee.wait(5 * HOUR)
    referee.instruct("pause")
    referee.wait(HOUR)
    referee.instruct("resume")
    referee.wait(90 * MINUTE)
    (first, _), (_, late) = referee.database.execute("SELECT outbox, late FROM watched ORDER BY outbox").fetchall()
    assert late
    referee.database.execute("UPDATE outbox SET state = 'leased' WHERE id = ?", (first,))
    with referee.database.transaction():
        referee.outbox.delivered(first, "250 ok", referee.now)
    referee.work()
    referee.wait(5 * HOUR)
    assert types(referee)[-1] == "halted"
    referee.away.clear()
    referee.wait(HOUR)
    assert "Monday 2 March 2026, 02:" in bob.text
    referee.wait(2 * HOUR)
    assert types(referee)[-4:] == ["forfeited", "ended", "revealed", "closed"]


def test_letters_that_stay_late_keep_no_other_from_being_seen_to(
    referee: Referee, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The smarthost is down, and a thousand letters wait: the clocks of whoever gets a later one went on."""
    monkeypatch.setattr("pbem.desk.bounces._AT_ONCE", 1)
    ann, bob = begun(referee, "pace: 2h\ngrace: 0\nmiss: forfeit")
    referee.away = {ann.address, bob.address}
    referee.turn((ann, ""), (bob, ""))
    referee.wait(5 * HOUR)
    assert types(referee)[-3:] == ["turn", "halted", "halted"]
    referee.away.clear()
    referee.wait(HOUR)
    assert types(referee)[-2:] == ["moved", "moved"]


def test_mail_that_takes_its_time_moves_nothing(referee: Referee) -> None:
    ann, bob = begun(referee)
    referee.away = {bob.address}
    referee.turn((ann, ""), (bob, ""))
    referee.wait(timedelta(minutes=45))
    referee.away.clear()
    referee.wait(HOUR)
    assert types(referee)[-1] == "turn"
    assert referee.outbox.watched(10) == []


def test_a_letter_that_was_given_up_is_the_postmasters_business(referee: Referee) -> None:
    ann, bob = begun(referee, "unreachable: stands")
    referee.away = {bob.address}
    referee.turn((ann, ""), (bob, ""))
    referee.wait(2 * DAY)
    for row in referee.database.rows(
        "SELECT id FROM outbox WHERE recipient = ? AND state = 'waiting'", (bob.address,)
    ):
        referee.database.execute("UPDATE outbox SET state = 'leased' WHERE id = ?", (row["id"],))
        referee.outbox.failed(row["id"], "550 no more", referee.now, None)
    referee.work()
    referee.open_desk()
    assert types(referee)[-3:] == ["halted", "halted", "moved"]
    referee.retry = 6 * HOUR
    referee.wait(30 * DAY)
    assert types(referee).count("missed") == 1, "that is Ann: who cannot be reached misses nothing"
    referee.away.clear()
    referee.send(bob, "press m1\nhere I am\nend\n")
    assert types(referee)[-1] == "moved"
    referee.send(bob, "status m1\n", sign=False)
    assert "Your orders are due by\n    Thursday 9 April 2026, 12:00 UTC" in bob.text
