"""Each planted fault is found within a hundred short weeks; those that are cheap to find, in every test run."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from simulation.planted_matches import PLANTED
from simulation.runs import run

if TYPE_CHECKING:
    from simulation.world import Week

FEW = 100


def first(fault: str, week: Week) -> int:
    """The first seed that finds a fault, which must be there to be found."""
    outcomes = (run(seed, week, plant=PLANTED[fault].plant) for seed in range(1, FEW + 1))
    found = next(outcome for outcome in outcomes if outcome.broken)
    assert not found.broken[0].startswith(("AttributeError", "TypeError")), "a plant that does not fit pbem any more"
    return found.seed


@pytest.mark.parametrize(
    "fault", [pytest.param(name, marks=() if fault.cheap else pytest.mark.long) for name, fault in PLANTED.items()]
)
def test_a_fault_is_found_in_a_few_short_weeks(fault: str) -> None:
    """It is the fault that is found: without it, the week passes."""
    week = PLANTED[fault].week
    assert not run(first(fault, week), week).broken
