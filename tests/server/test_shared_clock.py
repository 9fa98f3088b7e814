"""Servers that share a store go by its clock, whatever their machines' clocks say."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, cast

from pbem.match.changed import replace
from pbem.server.shared_clock import SharedClock
from simulation.invariants import check
from simulation.runs import CHANCES
from simulation.world import Week, World

if TYPE_CHECKING:
    from pathlib import Path

    from pbem.store.database import Engine

THERE = datetime(2026, 11, 21, 12, tzinfo=UTC)
YEAR = timedelta(days=365)
WEEK = Week(days=0.2, games=("shoot-em-up",), parts=(), leisure=1500.0, deaths=0, accidents=False, troubles=False)
CALM = replace(WEEK, lies=0, **{**dict.fromkeys(CHANCES, 0.0), "distant": 1.0})


class _There:
    """The database."""

    def time(self, _here: datetime) -> datetime:
        return THERE


def test_it_goes_on_by_the_seconds_that_go_by() -> None:
    here, seconds = THERE + YEAR, 10.0
    clock = SharedClock(lambda: here, lambda: seconds)
    assert clock() == here
    assert clock.look(cast("Engine", _There())) == THERE
    here, seconds = THERE - YEAR, 12.5
    assert clock() == THERE + timedelta(seconds=2.5)


def test_what_a_server_of_the_wrong_year_does_is_of_the_right_one(tmp_path: Path) -> None:
    """One is a year ahead, one a year behind, and the smarthost is out of reach for an hour: nothing is put off."""
    with World(tmp_path, "years", CALM) as world:
        for machine, by in zip(world.machines, (YEAR, -YEAR), strict=True):
            machine.set_by = by
        world.loop.call_later(1800.0, setattr, world._door, "serving", False)
        world.loop.call_later(5400.0, setattr, world._door, "serving", True)
        world.run()
        check(world)
        with world.machine.store() as database:
            times = database.row("SELECT min(received) AS first, max(received) AS last FROM inbox")
        assert times is not None
        assert times["first"][:7] == times["last"][:7] == "2026-03"
        assert world.figures.seconds < 7 * 86_400
