"""Each planted fault is found within a thousand seeds; those that are found at once, in every run of the tests."""

from __future__ import annotations

import pytest
from simulation.planted import PLANTED
from simulation.runs import run
from simulation.world import Week

FEW, MANY = 10, 1000
QUICK = {
    "commit_without_sync": Week(days=3.0, games=("spaceships",)),
    "token_good_twice": Week(days=4.0, games=("spaceships",), accidents=False, deaths=2),
}
"""What is found in few seeds of a short week."""


@pytest.mark.parametrize(("plant", "week"), QUICK.items())
def test_a_fault_is_found_in_few_seeds(plant: str, week: Week) -> None:
    assert any(run(seed, week, plant=PLANTED[plant]).broken for seed in range(1, FEW + 1))


@pytest.mark.long
@pytest.mark.parametrize("plant", PLANTED)
def test_a_fault_is_found_within_a_thousand_seeds(plant: str) -> None:
    assert any(run(seed, Week(), plant=PLANTED[plant]).broken for seed in range(1, MANY + 1))
