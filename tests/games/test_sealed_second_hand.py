"""Sealed games and lies in them, judged by the second verifier's rules as by ours.

What owners tell must be the step that is due, with the same lines and the same reports; a lie that the one refuses,
the other refuses, and what is let pass is found false with the same turn, step and ruling.
"""

from __future__ import annotations

from copy import deepcopy
from random import Random
from typing import TYPE_CHECKING

import pytest
from games import test_sealed
from in_a_box.small_games import FLEETS, PIECES

from pbem.games import faults, rules
from pbem.games.sealed import COMMIT, SealedStep, settled
from verifier.rules import Falsehood, Refused, Step, Table, first_false
from verifier.rules import rules as second_rules
from verifier.rules import settled as second_settled

if TYPE_CHECKING:
    from playing.sealed_players import Sealed


class Twice:
    """A whole game, with the second's tables before each step."""

    def __init__(self, whole: Sealed) -> None:
        self.whole, self.rules = whole, second_rules(whole.game)
        self.options = self.rules.options(dict(whole.options.changed), 2)
        self.tables: list[Table] = [self.rules.Table(self.options)]
        for number, step in enumerate(whole.steps):
            table = deepcopy(self.tables[-1])
            owed = test_sealed.sealed(whole.game).owed
            assert table.due == {seat: owed(whole.tables[number], seat)[0] for seat in whole.tables[number].due}
            assert table.judge(step.seat, step.step, " ".join(step.lines)) == step.lines
            table.enter(step.seat, step.step, step.lines)
            self.tables.append(table)

    def told(self, place: int, text: str) -> tuple[str, ...] | None:
        step = self.whole.steps[place]
        try:
            lines = deepcopy(self.tables[place]).judge(step.seat, step.step, text)
        except Refused:
            return None
        return lines if lines != step.lines else None

    def false(self, seat: int, steps: list[SealedStep]) -> Falsehood | None:
        setup, orders = self.whole.setups[seat], self.whole.orders[seat]
        return first_false(self.rules, self.options, seat, setup, orders, [Step(*step) for step in steps])


def of_two(game: str, seed: int = 0) -> list[Twice]:
    return [Twice(whole) for whole in test_sealed.games(game, seed) if len(whole.setups) == 2]


@pytest.mark.parametrize("game", ["spaceships", "dueling-masters", "shoot-em-up"])
def test_what_owners_tell_is_judged_alike(game: str) -> None:
    for twice in of_two(game):
        whole, last = twice.whole, twice.tables[-1]
        assert last.played == [list(reports) for reports in whole.tables[-1].played]
        assert (last.result is None) == (whole.tables[-1].result is None)
        assert last.scores == tuple(whole.tables[-1].scores)
        end = settled(rules(game), whole.options, whole.setups, whole.orders)
        position = twice.rules.begin(twice.options, [whole.setups[1], whole.setups[2]])
        assert second_settled(position, whole.orders) == [dict(texts) for texts in end.orders]
        assert (position.result and tuple(position.result)) == (end.result and tuple(end.result))
        assert position.scores == tuple(end.scores)
        if last.reveals:
            assert not any(twice.false(seat, whole.steps) for seat in whole.setups)


@pytest.mark.parametrize(
    ("game", "seed", "each"),
    [
        ("spaceships", 0, 6),
        ("dueling-masters", 0, 30),
        pytest.param("spaceships", 1, 60, marks=pytest.mark.long),
        pytest.param("dueling-masters", 1, 100, marks=pytest.mark.long),
    ],
)
def test_every_lie_is_refused_or_convicted_by_both(game: str, seed: int, each: int) -> None:
    random, refused, convicted = Random(seed), 0, 0
    for twice in of_two(game, seed):
        steps = twice.whole.steps
        for place in random.sample(range(len(steps)), min(each, len(steps))):
            step = steps[place]
            for text in test_sealed.lies(game, step.lines, random) if step.step != COMMIT else ():
                lie = test_sealed.judged(twice.whole, place, text)
                assert twice.told(place, text) == (lie.lines if lie else None), text
                if lie is None:
                    refused += 1
                    continue
                convicted += 1
                found = test_sealed.first_false(twice.whole, step.seat, [*steps[:place], lie])
                assert found
                assert found[:2] == (step.turn, step.step)
                assert found.ruling.isdecimal()
                assert twice.false(step.seat, [*steps[:place], lie]) == tuple(found), text
                if convicted % 20 == 0:
                    assert test_sealed.first_false(twice.whole, 3 - step.seat, [*steps[:place], lie]) is None
    assert refused > 500
    assert convicted > 50


SMALL = {"spaceships": {"fleet": "cost:3"}}


def refused_alike(game: str, setup: str) -> None:
    """Both refuse a setup of seat 1, by the ruling that its first fault breaks."""
    judge, second, raw = rules(game), second_rules(game), SMALL.get(game, {})
    with pytest.raises(Refused) as refused:
        second.setup(second.options(raw, 2), 1, setup)
    assert refused.value.ruling == faults(judge.setup, judge.options(raw, 2), 1, setup)[0].rule


TWICE_WRONG = {
    "spaceships": [
        *("kBz2 Ox5 x", "x kBz2 Ox5", "Gx3 Gx3 x", "Gx3 m Gx3 x", "bOy3 - Gw3(DS2)", "bRv1Rv3(DS1234)"),
        *("b Ow1-Bx5(DS) -", "sGx3 sGx4 m9 Gx3", "m1 Gx3 m2 Gx3 x", "m Gx3 Gx3 Gx3"),
    ],
    "dueling-masters": [
        *("- - x", "Z1 D1-D2 Z1 D2-D3", "Z1 D1 - D2 W F6G6", "Z1 D1-D2 -", "Z1 D1-D11", "H A1-B1", "* B1-B2"),
        *("X1 A6-J1", "Z1 A6-A1", "Z1 D1-A1", "X1 B6-B1"),
    ],
}


@pytest.mark.parametrize("game", TWICE_WRONG)
def test_of_several_faults_the_first_written_is_named(game: str) -> None:
    """The player committed to such orders: the verdict names their first fault, for each verifier."""
    setups = [*PIECES.values()] if game == "dueling-masters" else [FLEETS[0], FLEETS[0]]
    judge, second, raw = rules(game), second_rules(game), SMALL.get(game, {})
    options, given = judge.options(raw, 2), second.options(raw, 2)
    state = judge.begin(options, [judge.setup(options, seat, setup) for seat, setup in enumerate(setups, start=1)])
    position = second.begin(given, [second.setup(given, seat, setup) for seat, setup in enumerate(setups, start=1)])
    for text in TWICE_WRONG[game]:
        with pytest.raises(Refused) as refused:
            position.order(1, text)
        assert refused.value.ruling == faults(judge.order, state, 1, text)[0].rule, text


@pytest.mark.parametrize(
    ("before", "after"),
    [("\nZ D", "\nZ1\nZ D"), ("C8 C10", "C8 Z9 F1"), ("W A10", "W W A1"), ("H A1", "H A1 H"), ("B1 B3", "B1 B1 F1")],
)
def test_of_several_faults_in_a_setup_the_first_written_is_named(before: str, after: str) -> None:
    """A piece that was named and never placed was one fault for ours, and none for the second."""
    assert before in PIECES["ann"]
    refused_alike("dueling-masters", PIECES["ann"].replace(before, after))


MISPLACED = {
    "spaceships": [
        *("LG Rv1 Rv1\nLG2 Gx3", "LG1 Gx3 Gx4\nLG2 Gx3", "DS Rv1 Rv1", "MD Rv1 Rv2\nLG x", "MD Rv1 Rv2 x"),
        *("MD Rv1 Rv2\nFoo Rv3", "Rv1\nLG5 Gx3", "LG1234 Gx3\nMD Gx3", "x\nMD Rv1", "MD1 Rv1 Rv2 Rv3\nLG4 Rv3"),
        *("KC1 LG\n. . . . .", ". . . .\nLG3", " ".join(["LG2", *["."] * 123, "LG3"]), ""),
    ],
    "shoot-em-up": ["A b1 N\nB b1 N\nB c1 N", "A b1 N\nA b1 N\nD b1 N", "A b1 N\nB b1 N\nC b9 N", "A b1 N\nB b1 N"],
}


@pytest.mark.parametrize(("game", "text"), [(game, text) for game, texts in MISPLACED.items() for text in texts])
def test_the_first_fault_of_a_setup_is_the_one_that_is_written_first(game: str, text: str) -> None:
    """A fault of a ship stands at its name, one of a cell at the cell, and what the fleet lacks at the end."""
    refused_alike(game, text)


def test_five_grids_have_rows_of_five() -> None:
    """Each line holds one row or several: for both verifiers, as what one refuses convicts whoever wrote it."""
    judge, second = rules("spaceships"), second_rules("spaceships")
    raw = {"fleet": "cost:1"}
    for row in (5, 10, 125, 1, 7):
        words = ["LG", *["."] * 124]
        text = "\n".join(" ".join(words[at : at + row]) for at in range(0, 125, row))
        found = [*faults(judge.setup, judge.options(raw, 2), 1, text)]
        if not found:
            assert second.setup(second.options(raw, 2), 1, text) == "LG Rv1"
            continue
        with pytest.raises(Refused) as refused:
            second.setup(second.options(raw, 2), 1, text)
        assert refused.value.ruling == found[0].rule
