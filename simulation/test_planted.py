"""Each planted fault is found within a hundred short weeks; those that are cheap to find, in every test run."""

from __future__ import annotations

import pytest

from simulation.planted_matches import PLANTED
from simulation.runs import run
from simulation.world import Week

FEW, MANY = 100, 1000
COMMON = (
    "commit_without_sync",
    "lease_of_the_dead",
    "token_good_twice",
    "miss_in_an_outage",
    "sent_before_its_commit",
)
"""What whole weeks find soon, too: in most of them the operator does nothing of what the others need."""


def first(fault: str, week: Week, most: int) -> int:
    """The first seed that finds a fault, which must be there to be found."""
    outcomes = (run(seed, week, plant=PLANTED[fault].plant) for seed in range(1, most + 1))
    found = next(outcome for outcome in outcomes if outcome.broken)
    assert not found.broken[0].startswith(("AttributeError", "TypeError")), "a plant that does not fit pbem any more"
    return found.seed


@pytest.mark.parametrize(
    "fault", [pytest.param(name, marks=() if fault.cheap else pytest.mark.long) for name, fault in PLANTED.items()]
)
def test_a_fault_is_found_in_a_few_short_weeks(fault: str) -> None:
    """It is the fault that is found: without it, the week passes."""
    week = PLANTED[fault].week
    assert not run(first(fault, week, FEW), week).broken


@pytest.mark.long
@pytest.mark.parametrize("fault", COMMON)
def test_a_fault_is_found_within_a_thousand_weeks(fault: str) -> None:
    assert first(fault, Week(), MANY)
