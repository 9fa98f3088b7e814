"""Orders in advance: what no position would accept is refused by the second verifier's rules as by ours."""

from __future__ import annotations

import pytest
from in_a_box.small_games import FLEETS, PIECES

from pbem.games import parts, rules
from verifier.rules import Refused
from verifier.rules import rules as second_rules

SHIPS = ("A b1 N\nB c1 N\nC d1 N", "D b9 S\nE c9 S\nF d9 S")
SETUPS = {"spaceships": (FLEETS[0], FLEETS[0]), "dueling-masters": tuple(PIECES.values()), "shoot-em-up": SHIPS}
STORED = {
    "spaceships": ("", "Gx3 Gx3 Gx3", "kRv1 Gx3", "bGx1Gx3", "Gx3 next Gx4", "if lost any then m1 Gx3 else Rv1"),
    "dueling-masters": ("", "Z1 D1-D2", "Z1 A6-A7 # once it is there", "if lost Z1 then W A10-B8 else Z1 D1-D2"),
    "shoot-em-up": ("", "A: FMS", "D: FMS", "A FMS\n\nA FMS"),
}
NEVER = {
    "spaceships": (
        "Bz9",
        "bGx1Gx4",
        "next Gx3 next Gx4",
        "Gx3 next Gx3",
        "mv Gx3 next Gx3",
        "if x then Gx3",
        "if lost any then Gx3 else Bz9",
        "Gx3 if",
    ),
    "dueling-masters": (
        "Z9 A1-A2",
        "* A1-A2",
        "Z1 D1-D2 Z1 D2-D3",
        "X1 A6-J1",
        "H D1-D2",
        "Z1 D1-D2 else",
        "if lost Z1 then X1 A6-J1 else Z1 D1-D2",
        "Z1",
    ),
    "shoot-em-up": ("A: FM", "A: FMS B: FMS", "if lost A then A: FMS"),
}


@pytest.mark.parametrize("game", SETUPS)
def test_what_could_be_stored(game: str) -> None:
    judge, second = rules(game), second_rules(game)
    options, given = judge.options({}, 2), second.options({}, 2)
    if game == "spaceships":
        options, given = judge.options({"fleet": "cost:3"}, 2), second.options({"fleet": "cost:3"}, 2)
    setups = [judge.setup(options, seat, setup) for seat, setup in enumerate(SETUPS[game], start=1)]
    state, position = judge.begin(options, setups), second.begin(given, [setup.text for setup in setups])
    for text in (*STORED[game], *NEVER[game]):
        refused = False
        try:
            position.store(1, 0, text)
        except Refused:
            refused = True
        assert bool(parts.ahead(judge, state, 1, 0, text)) == refused == (text in NEVER[game]), text


def test_no_orders_for_a_turn_of_the_other() -> None:
    judge, second = rules("dueling-masters"), second_rules("dueling-masters")
    setups = [judge.setup(judge.options({}, 2), seat, text) for seat, text in enumerate(PIECES.values(), start=1)]
    state, position = judge.begin(judge.options({}, 2), setups), second.begin({}, [setup.text for setup in setups])
    for turn in (1, 3):
        assert not parts.ahead(judge, state, 1, turn, "")
        position.store(1, turn, "")
        assert parts.ahead(judge, state, 2, turn, "")
        with pytest.raises(Refused):
            position.store(2, turn, "")
