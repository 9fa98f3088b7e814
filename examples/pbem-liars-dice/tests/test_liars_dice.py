"""The game keeps to everything that pbem relies on; and what its rules say, it does."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

import pytest
from pbem_liars_dice import RULES, Bid, Options, State, offers, without
from pbem_liars_dice.boards import blank, boards, happened, truth
from pbem_liars_dice.recall import view
from pbem_liars_dice.words import hands, said, sheet_rows, standing, summary, told

from pbem.games import Refused
from pbem.games.draws import Draws
from pbem.games.outside import enable
from pbem.testing import CHECKS, subject

if TYPE_CHECKING:
    from pbem.games import Report

enable(["liars-dice"])
GAME = subject("liars-dice")
NAMES = {1: "ann", 2: "bob", 3: "cid"}


@pytest.mark.parametrize("check", CHECKS)
def test_the_game_conforms(check: str) -> None:
    CHECKS[check](GAME)


def chance(seed: str = "0") -> Draws:
    return Draws(seed * 64)


def played(state: State, text: str) -> tuple[State, list[Report]]:
    """The position after a turn in which each seat that is due says this, and its reports."""
    return RULES.turn(state, {seat: RULES.order(state, seat, text) for seat in state.due}, chance())


def at(*dice: tuple[int, ...], seat: int = 1, bid: Bid | None = None, **raw: Any) -> State:
    return State(Options(**raw, seats=len(dice)), dice, seat, bid, turn=9)


def fault(state: State, text: str) -> str:
    with pytest.raises(Refused) as refused:
        RULES.order(state, state.seat, text)
    (found,) = refused.value.faults
    return found.rule


def test_the_orders_to_choose_from_are_all_that_are_legal() -> None:
    assert offers(view(RULES.begin(Options(seats=2), []), 1, [])) == ["shake "]
    for bid, ones in ((None, "wild"), (Bid(2, 2, 3), "wild"), (Bid(2, 3, 6), "plain")):
        state = at((1, 4), (2,), bid=bid, ones=ones)
        legal = []
        for text in ("liar", *(f"bid {number} {face}" for number in range(5) for face in range(1, 7))):
            with suppress(Refused):
                legal.append(RULES.order(state, 1, text).text)
        assert sorted(offers(view(state, 1, []))) == sorted(legal)


def test_all_shake_and_each_is_told_its_own_dice() -> None:
    state = RULES.begin(RULES.options({}, 3), [])
    assert [*state.due] == [1, 2, 3]
    state, reports = played(state, "shake well")
    assert [*state.due] == [state.seat]
    assert [report["kind"] for report in reports] == ["hand", "hand", "hand", "begins"]
    assert all(len(hand) == 5 and set(hand) <= set(range(1, 7)) for hand in state.hands)
    for seat in (1, 2, 3):
        own = [report for report in reports[:3] if RULES.show(report, seat)]
        assert own == [{"seat": seat, "kind": "hand", "dice": list(state.hands[seat - 1])}]
    assert not any(RULES.show(report, None) for report in reports[:3])


def test_other_chance_is_another_roll() -> None:
    state = RULES.begin(RULES.options({}, 2), [])
    orders = {seat: RULES.order(state, seat, "shake well") for seat in (1, 2)}
    assert len({RULES.turn(state, orders, chance(seed))[0].hands for seed in "0123"}) == 4


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("shake well", "1"),
        ("shake", "2"),
        ("shake it off", "2"),
        ("shake ü", "2"),
        ("bid 2", "2"),
        ("bid 02 5", "2"),
        ("bid 2 7", "2"),
        ("bid 2 4", "3"),
        ("bid 1 6", "3"),
        ("bid 7 2", "3"),
        ("bid 3 1", "4"),
    ],
)
def test_what_is_no_higher_bid_is_refused(text: str, rule: str) -> None:
    assert fault(at((1, 4), (2, 5), (3, 6), bid=Bid(3, 2, 4)), text) == rule


def test_there_is_nothing_to_doubt_before_the_first_bid() -> None:
    assert fault(at((1, 4), (2, 5)), "liar") == "5"
    assert fault(RULES.begin(RULES.options({}, 2), [])._replace(seat=0), "bid 1 2") == "1"


@pytest.mark.parametrize(
    ("ones", "count", "loser"), [("wild", 3, 1), ("wild", 4, 3), ("plain", 1, 1), ("plain", 3, 3)]
)
def test_whoever_was_wrong_loses_a_die_and_begins(ones: str, count: int, loser: int) -> None:
    state = at((1, 4), (2, 5), (1, 6), bid=Bid(3, count, 5), ones=ones)
    after, (report, *rolled) = played(state, "LIAR")
    assert (report["found"], report["loser"]) == (3 if ones == "wild" else 1, loser)
    assert RULES.show(report, None) == report
    assert after.scores == tuple(1 if seat == loser else 2 for seat in (1, 2, 3))
    assert (after.seat, after.bid, after.turn) == (loser, None, 10)
    assert [found["kind"] for found in rolled] == ["hand"] * 3 + ["begins"]


def test_the_turn_passes_over_whoever_is_out() -> None:
    after, _ = played(at((4,), (), (6,), seat=1), "bid 1 4")
    assert (after.seat, after.bid) == (3, Bid(1, 1, 4))
    after, _ = played(at((4,), (5, 5), (6,), seat=1, bid=Bid(3, 1, 6)), "liar")
    assert (after.remaining, after.seat) == ((2, 3), 2)


def test_the_last_with_dice_has_won() -> None:
    after, (report,) = played(at((4,), (5,), seat=1, bid=Bid(2, 2, 5)), "liar")
    assert report["loser"] == 2
    assert after.result == ((1,), (1, 0), "rules")
    assert (after.turn, after.due) == (9, {})


def test_others_play_on_without_whoever_resigns() -> None:
    state = at((4,), (5,), (6,), seat=2, bid=Bid(1, 1, 4))
    after = without(state, 2, 1)
    assert after
    assert (after.hands, after.seat, after.bid, after.turn) == (((4,), (), (6,)), 3, None, 9)
    assert without(after, 1, 1) is None
    kept = without(state, 1, 1)
    assert kept
    assert kept.seat == 2


# Words and boards.


def test_the_board_hides_the_dice_of_others() -> None:
    state = at((1, 4), (2,), (), bid=Bid(2, 1, 4))
    (board,) = boards(view(state, 1, []))
    assert [[square.symbol for square in row[:3]] for row in board.panels[0].squares] == [
        ["1", "4", "."],
        ["?", ".", "."],
        [".", ".", "."],
    ]
    assert {square.symbol for row in boards(view(state, None, []))[0].panels[0].squares for square in row} == {
        "?",
        ".",
    }
    (board,) = truth({seat: view(state, seat, []) for seat in (1, 2, 3)}, 3)
    assert board.panels[0].squares[1][0].symbol == "2"
    assert len(blank()[0].panels[0].rows) == 6
    _, reports = played(state._replace(seat=1), "liar")
    shown = happened(reports)
    assert shown
    assert [square.tint for square in shown.panels[0].squares[0]] == ["seen", "seen"]
    assert happened([{"kind": "bid"}]) is None


def test_what_happened_is_told_to_each_as_it_knows_it() -> None:
    state = at((1, 4), (2,), (), bid=Bid(2, 1, 4))
    assert [*hands(view(state, 2, []), NAMES)] == ["You have 2", "ann: dice 2", "cid is out"]
    assert standing(view(state, 2, []), NAMES) == "The bid of bob: 1 x 4"
    after, reports = played(state, "liar")
    mine = [found for report in reports if (found := RULES.show(report, 1))]
    lines = [*told(mine, 1, NAMES)]
    assert lines[:4] == ["ann says: liar", "ann shows 1 4", "bob shows 2", "Bid 1 x 4, shown 2: ann loses a die"]
    assert [line.split(" ")[0:2] for line in lines[4:]] == [["You", "roll"], ["ann", "begins"]]
    assert summary(mine, NAMES) == "ann loses a die"
    assert standing(view(after, None, []), NAMES) == "ann begins"
    assert [said(text) for text in ("bid 3 5", "liar", "shake well")] == [
        ["bid: at least 3 dice show 5"],
        ["call the last bid a lie"],
        ["shake the dice"],
    ]
    assert all(len(sheet_rows([["liar"]] * turns)) == 15 for turns in range(50))
