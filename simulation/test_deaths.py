"""The crash matrix: a server dies at every point of a letter's way, killed or without power, and nobody notices.

Promises 1 and 3 of reliability.md; cases 2 and 9. What only real processes show is in tests/test_crashes.py.
"""

from __future__ import annotations

import asyncio
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest
from msgspec.structs import replace
from world.points import POINTS

from simulation.invariants import Broken, check
from simulation.runs import CALM
from simulation.server import Desk, Killed
from simulation.world import World, logs

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

DAY = replace(CALM, days=0.5, games=("spaceships",), leisure=6000.0)
HOUR = 3600.0
TWICE = (*POINTS, *(point for point in POINTS if not point.startswith("clock")))
"""All points, but for those of the clock, which has little to do in half a day, twice."""


@pytest.mark.parametrize("seed", [1, 2])
def test_deaths_at_each_point(tmp_path: Path, seed: int) -> None:
    """By the seed, they are the machine's, the server's or, where it passes, the desk's alone."""
    with World(tmp_path, f"deaths {seed}", DAY) as world:
        world.machine.planned = [*TWICE]
        world.run()
        check(world)
        assert not world.machine.planned
        figures = world.figures
        assert figures.kills + figures.power_cuts + figures.desk_deaths == len(TWICE)


def test_case_02_a_letter_that_was_stored_and_not_answered(tmp_path: Path) -> None:
    """It comes again, and is stored and answered once."""
    with asked(tmp_path) as world:
        world.machine.planned = ["letter stored"]
        world.stranger.write()
        wait(world, HOUR)
        assert world.figures.kills + world.figures.power_cuts == 1
        assert states(world) == [("done", 0)]
        assert [taken.recipient for taken in world.taken] == [world.stranger.address]


def test_case_09_a_letter_that_crashes_the_desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It kills the whole server each time it was read, alone, and so cannot be counted after the fact."""
    deaths = die(monkeypatch, "letter read", 9)
    with asked(tmp_path) as world:
        world.stranger.write()
        wait(world, HOUR)
        assert len(deaths) == 4, "at first with others, and then three times by its own fault"
        deaths.extend(["no more"] * 9)
        world.stranger.write()
        wait(world, HOUR)
        assert states(world) == [("aside", 3), ("done", 0)]
        with world.machine.store() as database:
            (reference,) = database.rows("SELECT reference FROM inbox WHERE state = 'aside'")[0].values()
        told = [taken.recipient for taken in world.taken if reference.encode() in taken.raw]
        assert sorted(told) == ["eve@mail.example", "operator@play.example"]
        check(world)
        del world.deaths[2:]
        with pytest.raises(Broken, match="answered with 250, and aside"):
            check(world)


@pytest.mark.parametrize("point", ["letter leased", "effects written"])
def test_case_09_deaths_of_the_host_count_for_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, point: str
) -> None:
    """However often it dies while a letter is in hand, or rests, the letter has its effect in the end."""
    deaths = die(monkeypatch, point, 4 if point == "letter leased" else 1)
    with asked(tmp_path) as world:
        world.machine.draw.random = lambda: 0.0  # type: ignore[method-assign]  # it restarts at once
        world.stranger.write()
        for _ in range(5):
            wait(world, 10.0)
            world.machine.kill()
        wait(world, HOUR)
        assert deaths
        assert states(world) == [("done", 0)]
        assert [taken.recipient for taken in world.taken] == [world.stranger.address]


@contextmanager
def asked(folder: Path) -> Iterator[World]:
    """A server to which a stranger writes."""
    with World(folder, "asked", DAY) as world, logs(world):
        world.machine.start()
        wait(world, HOUR)
        yield world


def wait(world: World, seconds: float) -> None:
    world.loop.run_until_complete(world.begin(asyncio.sleep(seconds)))


def die(monkeypatch: pytest.MonkeyPatch, where: str, most: int) -> list[str]:
    """Kill the server whenever its desk passes there, so often at most; whatever letter is blamed."""
    deaths: list[str] = []

    def passed(desk: Desk, point: str) -> None:
        if desk._machine.dead:
            raise Killed(point)
        if point == where and len(deaths) < most:
            deaths.append(point)
            desk._machine.die(power=False)
            raise Killed(point)

    monkeypatch.setattr(Desk, "_passed", passed)
    return deaths


def states(world: World) -> list[tuple[str, int]]:
    """What became of the letters, and the attempts that are counted."""
    with world.machine.store() as database:
        return [(row["state"], row["attempts"]) for row in database.rows("SELECT * FROM inbox ORDER BY id")]
