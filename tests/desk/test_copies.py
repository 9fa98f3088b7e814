"""Copies of a letter, which whoever has it can send by other envelopes: none of their answers accuses the server."""

from __future__ import annotations

from datetime import timedelta
from email.utils import format_datetime

import pytest
from in_a_box.bulletins import bulletin
from in_a_box.referee import SERVER, Mailbox, Referee, placed
from in_a_box.small_games import FLEETS, SMALL
from judges.honest import accused


def outcomes(person: Mailbox) -> list[str]:
    """The outcomes of the commands that the latest letter answers."""
    return [str(item["outcome"]) for item in bulletin(person.last)["items"] if item["about"] == "command"]


def copied(referee: Referee, raw: bytes, number: int) -> None:
    referee.deliver(raw, f"other-{number}@mail.example", f"pbem+m{number}@{SERVER}")


def test_what_was_refused_is_not_obeyed_in_the_same_second(referee: Referee) -> None:
    ann, bob = referee.begun(SMALL, FLEETS)
    place = f"turn 1\nprev {referee.match().prev}\nrev 1\n"
    raw = referee.raw(bob, referee.signed(bob, f"draw m1 accept\n{placed(bob)}{place}"))
    referee.deliver(raw, bob.address)
    assert outcomes(bob) == ["refused"]
    referee.send(ann, f"draw m1 offer\n{placed(ann)}{place}")
    before = len(bob.letters)
    copied(referee, raw, 1)
    assert len(bob.letters) == before
    assert accused(referee) == []
    referee.now += timedelta(seconds=1)
    copied(referee, raw, 2)
    assert referee.match().phase == "closed"
    assert accused(referee) == []


@pytest.mark.parametrize("days", [0, 1, 12])
def test_what_was_played_is_refused_when_it_comes_again(referee: Referee, days: int) -> None:
    """Its turn is over, or its date is too long ago."""
    ann, bob = referee.begun(f"{SMALL}\npace: none", FLEETS)
    date = f"Date: {format_datetime(referee.now)}\n"
    raw = referee.raw(bob, referee.signed(bob, bob.filled("orders", "final")), headers=date)
    referee.deliver(raw, bob.address)
    assert outcomes(bob) == ["done"]
    referee.turn((ann, ""))
    for number in range(2):
        referee.wait(timedelta(days=days, seconds=1))
        copied(referee, raw, number)
        assert outcomes(bob) == ["refused"]
    assert accused(referee) == []
