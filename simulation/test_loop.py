"""The loop of virtual time: what comes when, and in which order."""

from __future__ import annotations

import asyncio
from random import Random
from typing import TYPE_CHECKING, Any

import pytest

import simulation.loop
from simulation.loop import Loop, Stuck

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def loop() -> Iterator[Loop]:
    loop = Loop(Random(1))
    yield loop
    loop.end()


def test_time_leaps_to_what_is_due_next(loop: Loop) -> None:
    came: list[tuple[str, float]] = []

    def come(name: str) -> None:
        came.append((name, loop.time()))

    loop.call_later(86_400.1, come, "later")
    loop.call_at(0.3, come, "sooner")
    loop.call_soon(come, "now")
    loop.call_later(7.0, come, "never").cancel()
    loop.run_until_complete(asyncio.sleep(86_401))
    assert came == [("now", 0.0), ("sooner", 0.3), ("later", 86_400.1)]
    assert loop.time() == 86_401


def test_what_is_due_together_comes_as_it_was_asked_for(loop: Loop) -> None:
    came: list[int] = []
    for number in range(20):
        loop.call_at(5.0, came.append, number)
    loop.run_until_complete(asyncio.sleep(6))
    assert came == [*range(20)]


def test_steps_of_tasks_that_are_ready_together_come_in_a_seeded_order() -> None:
    def order(seed: int) -> list[int]:
        came: list[int] = []

        async def step(number: int) -> None:
            await asyncio.sleep(0)
            came.append(number)

        async def steps() -> None:
            await asyncio.gather(*map(step, range(10)))

        loop = Loop(Random(seed))
        loop.run_until_complete(steps())
        loop.end()
        return came

    assert order(1) == order(1)
    assert order(1) != order(2)
    assert sorted(order(2)) == [*range(10)]


def test_a_fault_of_one_callback_is_told_and_others_go_on(loop: Loop) -> None:
    told: list[dict[str, Any]] = []
    loop.set_exception_handler(lambda _, context: told.append(context))
    loop.call_soon(int, "x")
    loop.run_until_complete(asyncio.sleep(1))
    assert isinstance(told[0]["exception"], ValueError)


def test_what_waits_for_ever_or_runs_in_a_circle_is_stuck(loop: Loop, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(Stuck, match="nothing is due"):
        loop.run_until_complete(loop.create_future())
    monkeypatch.setattr(simulation.loop, "ENDLESS", 100)

    def circle() -> None:
        loop.call_soon(circle)

    loop.call_soon(circle)
    with pytest.raises(Stuck, match="time stands still"):
        loop.run_until_complete(asyncio.sleep(1))
