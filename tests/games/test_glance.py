"""The position in a terminal's few lines: its example can be copied at any time."""

from __future__ import annotations

from random import Random

import pytest
from playing import random_players

from pbem.games import GAMES, Refused, parts, rules

NAMES = {1: "ann", 2: "bob"}


@pytest.mark.parametrize("game", GAMES)
def test_the_example_is_legal_in_every_turn(game: str) -> None:
    raw, seats = random_players.PLAYERS[game].options[0]
    judge = rules(game)
    for seed in range(3):
        played = random_players.play(game, Random(seed), raw, seats, 2000)
        for turns, state in enumerate(played.states[:-1]):
            views = parts.views(judge, state, seats, played.reports[:turns])
            for seat in (seat for seat, forced in state.due.items() if forced is None):
                glance = parts.glance(judge, views[seat], NAMES)
                assert glance is not None
                try:
                    judge.order(state, seat, " ".join(glance.example))
                except Refused:
                    judge.order(state, seat, "\n".join(glance.example))


def test_the_example_of_spaceships_wastes_nothing() -> None:
    """It shoots where a ship is known to be, or at cells that nobody has searched; its beam, too, if it can."""
    judge = rules("spaceships")
    options = judge.options({"fleet": "cost:8"}, 2)
    star = "DS Rv1 Rv2 Rw1 Rw2 Ov1 Ov2 Ow1 Ow2"
    state = judge.begin(options, [judge.setup(options, seat, star) for seat in (1, 2)])
    turns = []
    examples = []
    for orders in ("Gx3", "Yx3", "bGw2Gw4"):
        state, reports = judge.turn(state, {seat: judge.order(state, seat, orders) for seat in (1, 2)})
        turns.append(reports)
        glance = parts.glance(judge, parts.views(judge, state, 2, turns)[1], NAMES)
        assert glance is not None
        examples.append(" ".join(glance.example))
    assert examples == ["Yx3 bYx2Yx4", "Gw3 bGw2Gw4", "Gx2 bGw1Gy3"]
