"""Two servers that share a database: what becomes of their sessions, of the lock, and of letters when one is lost."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest
from msgspec.structs import replace

from simulation.elsewhere import IDLE, LEASE, SILENCE, TAKEOVER
from simulation.runs import CALM
from simulation.test_deaths import wait
from simulation.world import World, logs

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from simulation.server import Machine

SHARED = replace(CALM, days=0.3, games=("shoot-em-up",), leisure=1800.0, distant=1.0)
BEGUN = 3600.0  # seconds after which both are at work


@contextmanager
def both(tmp_path: Path) -> Iterator[World]:
    """Two servers at work, with nothing to do."""
    with World(tmp_path, "both", SHARED) as world, logs(world), world.elsewhere():
        world.machine.start()
        world.begin(world.follow(world.machines[1]))
        wait(world, BEGUN)
        yield world
        assert not world.faults


def decides(world: World) -> Machine:
    """The machine of the server that decides."""
    assert world.base is not None
    assert world.base.decides is not None
    host = world.base.decides.host
    return next(machine for machine in world.machines if machine.host == host)


def test_the_other_decides_at_once_if_a_server_is_killed(tmp_path: Path) -> None:
    with both(tmp_path) as world:
        one = decides(world)
        one.down_until = world.loop.time() + 2 * BEGUN
        one.kill()
        wait(world, SILENCE / 4)
        assert decides(world) is not one


@pytest.mark.parametrize("how", ["the power fails", "the database is out of reach"])
def test_and_somewhat_later_if_nobody_can_say_so(tmp_path: Path, how: str) -> None:
    with both(tmp_path) as world:
        one = decides(world)
        one.down_until = world.loop.time() + LEASE
        if how == "the power fails":
            one.cut_power()
        else:
            one.be_cut_off(LEASE)
        wait(world, SILENCE / 4)
        assert decides(world) is one
        wait(world, SILENCE)
        assert decides(world) is not one
        wait(world, LEASE + TAKEOVER)
        assert all(machine.runs for machine in world.machines)


def test_a_server_that_sleeps_is_deposed(tmp_path: Path) -> None:
    """Its system keeps its connections; when it wakes, it finds that another one decides."""
    with both(tmp_path) as world:
        one = decides(world)
        one.sleep(LEASE)
        wait(world, SILENCE / 2)
        assert decides(world) is one
        wait(world, 2 * SILENCE)
        assert decides(world) is not one
        wait(world, LEASE + IDLE)
        assert decides(world) in set(world.machines) - {one}
