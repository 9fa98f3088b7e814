"""Played sealed, honest owners tell what a referee would report, and every false answer is refused or convicted."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

import pytest
from pbem_battleship import RULES
from pbem_battleship.players import orders, setup
from pbem_battleship.recall import view
from pbem_battleship.sealed import SEALED

from pbem.games import Refused, rules
from pbem.games.outside import enable
from pbem.games.sealed import COMMIT, Falsehood, SealedStep, settled

if TYPE_CHECKING:
    from pbem_battleship import Options
    from pbem_battleship.sealed import Table

enable(["battleship"])


class Played:
    """A sealed game of two honest players, each of whom knows their own secrets and the table."""

    def __init__(self, raw: dict[str, object], seed: int) -> None:
        random = Random(seed)
        self.options: Options = RULES.options(raw, 2)
        self.setups = {seat: setup(random, self.options, seat) for seat in (1, 2)}
        self.orders: dict[int, dict[int, str]] = {1: {}, 2: {}}
        self.steps: list[SealedStep] = []
        self.tables: list[Table] = []
        table = SEALED.begin(self.options)
        while table.due:
            (seat,) = table.due
            step = SEALED.owed(table, seat)[0]
            own = SEALED.own(self.options, seat, self.setups[seat], self.orders[seat], table)
            if SEALED.asks(own, table):
                text = orders(random, dict(SEALED.own_view(own, table)))
                self.orders[seat][table.turn] = SEALED.order(own, text)
                own = SEALED.own(self.options, seat, self.setups[seat], self.orders[seat], table)
            lines = SEALED.lines(own, table, step)
            assert SEALED.judge(table, seat, step, "\n ".join(" ".join(lines).split())) == lines
            self.steps.append(SealedStep(table.turn, seat, step, lines))
            self.tables.append(table)
            table = SEALED.enter(table, seat, step, lines)
        self.table = table

    def first_false(self, seat: int, steps: list[SealedStep]) -> Falsehood | None:
        return SEALED.first_false(self.options, seat, self.setups[seat], self.orders[seat], steps)


GAMES = [Played({"shots": 5, "turns": "together"}, 1), Played({"shots": 2}, 2), Played({}, 3)]


@pytest.mark.parametrize("game", GAMES)
def test_owners_tell_what_a_referee_reports(game: Played) -> None:
    state = RULES.begin(game.options, [RULES.setup(game.options, *each) for each in game.setups.items()])
    for turn in game.table.played:
        assert game.table.result is not None
        given = {seat: RULES.order(state, seat, game.orders[seat][state.turn]) for seat in state.due}
        state, reports = RULES.turn(state, given)
        assert [*turn] == reports
    assert state.result == game.table.result
    assert settled(rules("battleship"), game.options, game.setups, game.orders).result == state.result
    assert [game.first_false(seat, game.steps) for seat in (1, 2)] == [None, None]


def test_a_turn_takes_one_letter_or_three() -> None:
    together, *alternating = GAMES
    for game in GAMES:
        letters = 1 + sum(one.seat != other.seat for one, other in zip(game.steps, game.steps[1:], strict=False))
        assert letters == (3 if game is together else 1) * len(game.table.played) + 1
    assert [step.step for step in together.steps[:6]] == [COMMIT, "open", "open", "answers", "answers", COMMIT]
    assert [step.step for step in alternating[0].steps[:4]] == ["open", "answers", "open", "answers"]


def lies(line: str) -> list[str]:
    """Lines that may stand in the place of one, most of them false."""
    other = line.replace("hit", "miss") if "hit" in line else line.replace("miss", "hit")
    return [
        line.split(maxsplit=1)[0],
        f"{line} carrier",
        f"{line} destroyer",
        f"{line[:2]} sunk",
        "",
        "A1 miss",
        other,
    ]


@pytest.mark.parametrize("game", GAMES)
def test_every_lie_is_refused_or_convicted(game: Played) -> None:
    refused = convicted = 0
    for place, step in [*enumerate(game.steps)][::3]:
        told = [
            " ".join((*step.lines[:at], lie, *step.lines[at + 1 :]))
            for at, line in enumerate(step.lines)
            for lie in lies(line)
        ]
        for text in told:
            try:
                lines = SEALED.judge(game.tables[place], step.seat, step.step, text)
            except Refused:
                refused += 1
                continue
            if lines != step.lines:
                convicted += 1
                steps = [*game.steps[:place], step._replace(lines=lines)]
                found = game.first_false(step.seat, steps)
                assert found == (step.turn, step.step, "4" if step.step == "open" else "8")
                assert game.first_false(3 - step.seat, steps) is None
    assert refused > 100
    assert convicted > 10


def test_another_setup_is_convicted() -> None:
    game = GAMES[0]
    assert SEALED.first_false(game.options, 1, "nothing", {}, game.steps) == (0, "setup", "1")
    game.setups[1], kept = game.setups[2], game.setups[1]
    assert game.first_false(1, game.steps)
    game.setups[1] = kept


def test_a_game_of_misses_ends() -> None:
    """Whoever answers nothing but `miss` is found out in the end, and there is an end."""
    table = SEALED.begin(RULES.options({"shots": 9}, 2))
    random = Random(4)
    while table.due:
        (seat,) = table.due
        step = SEALED.owed(table, seat)[0]
        seen = {**view(table.position, None, table.played), "seat": seat}
        seen["entitled"] = {"shots": table.position.shots(seat)}
        squares = orders(random, seen).split() if step == "open" else table.opened[3 - seat]
        text = " ".join(squares if step == "open" else (f"{square} miss" for square in squares))
        table = SEALED.enter(table, seat, step, SEALED.judge(table, seat, step, text))
    assert (len(table.played), table.scores) == (24, (17, 17))
