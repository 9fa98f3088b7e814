"""Each game played at random by the rules and by the second verifier's, slow and literal, side by side."""

from __future__ import annotations

import random
from functools import partial
from typing import Any

import pytest
from games.dueling_masters import second_hand as dueling_masters
from games.shoot_em_up import second_hand as shoot_em_up
from games.spaceships import second_hand as spaceships
from games.spaceships.second_hand import FLEETS, fleet, setup_of

from pbem.games.spaceships import RULES, conditions
from verifier.rules.spaceships import Player, holds, may

PLAYED = ((spaceships, 80, 200), (dueling_masters, 6, 27), (shoot_em_up, 240, 240))
"""Each game, the number of its games that are always played, and the number in each batch of the long tests."""


@pytest.mark.parametrize(("game", "seed"), [(game, seed) for game, some, _ in PLAYED for seed in range(some)])
def test_both_adjudicators_agree(game: Any, seed: int) -> None:
    game.play_both(seed)


@pytest.mark.long
@pytest.mark.parametrize(("game", "many"), [(game, many) for game, _, many in PLAYED])
@pytest.mark.parametrize("batch", range(1, 11))
def test_both_adjudicators_agree_at_length(game: Any, many: int, batch: int) -> None:
    for seed in range(batch * many, batch * many + many):
        game.play_both(seed)


@pytest.mark.parametrize(
    ("gone", "word", "held"),
    [("KC", "KC1", True), ("KC", "KC2", False), ("KC1", "KC1", True), ("KC1", "KC11", False), ("KC2", "KC1", False)],
)
def test_a_lone_ship_may_have_its_number(gone: str, word: str, held: bool) -> None:
    """Ruling 6 accepts it; a condition that could never hold would be a trap."""
    told = [{"seat": 1, "kind": "strike", "cell": "Gx3", "result": "hit", "destroyed": {"ship": gone, "cells": []}}]
    able = partial(may, Player([]), 1, ())
    options = RULES.options({}, 2)
    fleets = [setup_of(fleet(random.Random(seat), FLEETS["standard"][0])) for seat in (1, 2)]
    state = RULES.begin(options, [RULES.setup(options, seat, text) for seat, text in enumerate(fleets, start=1)])
    assert conditions.holds(state, 1, ("sunk", word), told) == holds(1, ("sunk", word), told, able) == held
