"""Setups and orders: every way to write them, all faults in the order written, canonical text, and invariants."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from judges.refusals import faults, messages, refused

from pbem.games import Options, State, parts, rules
from verifier.rules import Refused as SecondRefused
from verifier.rules import rules as second_rules

if TYPE_CHECKING:
    from collections.abc import Mapping

JUDGE = rules("dueling-masters")
SECOND = second_rules("dueling-masters")
STANDARD = JUDGE.options({}, 2)
ANN = "* B1 B3 B5 B7 B9 D10 E10\nW A10\nB A8\nX A6 A7\nY C8 C10\nZ D2 D4 D6 D8\nH A1"
BOB = "* I2 I4 I6 I8 I10 G1 F1\nW J10\nB J8\nX J6 J7\nY H8 H10\nZ G2 G4 G6 G8\nH J1"
CANONICAL_BOB = BOB.replace("* I2 I4 I6 I8 I10 G1 F1", "* F1 G1 I2 I4 I6 I8 I10")


def start(options: Options = STANDARD) -> State:
    return JUDGE.begin(options, [JUDGE.setup(options, 1, ANN), JUDGE.setup(options, 2, BOB)])


@pytest.mark.parametrize(
    "text",
    [
        BOB,
        BOB.replace("\n", " "),
        BOB.replace("\n", "\r\n"),
        BOB.replace(" ", ", ") + "  # at last",
        BOB.replace("Z G2 G4 G6 G8", "Z4 G8\nZ2 G4\nZ1 G2\nZ3 G6"),
        BOB.replace("W J10", "W1 J10").replace("H J1", "H1 J1").replace("B J8", "  B1 J8"),
        BOB.replace("* I2 I4 I6", "* I2\n* I4\n* I6\n*"),
        "\n".join(reversed(BOB.split("\n"))),
        BOB.replace("B J8", "\u00a0B1 J8").replace("\n", " # a line\r"),
    ],
)
def test_one_setup_in_many_forms(text: str) -> None:
    assert JUDGE.setup(STANDARD, 2, text).text == SECOND.setup({}, 2, text) == CANONICAL_BOB


def test_only_the_names_of_pieces_in_the_game_are_pieces_at_the_start_of_a_line() -> None:
    one, three = ({"homes": homes} for homes in (1, 3))
    for options, rest in ((one, "Y H8\nH2\nH J1"), (three, "Y H8 H2\nH2 J2\nH1 J1\nH3 J3")):
        text = BOB.replace("Y H8 H10", "").replace("H J1", rest)
        again = JUDGE.setup(JUDGE.options(options, 2), 2, text).text
        assert again == SECOND.setup(options, 2, text)
        assert "Y H8 H2\nZ" in again


def test_kinds_run_together_are_no_kind() -> None:
    text = BOB.replace("W J10", "WB\nW J10")
    assert faults(JUDGE.setup, STANDARD, 2, text) == [("34", "WB", 2)]
    with pytest.raises(SecondRefused, match="ruling 34"):
        SECOND.setup({}, 2, text)


def test_all_faults_of_a_setup_in_the_order_written() -> None:
    text = "* A1 K9 I2\nW J10 J9\nZ7 G2\nH I2\n"
    assert faults(JUDGE.setup, STANDARD, 2, text) == [
        ("2", "A1", 1),
        ("34", "K9", 1),
        ("2", "J9", 2),
        ("36", "Z7", 3),
        ("3", "I2", 4),
    ]
    assert faults(JUDGE.setup, STANDARD, 1, "")[0] == ("2", None, None)
    assert len(faults(JUDGE.setup, STANDARD, 1, "")) == 12


def test_all_faults_of_an_order() -> None:
    state = start()
    assert faults(JUDGE.order, state, 1, "X2 A8-C8") == [("9", "X2 A8-C8", None)]
    assert faults(JUDGE.order, state, 1, "X2 A7-J7") == [("6", "X2 A7-J7", None)]
    assert faults(JUDGE.order, state, 1, "H A2-A3") == [("9", "H A2-A3", None), ("4", "H A2-A3", None)]


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("* I2", "* A1", "A1 is not in your half"),
        ("* I2", "* J10", "J10: asteroids and home planets must stand alone"),
        ("* I2", "I2 *", "I2 comes before the first piece"),
        ("* I2", "* F2 I2", "F1: there are only 7 asteroids"),
        ("* I2", "*", "place 7 asteroids, not 6"),
        ("J6 J7", "J6 J7 F5", "F5 is one square too many for X"),
        ("\nH J1", "", "H is not placed"),
        ("\nZ G2 G4 G6 G8", "\nZ G2 G4 G6", "Z4 is not placed"),
        ("\nH J1", "\nH J1\nW J9", "W is placed twice"),
        ("J6 J7", "J6 W1 J7", "W1 is read as a piece only at the start of a line"),
        ("\nH J1", "\nH J1\nZ5 J9", "there is no piece Z5"),
        ("\nH J1", "\nH J1\nQ9", "`Q9` is neither a piece nor a square"),
    ],
)
def test_what_is_wrong_with_a_setup_is_said(old: str, new: str, says: str) -> None:
    assert old in BOB
    assert says in messages(JUDGE.setup, STANDARD, 2, BOB.replace(old, new, 1))


@pytest.mark.parametrize(
    ("order", "rule", "says"),
    [
        ("Z1 D2-D3 Z2 D4-D5", "8", "a turn is one order"),
        ("Z1 D2", "37", "`Z1 D2` is not an order; write for example Z2 A1-C3"),
        ("Z1 D2-D3 now", "8", "a turn is one order"),
        ("Z5 D2-D3", "36", "there is no piece `Z5`"),
        ("Z1 D3-D4", "9", "Z1 does not stand on D3"),
        ("* B1-B2", "4", "asteroids do not move"),
        (" ; # well", "25", "a player with a legal move may not pass"),
        ("H A1-A2", "4", "H does not move"),
        ("Z1 D2-J10", "4", "Z1 does not move from D2 to J10"),
        ("X1 A6-A1", "5", "A1: no move passes over or ends on your own home planet"),
        ("X2 A7-J7", "6", "B7: no move passes over your own asteroid"),
    ],
)
def test_what_is_wrong_with_an_order_is_said(order: str, rule: str, says: str) -> None:
    asked = (JUDGE.order, start(), 1, order)
    assert (rule, says) in zip(refused(*asked), messages(*asked), strict=True)


@pytest.mark.parametrize("written", ["Z1,D2-D3", "Z1 D2 - D3;", ",Z1;D2 -,D3 # ;", "\u00a0Z1 D2-D3\u3000;"])
def test_commas_and_semicolons_are_blanks_in_an_order_too(written: str) -> None:
    assert JUDGE.order(start(), 1, written).text == "Z1 D2-D3"
    assert SECOND.begin({}, [ANN, BOB]).order(1, written) == "Z1 D2-D3"


def test_what_a_destroyed_piece_and_a_home_planet_may_not_is_said() -> None:
    options = JUDGE.options({"mobile_home": True}, 2)
    state: Any = start(options)
    own = state.sides[0]
    assert messages(JUDGE.order, state, 1, "H A1-B1") == ["B1: a home planet never rams"]
    gone = state._replace(sides=(own._replace(squares=(-1, *own.squares[1:])), state.sides[1]))
    assert faults(JUDGE.order, gone, 1, "W A10-C9") == [("10", "W A10-C9", None)]
    assert messages(JUDGE.order, gone, 1, "W A10-C9") == ["W is destroyed"]


def test_an_order_for_a_later_turn_is_for_a_turn_of_ones_own_and_of_this_game() -> None:
    found = [parts.ahead(JUDGE, start(), 2, turn, "Z1 G2-G3") for turn in (0, 2, 3, 400, 401, 402)]
    assert [[(fault.rule, fault.token) for fault in faults] for faults in found] == [
        *([], [], [("8", "turn 3")], []),
        *([("8", "turn 401"), ("28", "turn 401")], [("28", "turn 402")]),
    ]
    assert [str(fault.message) for fault in found[4]] == [
        "players move in turn, and that turn is your opponent's",
        "the game has at most 400 turns",
    ]


@pytest.mark.parametrize(
    ("raw", "says"),
    [
        ({"homes": 2}, "option homes: 1 or 3"),
        ({"homes": True}, "option homes: 1 or 3"),
        ({"mobile_home": 1}, "option mobile_home: true or false"),
        ({"max_turns": 0}, "option max_turns: a whole number from 1 to 9999"),
        ({"max_turns": 10_000}, "option max_turns: a whole number from 1 to 9999"),
        ({"planets": 1}, "there is no option planets"),
    ],
)
def test_what_is_wrong_with_an_option_is_said(raw: Mapping[str, Any], says: str) -> None:
    assert messages(JUDGE.options, raw, 2) == [says]
    assert [rule for rule, _, _ in faults(JUDGE.options, raw, 2)] == list(raw)
    assert messages(JUDGE.options, {}, 3) == ["Dueling Masters is a game for two"]
    assert faults(JUDGE.options, {}, 3) == [("seats", None, None)]
