"""Many weeks: each is run from its seed and judged; those that broke a promise are made smaller; all are summed up.

A week that broke a promise is tried again with fewer games, fewer days and fewer troubles, as long as it breaks in
one of the same ways. Nothing here knows what a promise is: see `simulation.invariants`.
"""

from __future__ import annotations

import multiprocessing
import os
import re
import shutil
import tempfile
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import msgspec
from msgspec.structs import replace

from simulation.invariants import Broken, check
from simulation.story import told
from simulation.world import Figures, Week, World

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Outcome", "Plant", "on_cores", "outcomes", "read", "run", "said", "shrunk"]

T = TypeVar("T")

TRIES = 60
"""How many smaller weeks are tried at most."""

SHORTEST = 0.25  # days

CHANCES = ("careless", "forged", "pauses", "restores", "moves", "liars", "held", "distant")
"""What a smaller week has none of, each a probability."""

CALM = replace(
    Week(parts=(), deaths=0, accidents=False, troubles=False, lies=0, pace="4h"), **dict.fromkeys(CHANCES, 0.0)
)
"""A week in which nothing goes wrong."""

A_CHILD = 200  # weeks that one process runs, about, before another goes on

MEMORY = Path("/dev/shm")
"""Where files are in memory, on Linux."""

ROOM = 1 << 30  # octets that must be free there: containers may have little memory


Plant = Callable[[World], AbstractContextManager[None]]
"""Puts a fault into the server of a world while its block lasts."""


def _place() -> Path | None:
    """The folder of a week's files: in memory, if there is room. What of them is on disk, the simulation decides."""
    usable = os.access(MEMORY, os.W_OK | os.X_OK) and shutil.disk_usage(MEMORY).free > ROOM
    return MEMORY if usable else None


def _nothing(_world: World) -> AbstractContextManager[None]:
    """No fault."""
    return nullcontext()


@dataclass(frozen=True)
class Outcome:
    """The result of one seed."""

    seed: int
    week: Week
    figures: Figures
    trace: str
    """The hash of everything that happened, in 64 hex digits."""
    story: tuple[str, ...]
    broken: tuple[str, ...]
    """What did not hold, one line each."""

    @property
    def ways(self) -> frozenset[str]:
        """The ways in which it broke, without names and numbers."""
        return frozenset(re.sub(r"<\S+>|\bb'.*?'|\S*\d\S*", "#", line.partition(":")[0]) for line in self.broken)


def run(seed: int, week: Week, *, plant: Plant = _nothing, story: bool = False) -> Outcome:
    """Run one week, with a planted fault, and judge it; the story is kept on request."""
    broken: tuple[str, ...] = ()
    with tempfile.TemporaryDirectory(prefix="pbem-week-", dir=_place()) as folder:
        try:
            with World(Path(folder), f"{seed}", week) as world, plant(world):
                world.run()
                check(world)
        except Broken as error:
            broken = tuple(str(error).splitlines())
        except Exception as error:
            broken = (f"{type(error).__name__}: {error}",)
    lines = tuple(told(world.story, broken)) if story else ()
    return Outcome(seed, week, world.figures, world.trace.hexdigest(), lines, broken)


def outcomes(seeds: range, week: Week, jobs: int | None = None, *, story: bool = False) -> Iterator[Outcome]:
    """The outcome of each seed, in order; on this many processes, or as many as there are processors."""
    one = partial(run, week=week, story=story)
    if len(seeds) == 1 or jobs == 1:
        yield from map(one, seeds)
        return
    yield from on_cores(one, seeds, jobs or os.cpu_count() or 1, A_CHILD)


def on_cores(call: Callable[[int], T], each: range, jobs: int, a_child: int) -> Iterator[T]:
    """What the call gives for each, in order; so many processes make about so many calls, and then others go on."""
    context = multiprocessing.get_context("spawn")
    # Not by `max_tasks_per_child`: no other process would go on, and all would wait for ever (python/cpython#115634).
    for lot in (each[begin : begin + jobs * a_child] for begin in range(0, len(each), jobs * a_child)):
        with ProcessPoolExecutor(jobs, context) as pool:
            yield from pool.map(call, lot)


def shrunk(found: Outcome, again: Callable[[Week], Outcome]) -> Outcome:
    """A smaller week that breaks in one of the same ways, or the given one if there is none."""
    tries, smallest = 0, found
    while True:
        for week in _smaller(smallest.week):
            if tries >= TRIES:
                return smallest
            tries += 1
            outcome = again(week)
            if outcome.ways & found.ways:
                smallest = outcome
                break
        else:
            return smallest


def _smaller(week: Week) -> Iterator[Week]:
    """Weeks that are smaller by one thing, the smallest first."""
    for number in range(1, len(week.games)):
        yield from (replace(week, games=games) for games in combinations(week.games, number))
    for part in week.parts:
        yield replace(week, parts=tuple(other for other in week.parts if other != part))
    if week.accidents:
        yield replace(week, accidents=False)
    if week.troubles:
        yield replace(week, troubles=False)
    yield from (replace(week, **{chance: 0.0}) for chance in CHANCES if getattr(week, chance))
    yield from (replace(week, deaths=deaths) for deaths in {0, week.deaths // 2, week.deaths - 1} if deaths >= 0)
    if week.days / 2 >= SHORTEST:
        yield replace(week, days=week.days / 2)


def said(week: Week) -> str:
    """The unusual values of a week, as `read` takes them."""
    usual = Week()
    differs = {one.name: getattr(week, one.name) for one in msgspec.structs.fields(week)}
    return msgspec.json.encode(
        {name: value for name, value in differs.items() if value != getattr(usual, name)}
    ).decode()


def read(text: str) -> Week:
    """A week, given its unusual values; raises msgspec.ValidationError."""
    return msgspec.json.decode(text, type=Week, strict=True)
