"""The check by the opponent: what may depart from where, what may stand on a path, and what cannot."""

from __future__ import annotations

import re
from typing import Any

import pytest
from playing import sealed_players

from pbem.games import Refused, Result, rules
from pbem.games.dueling_masters import RULES
from pbem.games.dueling_masters.board import SQUARES
from pbem.games.dueling_masters.notation import PASS, Orders, Setup, Side
from pbem.games.dueling_masters.sealed import SEALED, Pieces, Table, Transit
from pbem.games.dueling_masters.transit import State
from pbem.games.sealed import Falsehood, SealedStep, settled
from pbem.match import record

NAMED = RULES.options({}, 2).pieces


def pieces(**told: Any) -> Pieces:
    """The known pieces of a side: `Z1="A3"` rests there, `X1=">F3"` departed from there, `B="x"` is destroyed."""
    squares, transit, destroyed = [-1] * len(NAMED), 0, 0
    for name, where in told.items():
        if name not in NAMED:
            continue
        slot = NAMED.index(name)
        destroyed |= (where == "x") << slot
        transit |= where.startswith(">") << slot
        squares[slot] = SQUARES.get(where.lstrip(">"), -1)
    masks = [sum(1 << SQUARES[square] for square in told.get(name, "").split()) for name in ("asteroids", "checked")]
    return Pieces(tuple(squares), transit, destroyed, *masks)


def checking(start: str, end: str, **told: Any) -> Table:
    """Seat 1's Z1 went so and is to depart; seat 2 is to answer, of whom this is told."""
    slot = NAMED.index("Z1")
    return Table(
        RULES.options({}, 2),
        (pieces(Z1=f">{start}"), pieces(**told)),
        turn=3,
        departing=(slot, SQUARES[end]),
        queue=(Transit(1, slot, SQUARES[start], SQUARES[end]),),
    )


OF_A_LINE = {"4", "9", "10", "14", "15"}
"""The rulings against which one line alone can be: it is shown."""


def blamed(table: Table, seat: int, step: str, text: str) -> set[str]:
    try:
        SEALED.judge(table, seat, step, text)
    except Refused as refused:
        for fault in refused.faults:
            assert str(fault.message)
            assert "None" not in str(fault.message)
            assert "{" not in str(fault.message)
            assert fault.rule not in OF_A_LINE or fault.token in re.split(" (?=check)", text)
        return {fault.rule for fault in refused.faults}
    return set()


@pytest.mark.parametrize(
    ("told", "text", "rule"),
    [
        ({}, "Z1 A3", ""),
        ({}, "pass", ""),
        ({}, "Z1 F3", "9"),
        ({"checked": "A3"}, "Z1 A3", "9"),
        ({"Z1": "F3"}, "Z1 F3", ""),
        ({"Z1": "F3"}, "Z1 F4", "9"),
        ({"Z1": ">A3"}, "Z1 F3", ""),
        ({"Z1": ">A3"}, "Z1 F4", "9"),
        ({"Z1": "x"}, "Z1 A3", "10"),
        ({}, "H A3", "4"),
        ({}, "Z9 A3", "sealed"),
        ({}, "Z1 K3", "sealed"),
        ({}, "Z1 A3 A4", "sealed"),
        ({}, "", "sealed"),
    ],
)
def test_departures(told: dict[str, Any], text: str, rule: str) -> None:
    table = Table(RULES.options({}, 2), (pieces(**told), pieces()))
    assert blamed(table, 1, "departs", text) == ({rule} if rule else set())


@pytest.mark.parametrize(
    ("told", "text", "rule"),
    [
        ({}, "check Z1 none", ""),
        ({}, "check Z1 F3 X1", ""),
        ({}, "check Z1 F3 * G3 X1 G3 X2", ""),
        ({}, "check Z1 E3 X1", "15"),
        ({}, "check Z1 G3 X1 F3 X2", "14"),
        ({}, "check Z1 G3 X2 G3 X1", "14"),
        ({}, "check Z1 G3 X1 G3 X1", "14"),
        ({}, "check Z1 G4 X1", "14"),
        ({}, "check Z1 F3 X1 G3 X1", "15"),
        ({"X1": "x"}, "check Z1 F3 X1", "15"),
        ({"X1": "F3"}, "check Z1 F3 X1", ""),
        ({"X1": "F3"}, "check Z1 none", "15"),
        ({"X1": "F3"}, "check Z1 F3 X1 G3 X2", ""),
        ({"X1": "F4"}, "check Z1 F3 X1", "15"),
        ({"X1": ">E8"}, "check Z1 E3 X1", ""),
        ({"X1": ">E8"}, "check Z1 F3 X1", "15"),
        ({"checked": "F3"}, "check Z1 F3 X1", "15"),
        ({"checked": "F3"}, "check Z1 F3 *", "15"),
        ({}, "check Z1 E3 *", "15"),
        ({"asteroids": "F5 F6 F7 F8 F9 J1 J2"}, "check Z1 F3 *", "15"),
        ({"asteroids": "F5 F6 F7 F8 F9 J1"}, "check Z1 F3 *", ""),
        ({"asteroids": "F5 F6 F7 F8 F9 J1"}, "check Z1 F3 * G3 *", "2"),
        ({"asteroids": "F5 F6 F7 F8 F9"}, "check Z1 F3 * G3 *", ""),
        ({}, "check Z2 none", "sealed"),
        ({}, "check Z1", "sealed"),
        ({}, "check Z1 F3", "sealed"),
        ({}, "check Z1 F3 Q", "sealed"),
        ({}, "check Z1 K3 X1", "sealed"),
        ({}, "check Z1 none check Z1 none", "sealed"),
        ({}, "", "sealed"),
    ],
)
def test_answers(told: dict[str, Any], text: str, rule: str) -> None:
    """Seat 1's Z1 went from D3 to H3: over E3, F3, G3."""
    assert blamed(checking("D3", "H3", **told), 2, "answers", text) == ({rule} if rule else set())


def test_what_is_checked_in_turn_is_told_alike() -> None:
    """Two of seat 2's pieces are met in transit; both went over C3, where seat 1's X1 rests."""
    table = checking("D3", "H3", X1=">B3", X2=">A3")
    table = SEALED.enter(table, 2, "answers", ("check Z1 E3 X2 F3 X1",))
    assert SEALED.owed(table, 1) == ("answers",)
    assert not SEALED.owed(table, 2)
    assert not table.played
    assert blamed(table, 1, "answers", "check X2 C3 X1 check X1 C3 X1") == set()
    assert blamed(table, 1, "answers", "check X2 none check X1 C3 X1") == {"15"}
    assert blamed(table, 1, "answers", "check X2 C3 X1") == {"sealed"}
    assert blamed(table, 1, "answers", "check X2 C3 X1 check X1 C3 Z1") == {"15"}  # Z1 stands on H3
    after = SEALED.enter(table, 1, "answers", ("check X2 C3 X1", "check X1 C3 X1"))
    assert after.turn == 4
    assert SEALED.owed(after, 2) == ("departs",)
    assert [report["kind"] for report in after.played[-1]] == ["check"] * 3 + ["collision"] * 4
    assert not SEALED.view(after, None)["over"]


def test_the_same_squares_are_told_alike_twice_in_a_turn() -> None:
    """Seat 2 looks along two paths that cross, the second because of what seat 1 met on the way of seat 2's piece."""
    table = checking("D3", "H3", X1=">G8")
    table = table._replace(pieces=(pieces(Z1=">D3", X2=">G9"), table.pieces[1]))
    table = SEALED.enter(table, 2, "answers", ("check Z1 F3 * G3 X1",))
    table = SEALED.enter(table, 1, "answers", ("check X1 G5 X2",))
    assert SEALED.owed(table, 2) == ("answers", "departs")
    assert blamed(table, 2, "answers", "check X2 none") == set()
    crossing = table._replace(queue=(*table.queue[:2], Transit(1, NAMED.index("X2"), SQUARES["F9"], SQUARES["F2"])))
    assert blamed(crossing, 2, "answers", "check X2 F3 *") == set()
    assert blamed(crossing, 2, "answers", "check X2 none") == {"15"}
    assert blamed(crossing, 2, "answers", "check X2 F5 X1 F3 *") == {"15"}
    assert blamed(crossing, 2, "answers", "check X2 F5 X2 F3 *") == set()
    crossing = crossing._replace(pieces=(crossing.pieces[0], pieces(X1=">G8", X2="F3")))
    assert blamed(crossing, 2, "answers", "check X2 F3 *") == {"15"}


SETUP = "* {0}1 {0}2 {0}3 {0}4 {0}5 {0}6 {0}7 W {1}1 B {1}1 X {1}1 {1}1 Y {1}1 {1}1 Z {1}1 {1}1 {1}1 {1}1 H {0}10"
SETUPS = {1: SETUP.format("A", "C"), 2: SETUP.format("J", "H")}


def test_a_pass_is_claimed_and_its_claim_is_judged() -> None:
    options = RULES.options({}, 2)
    lie = SealedStep(1, 1, "departs", ("pass",))
    assert SEALED.first_false(options, 1, SETUPS[1], {1: ""}, [lie]) == Falsehood(1, "departs", "25")
    assert SEALED.first_false(options, 1, SETUPS[1], {1: "Z1 C1-C5"}, [lie]) == Falsehood(1, "departs", "9")


def test_an_answer_that_the_secrets_belie_is_against_the_ruling_on_checks() -> None:
    """Seat 1's Z1 went from C1 to H1, where most of seat 2's pieces stand."""
    options = RULES.options({}, 2)
    steps = [
        SealedStep(1, 1, "departs", ("Z1 C1",)),
        SealedStep(2, 2, "departs", ("Z1 H1",)),
        SealedStep(3, 1, "departs", ("Z1 H1",)),
    ]
    told = SealedStep(3, 2, "answers", ("check Z1 none",))
    orders = {2: "Z1 H1-H3"}
    assert SEALED.first_false(options, 2, SETUPS[2], orders, [*steps, told]) == Falsehood(3, "answers", "15")


def test_an_asteroid_that_was_met_is_gone_for_good() -> None:
    table = SEALED.enter(checking("D3", "H3", asteroids="J1"), 2, "answers", ("check Z1 F3 *",))
    assert table.pieces[1].asteroids == 1 << SQUARES["F3"] | 1 << SQUARES["J1"]


def test_who_has_home_planets_left_has_won() -> None:
    """Ruling 26: of the one, of the other, and of neither."""
    for lost, result in (
        ((2,), Result((1,), (1, 0))),
        ((1,), Result((2,), (0, 1))),
        ((1, 2), Result((1, 2), (0, 0))),
    ):
        table = SEALED.begin(RULES.options({}, 2))
        sides = [pieces(H="x") if seat in lost else pieces() for seat in (1, 2)]
        table = table._replace(pieces=(sides[0], sides[1]))
        assert SEALED.enter(table, 1, "departs", ("pass",)).result == result


def test_two_who_can_but_pass_are_done() -> None:
    """Two passes one after the other: as told, the game is over, and so it is when everything is revealed."""
    table = SEALED.begin(RULES.options({"mobile_home": True, "max_turns": 9}, 2))
    for seat in (1, 2):
        assert table.result is None
        table = SEALED.enter(table, seat, "departs", ("pass",))
    assert table.result == Result((1, 2), (1, 1))
    assert not table.due
    assert table.remaining == (1, 2)
    assert table.scores == (1, 1)


def test_a_forced_pass_is_not_asked_for() -> None:
    """If no piece can move, the owner passes without being asked; a referee finds the same."""
    options = RULES.options({"mobile_home": True, "max_turns": 2}, 2)
    table = SEALED.begin(options)
    own = SEALED.own(options, 1, SETUPS[1], {}, table)
    assert SEALED.asks(own, table)
    side = own.state.sides[0]
    side = side._replace(squares=(-1,) * len(side.squares))
    stuck = SEALED.ordered(own._replace(state=own.state.with_side(1, side)), {})
    assert not SEALED.asks(stuck, table)
    assert SEALED.orders(stuck, 1) == ""
    assert SEALED.lines(stuck, table, "departs") == ("pass",)


def test_fighters_that_are_all_destroyed_reach_nothing() -> None:
    """Ruling 27 as far as everybody knows it; with mobile home planets it is not applied."""
    gone = {name: "x" for name in NAMED if name not in ("H", "W")}
    for mobile, result in ((False, Result((1, 2), (1, 1))), (True, None)):
        table = Table(
            RULES.options({"mobile_home": mobile}, 2),
            (pieces(**gone, W=">A3"), pieces(**gone, W="C4")),
            turn=3,
            departing=(NAMED.index("W"), SQUARES["C4"]),
            queue=(Transit(1, NAMED.index("W"), SQUARES["A3"], SQUARES["C4"]),),
        )
        assert SEALED.enter(table, 2, "answers", ("check W C4 W",)).result == result


def test_orders_that_stop_leave_the_game_open() -> None:
    options = RULES.options({}, 2)
    assert settled(rules("dueling-masters"), options, SETUPS, {1: {1: "Z1 C1-C5"}, 2: {}}) == (
        ({1: "Z1 C1-C5"},),
        None,
        (1, 1),
    )


def test_a_game_that_was_drawn_unseen_counts_no_further() -> None:
    """Both knights ram, and nothing else can move: out of reach from turn 1 on, which nobody can know yet."""
    setups = (
        "* B3 C2 E1 E2 E3 E4 E5 W A1 B A1 X A1 A1 Y A1 A1 Z A1 A1 A1 A1 H A2 B1 B2",
        "* I8 H9 F1 F2 F3 F4 F5 W J10 B J10 X J10 J10 Y J10 J10 Z J10 J10 J10 J10 H J9 I10 I9",
    )
    played = record.Record(
        game="dueling-masters",
        options={"homes": 3},
        seats=tuple((f"Player {seat}", setup) for seat, setup in enumerate(setups, start=1)),
        turns=(record.Turn({1: "W A1-B3"}), record.Turn({2: "W J10-I8"})),
    )
    whole = sealed_players.followed("dueling-masters", played)
    last = whole.tables[-1]
    assert [step.lines for step in whole.steps] == [("W A1",), ("W J10",), ("pass",), ("pass",)]
    assert (len(last.played), last.result) == (4, Result((1, 2), (3, 3)))
    found = settled(rules("dueling-masters"), whole.options, whole.setups, whole.orders)
    assert found == (({1: "W A1-B3"},), Result((1, 2), (3, 3)), (3, 3))


class Stuck:
    """Rules under which nobody ever has a choice, and the game ends with turn 5."""

    def setup(self, *_: object) -> None:
        """A setup without pieces."""

    def begin(self, *_: object) -> State:
        return self.at(1)

    def at(self, turn: int) -> State:
        sides = SEALED.begin(RULES.options({}, 2)).pieces
        nobody = Side(Setup("", 0, ()), 0, (-1,) * len(sides[0].squares), ())
        return State(RULES.options({}, 2), turn, (nobody, nobody), Result((1, 2), (1, 1)) if turn > 5 else None)

    def order(self, *_: object) -> Orders:
        return PASS

    def turn(self, state: State, _orders: object) -> tuple[State, list[object]]:
        return self.at(state.turn + 1), []


@pytest.mark.parametrize(("told", "turns"), [(0, 0), (1, 1), (2, 5), (3, 5)])
def test_turns_without_a_choice_are_played_out_once_there_were_two(told: int, turns: int) -> None:
    rules: Any = Stuck()
    orders = {seat: {turn: "" for turn in range(1, told + 1) if 2 - turn % 2 == seat} for seat in (1, 2)}
    found = settled(rules, RULES.options({}, 2), {1: "", 2: ""}, orders)
    assert len(found.orders) == turns
    assert found.result == (Result((1, 2), (1, 1)) if turns == 5 else None)
