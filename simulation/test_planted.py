"""Each planted fault is found within a hundred short weeks; those that are cheap to find, in every test run."""

from __future__ import annotations

import pytest

from pbem.match.changed import replace
from simulation.planted import PLANTED
from simulation.runs import CALM, CHANCES, run
from simulation.world import Week

FEW, MANY = 100, 1000
BUSY = Week(days=0.5, games=("spaceships",), parts=(), leisure=1800.0, pace="4h", deaths=30)
ONE = replace(BUSY, deaths=2, lies=0, **dict.fromkeys(set(CHANCES) - {"careless", "forged"}, 0.0))
"""For one further part."""
QUIET = Week(games=("spaceships",), parts=(), deaths=2, careless=0.0, troubles=False)
SHORT_CALM = replace(CALM, days=0.5, games=("shoot-em-up",), leisure=1800.0)
LYING = replace(SHORT_CALM, liars=1.0)
FALSE = replace(SHORT_CALM, lies=20)
SHARED = replace(SHORT_CALM, days=0.3, distant=1.0, deaths=20, troubles=True)
SHORT = {
    "commit_without_sync": BUSY,
    "lease_of_the_dead": BUSY,
    "token_good_twice": Week(
        days=3.0, games=("spaceships",), parts=(), deaths=0, careless=0.0, troubles=False, accidents=False
    ),
    "miss_in_an_outage": QUIET,
    "any_clock_is_believed": replace(QUIET, steps=1.0),
    "sent_before_its_commit": BUSY,
    "setup_in_the_open": replace(ONE, parts=("sealed",)),
    "deaf_to_witnesses": replace(ONE, parts=("witnesses",), days=1.0),
    "told_without_a_code": replace(ONE, parts=("notices",)),
    "told_for_ever": replace(ONE, parts=("notices",), days=0.25),
    "vacation_without_a_zone": replace(ONE, parts=("summer",), days=3.0, careless=0.0),
    **dict.fromkeys(
        ("result_forgotten", "result_counted_again", "pair_left_out"),
        replace(ONE, parts=("tournament",), games=("spaceships", "shoot-em-up")),
    ),
    "moved_before_it_is_kept": replace(ONE, parts=("mailbox",), deaths=30),
    "vouched_for_once": replace(ONE, parts=("keyless",), days=1.0, careless=0.0),
    "deaf_and_on_time": replace(ONE, parts=("mailbox",), days=2.0, careless=0.0),
    "miss_in_a_pause": replace(SHORT_CALM, days=2.0, pauses=1.0),
    "restored_as_if_nothing_was": replace(SHORT_CALM, restores=1.0),
    "moved_without_its_outbox": replace(SHORT_CALM, moves=1.0, troubles=True),
    "any_signature_holds": LYING,
    "any_date_will_do": LYING,
    "any_place_will_do": LYING,
    "any_mailbox_will_do": LYING,
    "entries_are_not_made_again": FALSE,
    "letters_are_not_held_against_it": FALSE,
    "altered_letters_are_believed": FALSE,
    "commits_on_hearsay": replace(SHORT_CALM, distant=1.0),
    "writes_on_when_deposed": SHARED,
    "sendings_of_the_dead": SHARED,
    "sendings_of_the_living": replace(SHARED, deaths=2),
    "silent_for_ever": replace(SHARED, days=1.0),
    "left_is_arrived": replace(SHORT_CALM, held=0.3),
    "condition_of_the_other": replace(SHORT_CALM, parts=("keyless",), games=("spaceships",), days=1.0),
    "opened_is_honest": replace(LYING, parts=("sealed",), games=("spaceships",), days=1.0),
    "nobody_is_asked": replace(SHORT_CALM, parts=("substitutes",), days=1.0),
}
"""Weeks in which little happens beside what each fault needs."""

CHEAP = {
    "token_good_twice",
    "miss_in_an_outage",
    "restored_as_if_nothing_was",
    "setup_in_the_open",
    "told_without_a_code",
}
COMMON = (
    "commit_without_sync",
    "lease_of_the_dead",
    "token_good_twice",
    "miss_in_an_outage",
    "sent_before_its_commit",
)
"""What whole weeks find soon, too: in most of them the operator does nothing of what the others need."""


def first(plant: str, week: Week, most: int) -> int:
    """The first seed that finds a fault."""
    return next(seed for seed in range(1, most + 1) if run(seed, week, plant=PLANTED[plant]).broken)


@pytest.mark.parametrize(
    "plant", [pytest.param(plant, marks=() if plant in CHEAP else pytest.mark.long) for plant in PLANTED]
)
def test_a_fault_is_found_in_a_few_short_weeks(plant: str) -> None:
    """It is the fault that is found: without it, the week passes."""
    assert not run(first(plant, SHORT[plant], FEW), SHORT[plant]).broken


@pytest.mark.long
@pytest.mark.parametrize("plant", COMMON)
def test_a_fault_is_found_within_a_thousand_weeks(plant: str) -> None:
    assert first(plant, Week(), MANY)
