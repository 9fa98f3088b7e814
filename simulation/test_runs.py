"""A week that broke a promise is made smaller as long as it breaks in the same way, and is printed and read again."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from msgspec.structs import replace

from simulation.runs import CHANCES, Outcome, read, said, shrunk
from simulation.world import Figures, Week

ROOT = Path(__file__).parents[1]

NONE = dict.fromkeys(CHANCES, 0.0)


def outcome(week: Week, *broken: str) -> Outcome:
    return Outcome(17, week, Figures(), "", (), broken)


def test_what_is_not_needed_is_left_out() -> None:
    """This fault needs one game, two deaths, and a day."""

    def again(week: Week) -> Outcome:
        breaks = "dueling-masters" in week.games and week.deaths >= 2 and week.days > 1
        return outcome(week, "lost: <2@mail.example>") if breaks else outcome(week)

    found = shrunk(outcome(Week(), "lost: <1@mail.example>"), again).week
    needed = Week(days=1.75, games=("dueling-masters",), parts=(), deaths=2, accidents=False, troubles=False)
    least = replace(needed, **NONE)
    assert found == least


def test_a_week_that_breaks_otherwise_is_another_fault() -> None:
    found = outcome(Week(), "lost: 1")
    assert shrunk(found, lambda week: outcome(week, "sent, and not written: 1")) is found


@pytest.mark.parametrize("week", [Week(), Week(days=0.5, games=("spaceships",)), Week(accidents=False, deaths=0)])
def test_a_week_is_read_as_it_was_said(week: Week) -> None:
    assert read(said(week)) == week


def test_others_go_on_where_a_process_has_made_its_calls() -> None:
    """Python's own way to replace a process left all waiting for ever, after some hundreds of weeks."""
    asked = "from simulation.runs import on_cores; print(*on_cores(abs, range(-9, 1), jobs=2, a_child=2))"
    here = {**os.environ, "PYTHONPATH": os.pathsep.join((str(ROOT), str(ROOT / "tests")))}
    told = subprocess.run([sys.executable, "-c", asked], check=True, capture_output=True, timeout=60, env=here)
    assert told.stdout.split() == [b"%d" % number for number in range(9, -1, -1)]
