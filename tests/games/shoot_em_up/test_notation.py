"""Setups and orders: every way to write them, their faults in the order written, and the canonical text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from judges.refusals import faults, messages

from pbem.games.shoot_em_up import RULES, State

if TYPE_CHECKING:
    from collections.abc import Mapping

OPTIONS = RULES.options({}, 3)
SETUP = "A b1 N\nB e1 W\nC h1 S"
SETUPS = (SETUP, "D b9 S\nE c9 S\nF d9 S", "G a2 E\nH a3 E\nI a4 E")
ORDERS = "A: FMS\nB: LRL\nC: MMM"


def state() -> State:
    return RULES.begin(OPTIONS, [RULES.setup(OPTIONS, seat, text) for seat, text in enumerate(SETUPS, start=1)])


@pytest.mark.parametrize(
    "text",
    [
        SETUP,
        SETUP.replace("\n", "\r\n"),
        SETUP.replace("\n", "\r"),
        "\n\n  " + SETUP.replace("\n", "  \n\n\t").replace(" ", "   ") + "\n",
        "C h1 S\nA b1 N\nB e1 W",
        SETUP.replace(" ", "\N{NO-BREAK SPACE}"),
    ],
)
def test_ways_to_write_a_setup(text: str) -> None:
    setup = RULES.setup(OPTIONS, 1, text)
    assert setup.text == SETUP
    assert RULES.setup(OPTIONS, 1, setup.text) == setup


@pytest.mark.parametrize(
    "text",
    [
        ORDERS,
        ORDERS.replace(":", ""),
        ORDERS.replace(":", " :").replace("\n", "\r\n"),
        ORDERS.replace(": ", ":"),
        "\nC MMM\n\n  B :LRL \nA:\tFMS\n\n",
    ],
)
def test_ways_to_write_orders(text: str) -> None:
    orders = RULES.order(state(), 1, text)
    assert orders.text == ORDERS
    assert RULES.order(state(), 1, orders.text) == orders


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", [("4", None, None)] * 3),
        ("A b1 N\nB e1\nC h1 S\n", [("4", "B e1", 2)]),
        ("A a1 N\nB i1 N\nC b2 N", [("2", "A a1 N", 1), ("2", "B i1 N", 2), ("2", "C b2 N", 3)]),
        ("A b1 N\n\nB b1 N\nC b1 N", [("5", "B b1 N", 3), ("5", "C b1 N", 4)]),
        ("A j1 N\nB b10 N\nC z99 S", [("1", "A j1 N", 1), ("1", "B b10 N", 2), ("1", "C z99 S", 3)]),
        ("A b0 N\nB e01 N\nC h1 X", [("4", "A b0 N", 1), ("4", "B e01 N", 2), ("4", "C h1 X", 3)]),
        ("A b1 N\nB e1 N\nC h1 N\nA d1 N\nK d1 N", [("4", "A d1 N", 4), ("3", "K d1 N", 5)]),
        ("Ab1N\nB e1 N\nC h1 N", [("4", "Ab1N", 1), ("4", None, None)]),
        ("A: b1 N\nB e1 N\nC h1 N", [("4", "A: b1 N", 1)]),
    ],
)
def test_faults_of_setups(text: str, found: Any) -> None:
    assert faults(RULES.setup, OPTIONS, 1, text) == found


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", [("8", None, None)] * 3),
        ("A: FM\nB: LRL\nC: MMM", [("7", "A: FM", 1)]),
        ("AFMS\nB: LRL\nC: MMM", [("7", "AFMS", 1), ("8", None, None)]),
        ("A: FMS\nA: FMS\nG: MMM", [("8", "A: FMS", 2), ("8", "G: MMM", 3), ("8", None, None), ("8", None, None)]),
        ("a: FMS\n\nB: LRl\nC: MMM go", [("7", "a: FMS", 1), ("7", "B: LRl", 3), ("7", "C: MMM go", 4)]),
        ("A: FMS; B: LRL; C: MMM", [("7", "A: FMS; B: LRL; C: MMM", 1), ("8", None, None), ("8", None, None)]),
        ("A:: FMS\nB: LRL\nC: MMM", [("7", "A:: FMS", 1)]),
        ("M: FMS\nA: FMS\nB: LRL\nC: MMM", [("7", "M: FMS", 1)]),
    ],
)
def test_faults_of_orders(text: str, found: Any) -> None:
    assert faults(RULES.order, state(), 1, text) == found


@pytest.mark.parametrize(
    ("judge", "text", "says"),
    [
        (
            "setup",
            "A b1\nB e1 W\nC h1 S",
            "write a ship, a square and a facing, such as `A c1 N`, on a line of its own",
        ),
        ("setup", f"{SETUP}\nD b9 N", "D is not your ship: you have A, B and C"),
        ("setup", f"{SETUP}\nA d1 N", "A has a line already"),
        ("setup", "A b1 N\nB e1 W\nC b1 S", "A starts on b1 already"),
        ("setup", "A b1 N\nB e1 W", "C has no line"),
        ("setup", SETUP.replace("h1", "j1"), "there is no j1 on a board of 9x9"),
        ("setup", SETUP.replace("h1", "i1"), "i1 is not in your home zone, the south edge without its corners"),
        (
            "order",
            "A: FM\nB: LRL\nC: MMM",
            "write a ship and three of L R F M S, such as `A: FMS`, on a line of its own",
        ),
        ("order", f"{ORDERS}\nA: FFF", "A has a line already"),
        ("order", "A: FMS\nB: LRL", "C has no line"),
        ("order", f"{ORDERS}\nG: FFF", "G is not your ship"),
    ],
)
def test_what_is_wrong_is_said(judge: str, text: str, says: str) -> None:
    place = {"setup": (OPTIONS, 1), "order": (state(), 1)}[judge]
    assert says in messages(getattr(RULES, judge), *place, text)


@pytest.mark.parametrize(
    ("raw", "seats", "says"),
    [
        ({"board": "4x9"}, 2, 'option board: columns x rows, 5 to 26 each, such as "9x9"'),
        ({"board": "9x27"}, 2, 'option board: columns x rows, 5 to 26 each, such as "9x9"'),
        ({"max_turns": 0}, 2, "option max_turns: a whole number from 1 to 9999"),
        ({"max_turns": 2**53 + 1}, 2, "option max_turns: a whole number from 1 to 9999"),
        ({"board": "09x9"}, 2, 'option board: columns x rows, 5 to 26 each, such as "9x9"'),
        ({"board": ["9", "9"]}, 2, 'option board: columns x rows, 5 to 26 each, such as "9x9"'),
        ({"max_turns": True}, 2, "option max_turns: a whole number from 1 to 9999"),
        ({"ships": 4}, 2, "there is no option ships"),
        *(({}, seats, "Shoot 'em up Spaceships is a game for two, three or four") for seats in (1, 5, True, 2.0)),
    ],
)
def test_what_is_wrong_with_an_option_is_said(raw: Mapping[str, Any], seats: Any, says: str) -> None:
    assert messages(RULES.options, raw, seats) == [says]
