"""Setups and orders: every way to write them, their faults in the order written, and the canonical text."""

from __future__ import annotations

from typing import Any

import pytest
from judges.refusals import faults, messages

from pbem.games.spaceships import RULES, Options, State
from pbem.games.spaceships.knowledge import unused
from pbem.games.spaceships.notation import Entitled, Orders
from pbem.games.spaceships.space import NAMES
from pbem.games.spaceships.turn import NOBODY

ANN = "DS Ov1-Yw2\nKC Gv4-Gx5\nPC Rz1-Rz4\nMD Bx1 By1 Bz1\nHS Bv5 Bw5"
BOB = "DS Ry3-Oz4\nKC Yv1-Yw3\nFS Bv1-Bw2\nMD Gx3 Gx4 Gx5\nLS Rv1"
CANONICAL_BOB = (
    "DS Ry3 Ry4 Rz3 Rz4 Oy3 Oy4 Oz3 Oz4\nKC Yv1 Yv2 Yv3 Yw1 Yw2 Yw3\nFS Bv1 Bv2 Bw1 Bw2\nMD Gx3 Gx4 Gx5\nLS Rv1"
)
STANDARD = RULES.options({}, 2)
TWO_STARS = RULES.options({"fleet": "cost:16"}, 2)
STARS = "DS1 Rv1-Ow2\nDS2 Bv1-Bw4"


def state(options: Options = STANDARD, one: str = ANN, two: str = BOB) -> State:
    return RULES.begin(options, [RULES.setup(options, 1, one), RULES.setup(options, 2, two)])


def setup_faults(text: str, options: Options = STANDARD) -> list[tuple[str, str | None, int | None]]:
    return faults(RULES.setup, options, 2, text)


def order_faults(text: str, at: State | None = None) -> list[tuple[str, str | None, int | None]]:
    return faults(RULES.order, at or state(), 2, text)


@pytest.mark.parametrize(
    "text",
    [
        BOB,
        CANONICAL_BOB,
        BOB.replace("\n", " "),
        BOB.replace("\n", "\r\n"),
        BOB.replace(" ", "\N{NO-BREAK SPACE}"),
        "\n\n" + BOB.replace("\n", " ; # a comment, DS Rv1\n,") + "  # end",
        BOB.replace("DS", "DS1").replace("LS", "LS1"),
        BOB.replace("Yv1-Yw3", "Yw3 -\n Yv1"),
        BOB.replace("Yv1-Yw3", "Yv1-Yv3 Yw3-Yw2 Yw1"),
        "\n".join(reversed(BOB.splitlines())),
    ],
)
def test_ways_to_write_a_setup(text: str) -> None:
    assert RULES.setup(STANDARD, 2, text).text == CANONICAL_BOB


def grids(setup_text: str) -> str:
    ships = [line.split() for line in setup_text.splitlines()]
    words = {cell: name for name, *cells in ships for cell in cells}
    rows = [" ".join(words.get(cell, ".") for cell in NAMES[start : start + 5]) for start in range(0, 125, 5)]
    return "\n\n".join("\n".join(rows[start : start + 5]) for start in range(0, 25, 5))


def test_grids_are_an_equal_alternative() -> None:
    text = grids(CANONICAL_BOB)
    assert text.splitlines()[-2] == ". . . . ."
    assert RULES.setup(STANDARD, 2, text).text == CANONICAL_BOB
    assert RULES.setup(STANDARD, 2, text.replace(" ", "\t,") + "\n# done").text == CANONICAL_BOB


def test_a_space_full_of_ships_is_a_grid_without_a_dot() -> None:
    options = RULES.options({"fleet": "cost:125"}, 2)
    words = [f"LG{number}" for number in range(1, 126)]
    text = "\n".join(" ".join(words[start : start + 5]) for start in range(0, 125, 5))
    setup = RULES.setup(options, 1, text)
    assert setup.text.splitlines()[124] == "LG125 Bz5"
    assert RULES.setup(options, 1, setup.text) == setup


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (BOB.replace("LS Rv1", "LS"), [("4", "LS", 5)]),
        (BOB.replace("LS Rv1", "LS Rv1 Rv1"), [("10", "Rv1", 5)]),
        (BOB.replace("LS Rv1", "LS Gx4"), [("10", "Gx4", 5)]),
        (BOB.replace("LS Rv1", "LS Rv6"), [("10", "Rv6", 5)]),
        (BOB.replace("LS Rv1", "LS Rv1Rv2"), [("10", "Rv1Rv2", 5)]),
        (BOB.replace("LS Rv1", "LS R v1"), [("10", "R", 5), ("10", "v1", 5)]),
        (BOB.replace("LS Rv1", "LS01 Rv1"), [("10", "LS01", 5)]),
        (BOB.replace("LS Rv1", "LS0 Rv1"), [("10", "LS0", 5)]),
        (BOB.replace("LS Rv1", "LS2 Rv1"), [("6", "LS2", 5)]),
        (BOB.replace("LS Rv1", "HS Rv1"), [("4", "HS", 5)]),
        (BOB.replace("LS Rv1", "LG Rv1"), [("7", None, None)]),
        (BOB.replace("LS Rv1", "LS Rv1, -Rv1"), [("10", "-Rv1", 5)]),
        ("Rv1\n" + BOB, [("10", "Rv1", 1)]),
        ("", [("7", None, None)]),
        ("# nothing", [("7", None, None)]),
        (
            "LS Rv9\nMD Gx3 Gx5 Gx4 Gx4\nzz Rv1\nKC Yv1-Yw2",
            [("10", "Rv9", 1), ("10", "Gx4", 2), ("10", "zz", 3), ("4", "KC", 4)],
        ),
    ],
)
def test_faults_of_setups(text: str, expected: Any) -> None:
    assert setup_faults(text) == expected


@pytest.mark.parametrize(
    ("ships", "expected"),
    [
        ("LG Rv1\nLG Rv2", [("6", "LG", 1), ("6", "LG", 2)]),
        ("LG1 Rv1\nLG1 Rv2", [("6", "LG1", 2)]),
        ("LG1 Rv1\nLG3 Rv2", [("6", "LG3", 2)]),
        ("LG1 Rv1\nLG Rv2", [("6", "LG", 2)]),
    ],
)
def test_faults_of_numbers(ships: Any, expected: Any) -> None:
    assert setup_faults(ships, RULES.options({"fleet": "cost:2"}, 2)) == expected


def test_which_rule_a_fleet_breaks() -> None:
    more = RULES.options({"additional": [0, 3]}, 2)
    assert setup_faults(BOB, more) == [("8", None, None)]
    none_allowed = RULES.options({"additional": [0, 1], "additional_allowed": {"AG": 1}}, 2)
    assert setup_faults(BOB + "\nLG Rv5", none_allowed) == [("9", None, None)]


def test_faults_of_grids() -> None:
    rows = grids(CANONICAL_BOB).splitlines()
    assert setup_faults("\n".join(rows[1:])) == [("12", None, None)]
    assert setup_faults("\n".join([rows[0].removesuffix(" ."), *rows[1:]])) == [("12", "LS . . .", 1)]
    assert setup_faults("\n".join([rows[0][:-1] + "Xx", *rows[1:]])) == [("12", "Xx", 1)]


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("", ""),
        (" \n\t,;# only a comment", ""),
        ("Gx3,Gx4;Gx5\nGx3", "Gx3 Gx4 Gx5 Gx3"),
        ("Gx3#Gx4\nGx5", "Gx3 Gx5"),
        ("Gx3 # Gx4\rGx5", "Gx3 Gx5"),
        ("b\nRy1 -\nRy3 (DS1)", "bRy1Ry3"),
        ("bRy1Ry3", "bRy1Ry3"),
        ("b # why\n Ry3-Ry1(DS)", "bRy3Ry1"),
        ("m4 Bv5", "m4 Bv5"),
        ("mGx4Bv5", "mGx4 Bv5"),
        ("mGx4 Bv5", "mGx4 Bv5"),
        ("m\nx5Bv5", "mx5 Bv5"),
        ("mG3Gx3 Gx4", "mG3 Gx3 Gx4"),
        ("s\N{NO-BREAK SPACE}Rv1", "sRv1"),
        ("sRv1 Gx3 m3 Gx3 bRy1Ry3 Gx3", "sRv1 Gx3 m3 Gx3 bRy1Ry3 Gx3"),
    ],
)
def test_ways_to_write_orders(text: str, canonical: str) -> None:
    orders = RULES.order(state(), 2, text)
    assert orders.text == canonical
    assert RULES.order(state(), 2, canonical) == orders


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("gx3", [("36", "gx3", 1)]),
        ("Gx3Gx4", [("36", "Gx3Gx4", 1)]),
        ("m Gx3", [("37", "m Gx3", 1)]),
        ("mGx3", [("37", "mGx3", 1)]),
        ("m, Gx3", [("36", "m", 1)]),
        ("m3G Gx3", [("36", "m3G", 1)]),
        ("mG Gx3", [("37", "mG Gx3", 1)]),
        ("mR Gx3", [("37", "mR Gx3", 1)]),
        ("m3 Gx3 m4 Gx3", [("19", "m4 Gx3", 1)]),
        ("m3 Gx3 m3 Gx3", [("19", "m3 Gx3", 1)]),
        ("s Rv1 s Rv2 sRv3", [("18", "s Rv2", 1)]),
        ("bRv1Rv2", [("3", "bRv1Rv2", 1)]),
        ("bRv1Rv1", [("3", "bRv1Rv1", 1)]),
        ("bRv1Rw3", [("3", "bRv1Rw3", 1)]),
        ("bRv1Rv5", [("3", "bRv1Rv5", 1)]),
        ("bRv1--Rv3", [("36", "bRv1--Rv3", 1)]),
        ("bRv1Rv3 (DS2)", [("38", "bRv1Rv3 (DS2)", 1)]),
        ("bRv1Rv3 (KC)", [("38", "bRv1Rv3 (KC)", 1)]),
        ("bRv1Rv3(DS)(DS)", [("36", "bRv1Rv3(DS)(DS)", 1)]),
        ("bRv1Rv3(ds)", [("36", "bRv1Rv3(ds)", 1)]),
        ("m3Rv1Gx3", [("36", "m3Rv1Gx3", 1)]),
        ("kRv1", [("36", "kRv1", 1)]),
        ("sGx", [("36", "sGx", 1)]),
        ("s\n Gx3 sGx4", [("18", "sGx4", 2)]),
        ("bRv1Rv3 ( DS)", [("36", "(", 1), ("36", "DS)", 1)]),
        ("bRv1Rv3\nbRv1Rv3", [("19", "bRv1Rv3", 2)]),
        ("kGx3 Rv1", [("16", "kGx3 Rv1", 1)]),
        ("kRv1 Rv1", [("16", "kRv1 Rv1", 1)]),
        ("kRy3 Rv1", [("16", "kRy3 Rv1", 1)]),
        ("kRv5-Rv1", [("36", "kRv5-Rv1", 1)]),
        ("?\r\nx\rsRv1 # ok\n!", [("36", "?", 1), ("36", "x", 2), ("36", "!", 4)]),
        (
            "zz Rv1 Rv2 Rv3 Rv4 Rv5 Rw1 Rw2\n Rw3 Rw4, m9 ; kRv1 Gx3",
            [("36", "zz", 1), ("14", "Rw3", 2), ("36", "m9", 2), ("16", "kRv1 Gx3", 2)],
        ),
    ],
)
def test_faults_of_orders(text: str, expected: Any) -> None:
    assert order_faults(text) == expected


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("foo", "`foo` is not an order"),
        ("Rv1 Rv2 Rv3 Rv4 Rv5 Rw1 Rw2 Rw3", "that is one too many: you have 7 conventional strikes this turn"),
        ("sRv1 sRv2", "that is one too many: you have one scan this turn"),
        ("m Rv1", "which missile? Name at least one of its letters and digits, even if only one is left"),
        ("mR Rv1", "you have no unfired missile at R"),
        ("mG Rv1", "3 of your unfired missiles match G"),
        ("mGx3 Rv1 mGx4 Rv2", "MD has only one missile strike a turn"),
        ("kRv5 Rv1", "you have no ship at Rv5"),
        ("kRy3 Rv1", "a death star never flies a kamikaze strike"),
        ("kRv1 Rv1", "a light scout never flies a kamikaze strike"),
        ("kYv1 Rv1", "KC may not fly a kamikaze strike this turn"),
        ("bRv1Rv2", "Rv1 and Rv2 are not the ends of a line of three cells"),
        ("bRv1Rv3(DS2)", "you have no DS2 that can fire along this line"),
        ("bGx1", "`bGx1` is not an order"),
        ("kGx1", "`kGx1` is not an order"),
        ("Gx9", "there is no cell `Gx9`: the cells of a plane go from v1 to z5"),
        ("sGa1", "there is no cell `sGa1`: the cells of a plane go from v1 to z5"),
        ("bRv1Rv3 bRv1Rv3", "DS fires its beam only once a turn"),
    ],
)
def test_what_is_wrong_with_orders_is_said(text: str, says: str) -> None:
    assert says in messages(RULES.order, state(), 2, text)


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("FS", "KC", "there are 2 KC: number them from KC1"),
        ("FS", "KC", "KC has 4 cells; a kill cruiser has 6"),
        ("LS Rv1", "LS2 Rv1", "LS2: the numbers of LS go up to 1"),
        ("LS Rv1", "LS1 Rv1\nLS1 Rv2", "there are two LS1"),
        ("Gx3 Gx4 Gx5", "Gx3 Gx4 Gv5", "the cells of MD do not have the shape of a missile destroyer"),
        ("LS Rv1", "LG Rv1", "this is not the standard fleet; missing: LS/HS"),
        ("LS Rv1", "LS1 Rv1\nLS2 Rv2", "these ships cost 27; they are not the standard fleet"),
        (BOB, "DS Rv1-Ow2", "this is not the standard fleet; missing: KC, FS/PC, MD, LS/HS"),
    ],
)
def test_what_is_wrong_with_a_setup_is_said(old: str, new: str, says: str) -> None:
    assert says in messages(RULES.setup, STANDARD, 2, BOB.replace(old, new))


def test_beams_name_their_ship_just_where_they_must() -> None:
    stars = state(TWO_STARS, STARS, STARS)
    assert RULES.order(stars, 1, "bRv1Rv3(DS2) bRv1Yx3 (DS1)").text == "bRv1Rv3(DS2) bRv1Yx3"
    assert order_faults("bRv1Rv3", stars) == [("38", "bRv1Rv3", 1)]
    assert order_faults("bRv1Rv3(DS)", stars) == [("38", "bRv1Rv3(DS)", 1)]
    assert order_faults("bRv1Yx3 (DS2)", stars) == [("38", "bRv1Yx3 (DS2)", 1)]
    assert order_faults("bRv1Rv3 (DS1)\nbRv1Yx3", stars) == [("19", "bRv1Yx3", 2)]


LINE = ((0, 1, 2), 0)


@pytest.mark.parametrize(
    ("orders", "left"),
    [
        (Orders("", (), (), (), (), 0), ["3 conventional strikes", "2 beams", "2 scans"]),
        (Orders("", (LINE,), (1, 2, 3, 4), (5,), (6,), 0b1000), ["1 conventional strike", "1 beam", "1 scan"]),
        (Orders("", (LINE, LINE), (1, 2, 3), (5, 6), (), 0), []),
    ],
)
def test_what_was_not_ordered(orders: Orders, left: list[str]) -> None:
    """A missile and a kamikaze strike, too, and use no other strike up."""
    side = NOBODY._replace(entitled=Entitled(3, 0b1100, 0b11, ((0, 1), (1, 1)), 2))
    assert list(unused(State(Options(), 1, (side, NOBODY)), 1, orders)) == left
