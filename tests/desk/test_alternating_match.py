"""A match of an alternating game through the desk: one seat is asked at a time, and none sees too much."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from in_a_box.referee import Mailbox, Referee, body
from in_a_box.small_games import PIECES

from pbem.proof.verification import verify

if TYPE_CHECKING:
    from collections.abc import Mapping


def begun(referee: Referee, options: str = "", setups: Mapping[str, str] = PIECES) -> list[Mailbox]:
    return referee.table("dueling-masters", options, setups)


def move(referee: Referee, person: Mailbox, order: str) -> None:
    referee.send(person, person.filled("orders", f"final\n{order}"))


def told(person: Mailbox, turn: int) -> str:
    return body(person.find(f"turn {turn}"))


def proved(person: Mailbox) -> list[str]:
    # A large one comes in a letter of its own.
    files = [part for letter in person.letters for part in letter.iter_attachments()]
    bundles = [part.get_content() for part in files if (part.get_filename() or "").endswith(".zip")]
    checks = list(verify(bundles[-1]))
    assert all(check.holds for check in checks), checks
    return [check.found for check in checks]


def test_a_game_is_played_to_the_reveal_and_proved(referee: Referee) -> None:
    ann, bob = begun(referee)
    assert "Turn 1 is yours" in body(ann.find("begins"))
    assert "You have nothing to do in turn 1" in body(bob.find("begins"))
    move(referee, ann, "Z1 D1-J1")
    assert "You have nothing to do in turn 2" in told(ann, 1)
    assert "Z1 D1-J1" in told(ann, 1)
    assert "Turn 2 is yours" in told(bob, 1)
    assert "departure  ann's Z1 departs from D1" in told(bob, 1)
    assert "D1-J1" not in told(bob, 1)
    referee.read_cold()
    move(referee, bob, "Z1 G2-G3")
    move(referee, ann, "Z1 J1-J2")
    reveal = ann.find(", the end")
    assert "You won" in body(reveal)
    assert proved(ann) == proved(bob)
    assert proved(ann)[-1].startswith("ann won")


def test_a_pass_is_made_for_the_one_who_cannot_move(referee: Referee) -> None:
    """Bob's whole fleet stands on G5 and is taken by the knight; from then on Ann alone is asked."""
    stacked = "* I2 I4 I6 I8 I10 G1 F1\nW G5\nB G5\nX G5 G5\nY G5 G5\nZ G5 G5 G5 G5\nH J1"
    own = PIECES["ann"].replace("B5 ", "C5 ").replace("W A10", "W E4")
    ann, bob = begun(referee, "max_turns: 9", {"ann": own, "bob": stacked})
    move(referee, ann, "W E4-G5")
    move(referee, bob, "Z4 G5-C5")
    move(referee, ann, "W G5-E4")
    move(referee, bob, "Z4 C5-D5")
    move(referee, ann, "Z2 D4-D3")
    referee.read_cold()
    assert "You have nothing to do in turn 6" in told(ann, 5)
    assert "Turn 7 is yours" in told(ann, 6)
    assert "bob has no legal move" in told(ann, 6)
    assert "You have nothing to do in turn 7" in told(bob, 6)
    move(referee, ann, "Z2 D3-D2")
    move(referee, ann, "Z2 D2-D3")
    assert "draw" in body(bob.find(", the end"))
    assert any("the record replays" in found for found in proved(bob))


@pytest.mark.long
def test_hundreds_of_turns_that_ask_nobody(referee: Referee) -> None:
    """All fighters are gone, and both home planets walled in: both pass until the last turn."""
    stacked = "W {0}\nB {0}\nX {0} {0}\nY {0} {0}\nZ {0} {0} {0} {0}"
    setups = {
        "ann": "* A2 B1 B2 E9 D1 D2 D3\nH A1\n" + stacked.format("E10"),
        "bob": "* J2 I1 I2 G1 G2 G3 G4\nH J1\n" + stacked.format("G9"),
    }
    ann, bob = begun(referee, "mobile_home: true\nmax_turns: 600", setups)
    move(referee, ann, "W E10-G9")
    move(referee, bob, "B G9-G10")
    move(referee, ann, "W G9-E10")
    move(referee, bob, "B G10-E10")
    move(referee, ann, "Z4 E10-E9")
    move(referee, bob, "B E10-E9")
    assert "after 600 turns" in body(ann.find(", the end"))
    assert any("the record replays" in found for found in proved(ann))
