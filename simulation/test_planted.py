"""Each planted fault is found within a thousand seeds; those that are cheap to find, in every test run."""

from __future__ import annotations

import pytest

from pbem.match.changed import replace
from simulation.planted import PLANTED
from simulation.runs import run
from simulation.world import Week

FEW, MANY = 10, 1000
BUSY = Week(days=0.5, games=("spaceships",), parts=(), leisure=1800.0, pace="4h", deaths=30)
QUIET = Week(games=("spaceships",), parts=(), deaths=2, careless=0.0, troubles=False)
SHORT = {
    "commit_without_sync": BUSY,
    "lease_of_the_dead": BUSY,
    "token_good_twice": Week(
        days=3.0, games=("spaceships",), parts=(), deaths=0, careless=0.0, troubles=False, accidents=False
    ),
    "miss_in_an_outage": QUIET,
    "day_that_never_goes_back": replace(QUIET, steps=1.0),
    "sent_before_its_commit": BUSY,
    "setup_in_the_open": replace(BUSY, parts=("sealed",), deaths=2),
    "deaf_to_witnesses": replace(BUSY, parts=("witnesses",), days=1.0, deaths=2),
    "told_without_a_code": replace(BUSY, parts=("notices",), deaths=2),
    "told_for_ever": replace(BUSY, parts=("notices",), days=0.25, deaths=2),
    "vacation_without_a_zone": replace(BUSY, parts=("summer",), days=3.0, deaths=2, careless=0.0),
    "result_forgotten": replace(BUSY, parts=("tournament",), games=("spaceships", "shoot-em-up"), deaths=2),
    "moved_before_it_is_kept": replace(BUSY, parts=("mailbox",)),
    "vouched_for_once": replace(BUSY, parts=("keyless",), days=1.0, deaths=2, careless=0.0),
}
"""Weeks in which little happens beside what each fault needs."""

COSTLY = {
    "commit_without_sync",
    "sent_before_its_commit",
    "vouched_for_once",
    "deaf_to_witnesses",
    "told_for_ever",
    "vacation_without_a_zone",
    "result_forgotten",
    "moved_before_it_is_kept",
}


def first(plant: str, week: Week, most: int) -> int:
    """The first seed that finds a fault."""
    return next(seed for seed in range(1, most + 1) if run(seed, week, plant=PLANTED[plant]).broken)


@pytest.mark.parametrize(
    "plant", [pytest.param(plant, marks=pytest.mark.long if plant in COSTLY else ()) for plant in PLANTED]
)
def test_a_fault_is_found_in_a_few_short_weeks(plant: str) -> None:
    """It is the fault that is found: without it, the week passes."""
    assert not run(first(plant, SHORT[plant], FEW), SHORT[plant]).broken


@pytest.mark.long
@pytest.mark.parametrize("plant", PLANTED)
def test_a_fault_is_found_within_a_thousand_weeks(plant: str) -> None:
    assert first(plant, Week(), MANY)
