"""`set mail digest`: what can wait comes once a day in one letter, all else at once, and nothing twice or never."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime, timedelta

import pytest
from in_a_box.referee import Mailbox, Referee, body, html
from in_a_box.small_games import DESTROYERS
from judges.golden import reads_like

from pbem.letters.digest import next_digest

DAY = timedelta(days=1)
HOUR = timedelta(hours=1)


def begun(referee: Referee, options: str = "") -> tuple[Mailbox, Mailbox]:
    """A match in which Bob wants digests, in Berlin, on a Sunday at one."""
    ann, bob = referee.begun(f"fleet: cost:3\n{options}", DESTROYERS)
    referee.send(bob, "set timezone Europe/Berlin\nset mail digest\n")
    assert "at seven in the morning" in bob.text
    return ann, bob


def subjects(person: Mailbox) -> list[str]:
    return [str(letter["Subject"]) for letter in person.letters]


def test_what_can_wait_comes_in_the_morning(referee: Referee) -> None:
    ann, bob = begun(referee)
    referee.turn((bob, ""), (ann, ""))
    referee.send(ann, "press m1\nWell played!\nend\n")
    before = len(bob.letters)
    assert subjects(bob)[-1] == "Re: orders", "the answer to an own command comes at once"
    assert "[pbem m1] Spaceships, game 1, turn 1" in subjects(ann)
    referee.wait(17 * HOUR)
    assert len(bob.letters) == before
    referee.open_desk()
    referee.wait(HOUR)
    assert len(bob.letters) == before + 1
    reads_like(bob.last, "digest/turn-and-press", whole=True)
    assert bob.last["Reply-To"] == "pbem+m1@play.example"
    assert "Well played!" in html(bob.last)
    assert "since your last digest" in html(bob.last)
    referee.send(bob, bob.filled("orders", "final"))
    assert "Your orders for turn 2 stand" in bob.text
    referee.wait(3 * DAY)
    assert "Your digest" not in " ".join(subjects(bob)), "no empty digest"


def test_a_deadline_that_is_near_makes_it_urgent(referee: Referee) -> None:
    ann, bob = begun(referee, "pace: 30h")
    before = len(bob.letters)
    referee.turn((bob, ""), (ann, ""))
    assert len(bob.letters) == before + 2, "the answer, and the turn"


def test_reminders_of_the_last_day_come_at_once_and_each_once(referee: Referee) -> None:
    _, bob = begun(referee)
    referee.wait(12 * DAY)
    reminders = [letter for letter in bob.letters if "a reminder" in str(letter["Subject"])]
    assert [str(letter["Date"]) for letter in reminders] == [
        "Thu, 05 Mar 2026 06:00:00 +0000",  # half of the time was over the evening before
        "Sat, 07 Mar 2026 12:00:00 +0000",
        "Sun, 08 Mar 2026 12:00:00 +0000",
    ]


def test_an_urgent_letter_brings_what_waits_about_its_match(referee: Referee) -> None:
    ann, bob = begun(referee)
    referee.turn((bob, ""), (ann, ""))
    referee.send(ann, "draw m1 offer\n")
    reads_like(bob.last, "digest/turn-and-offer", whole=True)
    before = len(bob.letters)
    referee.wait(DAY)
    assert len(bob.letters) == before


def test_matches_come_together(referee: Referee) -> None:
    ann, bob = begun(referee)
    carl = referee.registered("carl")
    referee.send(carl, "new spaceships with bob\nend\n")
    referee.turn((bob, ""), (ann, ""))
    referee.send(ann, "resign m1 game 1\n")
    referee.wait(DAY)
    reads_like(bob.last, "digest/two-matches", whole=True)
    assert bob.last["Reply-To"] is None


def test_set_mail_each_brings_what_waits(referee: Referee) -> None:
    ann, bob = begun(referee)
    referee.turn((bob, ""), (ann, ""))
    referee.send(bob, "set mail each\n")
    assert "game 1, turn 1" in subjects(bob)[-1]
    referee.turn((bob, ""), (ann, ""))
    assert "game 1, turn 2" in subjects(bob)[-1]


@pytest.mark.parametrize("dying", ["rendered", "send"])
def test_a_crash_in_a_digest_loses_and_doubles_nothing(
    referee: Referee, dying: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A desk that dies while it writes a digest has written nothing of it."""
    ann, bob = begun(referee)
    referee.turn((bob, ""), (ann, ""))
    referee.send(ann, "press m1\nhello\nend\n")
    referee.now = datetime(2026, 3, 2, 6, 0, tzinfo=UTC)
    referee.alive()
    letter_writer = type(referee.desk.letters)
    real = getattr(letter_writer, dying)

    def dies(self: object, *arguments: object, **facts: object) -> object:
        real(self, *arguments, **facts)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(letter_writer, dying, dies)
        with pytest.raises(KeyboardInterrupt):
            referee.running.tick(referee.now)
    referee.open_desk()
    referee.wait(3 * DAY)
    texts = Counter("hello" in body(letter) and "turn 1" in body(letter) for letter in bob.letters)
    assert texts[True] == 1


def test_the_morning_across_the_change_of_the_clocks() -> None:
    """Seven is seven, before and after; a digest never goes at the moment itself, but at the next."""
    for now, expected in (
        ("2026-03-28T05:59", "2026-03-28T06:00"),
        ("2026-03-28T06:00", "2026-03-29T05:00"),
        ("2026-10-24T12:00", "2026-10-25T06:00"),
        ("2026-12-31T23:30", "2027-01-01T06:00"),
    ):
        moment = datetime.fromisoformat(now).replace(tzinfo=UTC)
        assert next_digest(moment, "Europe/Berlin") == datetime.fromisoformat(expected).replace(tzinfo=UTC)
