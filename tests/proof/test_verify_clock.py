"""The proof of the clock: no empty order without a miss, no miss before its time, no gift and no claim unsigned."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from attackers.forgers import both, fails, fails_for_both, holds, nth, retold, without_entry
from in_a_box.referee import Referee, attachment
from vectors.matches import SETUPS, SMALL, good

from pbem.proof import bundle

if TYPE_CHECKING:
    from pathlib import Path

    from pbem.proof.bundle import Bundle

DAY = timedelta(days=1)


@pytest.fixture(scope="module")
def passed(tmp_path_factory: pytest.TempPathFactory) -> Bundle:
    """A game in which Bob missed his setup and turn 1, and the last turns, after a gift of time."""
    referee = Referee(tmp_path_factory.mktemp("passed"))
    ann, bob = referee.agreed(f"{SMALL}\nmiss: pass")
    referee.send(ann, ann.filled("setup", SETUPS[0]))
    referee.wait(11 * DAY)
    referee.send(bob, bob.filled("setup", SETUPS[1]))
    referee.turn((ann, "Rv1"))
    referee.send(ann, "extend m1 2d\n")
    referee.wait(13 * DAY)
    referee.turn((ann, "Rv3"))
    referee.wait(11 * DAY)
    found = bundle.read(attachment(ann.find("the end"), ".zip"))
    referee.close()
    holds(found)
    return found


@pytest.mark.parametrize("number", [0, 1, 2])
def test_nobody_misses_a_deadline_before_its_time(passed: Bundle, number: int) -> None:
    miss = nth(passed, "missed", number)
    deadline = passed.entries[miss].body["deadline"]
    earlier = retold(passed, miss, deadline=deadline.replace("T12", "T08"))
    fails_for_both(earlier, "the deadline is earlier than what was agreed")
    fails_for_both(retold(passed, miss, time=deadline), "the grace after the deadline was not over")


@pytest.mark.parametrize(("deadline", "holds_still"), [("07T12", False), ("09T08", False), ("09T09", True)])
def test_weekends_that_do_not_count_are_no_time(tmp_path: Path, deadline: str, holds_still: bool) -> None:
    """Six days from a Sunday on are over on Tuesday the tenth; in the east on Monday, at noon of Greenwich."""
    referee = Referee(tmp_path)
    ann, bob = referee.begun(f"{SMALL}\nmiss: forfeit\npace: 6d\ngrace: 0\nweekends: free", SETUPS)
    referee.turn((bob, ""))
    referee.wait(12 * DAY)
    found = bundle.read(attachment(ann.find("the end"), ".zip"))
    referee.close()
    assert found.entries[2].body["deadline"] == "2026-03-10T00:00:00Z"
    holds(found)
    assert both(retold(found, 2, deadline=f"2026-03-{deadline}:00:00Z")) is holds_still


def test_weekends_are_no_time_of_a_gift_either(tmp_path: Path) -> None:
    """After a miss the clock starts again, on Friday at noon."""
    referee = Referee(tmp_path)
    ann, bob = referee.begun(f"{SMALL}\npace: 6d\ngrace: 0\nweekends: free", SETUPS)
    referee.wait(12 * DAY)
    referee.turn((bob, ""))
    referee.send(bob, "extend m1 2d\n")
    referee.wait(12 * DAY)
    referee.send(bob, "claim m1\n")
    found = bundle.read(attachment(ann.find("the end"), ".zip"))
    referee.close()
    holds(found)
    miss = nth(found, "missed", -1)
    assert found.entries[miss].body["deadline"] == "2026-03-17T12:00:00Z"
    fails_for_both(
        retold(found, miss, deadline="2026-03-15T12:00:00Z"), "the deadline is earlier than what was agreed"
    )


@pytest.mark.parametrize(
    ("given", "bank"),
    [(False, timedelta(days=9, hours=-3)), (True, timedelta())],
    ids=["drawn on once", "a gift: how much is left is the server's word"],
)
def test_a_bank_is_time(tmp_path: Path, bank: timedelta, *, given: bool) -> None:
    """One of ten days was drawn when the orders of turn 1 came."""
    referee = Referee(tmp_path)
    ann, bob = referee.begun(f"{SMALL}\nmiss: forfeit\npace: 5d\ngrace: 0\nbank: 10d", SETUPS)
    if given:
        referee.send(ann, "extend m1 1d\n")
    referee.wait(6 * DAY)
    referee.turn((bob, ""))
    referee.wait(DAY)
    referee.turn((ann, "Rv1"))
    asked = referee.now
    referee.turn((ann, "Rv3"))
    referee.wait(20 * DAY)
    found = bundle.read(attachment(ann.find("the end"), ".zip"))
    referee.close()
    holds(found)
    miss = nth(found, "missed", 0)
    least = asked + 5 * DAY + bank - timedelta(hours=3)
    assert both(retold(found, miss, deadline=f"{least:%Y-%m-%dT%H:%M:%SZ}")) is True
    fails_for_both(retold(found, miss, deadline=f"{least - timedelta(seconds=1):%Y-%m-%dT%H:%M:%SZ}"))


@pytest.mark.parametrize("seat", [1, 3])
def test_a_miss_is_of_the_seat_that_was_silent(passed: Bundle, seat: int) -> None:
    fails_for_both(retold(passed, nth(passed, "missed", 1), seat=seat))


def test_who_answered_late_does_not_lose_with_the_silent(tmp_path: Path) -> None:
    """Bob has missed the turn, too; his orders are in no bundle, as it was not played."""
    referee = Referee(tmp_path)
    ann, bob = referee.begun(f"{SMALL}\nmiss: forfeit", SETUPS)
    referee.send(bob, "extend m1 3d\n")
    referee.wait(11 * DAY)
    referee.send(bob, bob.filled("orders", ""))
    referee.wait(3 * DAY)
    found = bundle.read(attachment(ann.find("the end"), ".zip"))
    referee.close()
    told = [(entry.type, entry.body.get("seat", entry.body.get("seats"))) for entry in found.entries]
    assert told[3:6] == [("missed", 2), ("missed", 1), ("forfeited", [1])]
    assert both(found) is True


@pytest.mark.parametrize(
    "lie", [{"seat": 2, "against": [1]}, {"against": [1]}, {"against": []}, {"mail": "0" * 64}], ids=str
)
def test_a_claim_is_signed_and_against_a_silent_seat(lie: dict[str, Any]) -> None:
    found = good("claim")
    fails_for_both(retold(found, nth(found, "claimed"), **lie))


def test_a_claim_needs_a_miss() -> None:
    found = good("claim")
    fails(without_entry(found, nth(found, "missed")))
