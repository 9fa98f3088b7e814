"""A match of an alternating game that goes on for long: hundreds of turns ask nobody."""

from __future__ import annotations

from itertools import cycle

import pytest
from in_a_box.inquiries import hold_for_both
from in_a_box.referee import Referee, body

MOVES = ("W E10-G9", "B G9-G10", "W G9-E10", "B G10-E10", "Z4 E10-E9", "B E10-E9")


@pytest.mark.long
def test_hundreds_of_turns_that_ask_nobody(referee: Referee) -> None:
    """All fighters are gone, and both home planets walled in: both pass until the last turn."""
    stacked = "W {0}\nB {0}\nX {0} {0}\nY {0} {0}\nZ {0} {0} {0} {0}"
    setups = {
        "ann": "* A2 B1 B2 E9 D1 D2 D3\nH A1\n" + stacked.format("E10"),
        "bob": "* J2 I1 I2 G1 G2 G3 G4\nH J1\n" + stacked.format("G9"),
    }
    people = referee.table("dueling-masters", "mobile_home: true\nmax_turns: 600", setups)
    for person, order in zip(cycle(people), MOVES, strict=False):
        referee.turn((person, order))
    assert "after 600 turns" in body(people[0].find(", the end"))
    hold_for_both(referee.desk.archive.bundle(*referee.desk.archive.known(1), None))
