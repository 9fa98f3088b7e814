"""The operator of the server: pauses matches, puts a backup back, and moves the store.

Each act is what a command of the operator's does, by the same functions of `pbem.store`; docs/operating.md tells
people how. The power may fail in the middle of an act; then it is done again, as a person would.
"""

from __future__ import annotations

import asyncio
import signal
import sqlite3
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from msgspec.structs import replace
from world.promises import name_of

from pbem.server.server_clock import ServerClock
from pbem.store import own_keys
from pbem.store.database import Database
from pbem.store.errors import StoreError
from pbem.store.operator import PAUSED, Instructions
from pbem.store.restore import move, restore
from pbem.store.sqlite import Lock

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterator

    from simulation.disk import Process
    from simulation.world import World

T = TypeVar("T")

HOUR = 3600.0
AGAIN = 1200.0  # seconds until an act that failed is tried again
PATIENCE = 480 * HOUR
"""Longer after a week than any trouble lasts in which an act fails."""
_TROUBLES = StoreError, OSError, sqlite3.Error
"""What an act on a machine whose power or disk fails may raise."""

RESTORED = "from a backup"
"""The words of `pbem verify --against` where a restore may be the reason."""
STEPS = 300
"""Most operations of the disk until the power fails in an act; an act takes a few hundred."""


class Operator:
    """One operator, whose acts follow from the seed."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._draw = world.random("operator")
        self._acts: list[asyncio.Task[None]] = []
        self.given: list[int] = []
        """The instructions that were given, by number."""
        self.lost: set[tuple[bytes, str]] = set()
        """The letters that were answered with 250 between a backup and its restore: the server forgot them."""
        self.forgotten: set[int] = set()
        """Which of the letters that the smarthost took were sent in that time, by their place."""
        self.ended: set[str] = set()
        """The matches of which something was told that the server forgot: they cannot go on."""

    def plan(self) -> list[tuple[float, Callable[[], object]]]:
        """What the operator will do in the week, each at its time."""
        week, draw, length = self._world.week, self._draw, self._world.week.days * 24 * HOUR
        acts: list[tuple[float, Callable[[], object]]] = []
        of_a_file = (week.restores, self._restore), (week.moves, self._move)
        for chance, act in ((week.pauses, self._pause), *(() if self._world.base is not None else of_a_file)):
            if draw.random() < chance:
                acts.append((length * draw.uniform(0.1, 0.8), partial(self._begin, act)))
        return acts

    async def finish(self) -> None:
        """Finish what was begun, and let all matches go on."""
        await asyncio.gather(*self._acts)
        await self._decide()

    def _begin(self, act: Callable[[], Coroutine[Any, Any, None]]) -> None:
        self._acts.append(self._world.begin(act()))

    # `pbem match pause` and `resume`.

    async def _pause(self) -> None:
        self._world.figures.pauses += 1
        length = self._draw.uniform(0.02, 0.3) * self._world.week.days * 24 * HOUR
        running = await self._ask("SELECT 'm' || number AS match FROM matches WHERE phase IN ('setup', 'playing')")
        if not running:
            return
        match = self._draw.choice(sorted(running))
        await self._instruct("pause", match)
        await asyncio.sleep(length)
        if match not in self.ended:
            await self._instruct("resume", match)

    async def _decide(self) -> None:
        """Let each match go on that stands still, or end it if players were told what the server forgot."""
        for match in await self._ask(PAUSED):
            await self._instruct("end" if match in self.ended else "resume", match)

    async def accept_clock(self) -> None:
        """Say that the clock is right, though it leapt: `pbem clock accept`."""
        world = self._world

        def accept(process: Process) -> None:
            with Database(world.machine.config.store, migrate=False, disk=process) as database:
                clock = ServerClock(world.machine.clock, world.machine.config)
                clock.look(database)
                if clock.stops():
                    clock.accept(database)

        await self._beside(accept)
        for machine in world.machines:
            machine.synchronised = True
            if (look := world.loop.signals.get((machine.host, signal.SIGCONT))) is not None:
                look()

    async def _ask(self, query: str, *values: str) -> list[str]:
        """The matches that a query of the store finds."""

        def ask(process: Process) -> list[str]:
            with Database(self._world.machine.config.store, migrate=False, disk=process) as database:
                return [row["match"] for row in database.rows(query, values)]

        return await self._beside(ask)

    async def _instruct(self, what: str, match: str) -> None:
        """Give the desk an instruction, and wait until it is obeyed."""

        def give(process: Process) -> None:
            with Database(self._world.machine.config.store, migrate=False, disk=process) as database:
                now = self._world.now()
                self.given.append(Instructions(database).give(what, match, f"to {what} it", "operator", now))

        self._world.note("the operator gives an instruction:", what, match)
        await self._beside(give)
        if (look := self._world.loop.signals.get((self._world.machine.host, signal.SIGCONT))) is not None:
            look()

    async def _beside(self, what: Callable[[Process], T]) -> T:
        """Do something beside the running server, again and again until it succeeds."""
        while True:
            if self._world.machine.runs:
                with suppress(*_TROUBLES), self._process() as process:
                    return what(process)
            await self._wait()

    # `pbem backup` and `pbem restore`.

    async def _restore(self) -> None:
        world = self._world
        agreed = await self._ask("SELECT 'm' || number AS match FROM matches WHERE phase <> 'proposed'")
        if len(agreed) < len(world.week.games):
            return  # too little would be left, and nobody would be asked about what is only proposed
        backup = world.folder / f"backup-{len(self._acts)}"
        told: dict[str, int] = {}

        def copy(process: Process) -> None:
            with Database(self._store, migrate=False, disk=process) as database:
                database.engine.backup(backup)
                told.update(_entries(database))

        await self._beside(copy)
        unfetched = {raw for part in world.parts for raw in part.unfetched}
        answered = {one for one in world.answered if one[0] not in unfetched}
        taken, given = len(world.taken), len(self.given)
        await asyncio.sleep(world.week.backup * HOUR)

        def put_back(process: Process) -> None:
            self.lost |= world.answered.keys() - answered
            self.forgotten |= {*range(taken, len(world.taken))}
            del self.given[given:]
            # A restore that broke off may have left a store with two names, which only another one opens.
            with suppress(StoreError), Database(self._store, migrate=False, disk=process) as database:
                self.ended |= {match for match, seq in _entries(database).items() if seq > told.get(match, 0)}
                for part in world.parts:
                    part.go_back(database)
            with Lock(self._store, process):
                restore(backup, self._store, self._keys(), "operator", world.now(), process)

        world.figures.restores += 1
        await self._stopped("restore of a backup", put_back)
        await asyncio.sleep(self._draw.uniform(0.5, 6) * HOUR)  # the players are asked
        await self._decide()

    def has_lost(self, message_id: str) -> bool:
        """True if the letter of this Message-ID is one that a restored server forgot."""
        return any(name_of(raw) == message_id.encode() for raw, _ in self.lost)

    def explains(self, said: str) -> bool:
        """True if this finding against the server is said to come from a restore, and there was one."""
        return bool(self._world.figures.restores) and RESTORED in said

    # `pbem move-store`.

    async def _move(self) -> None:
        old = self._store
        new = old.with_name(f"moved-{len(self._acts)}.sqlite")

        def carry(process: Process) -> None:
            for half in new.parent.glob(f"{new.name}*"):
                half.unlink()  # of an attempt in which the power failed
            with (
                Lock(old, process),
                Lock(new, process),
                Database(old, disk=process) as one,
                Database(new, disk=process) as other,
            ):
                own_keys.check(one, self._keys())
                move(one, other)
            machine = self._world.machine
            if not machine.disk.down:
                machine.config = replace(machine.config, store=new)

        self._world.figures.moves += 1
        await self._stopped("move of the store", carry)

    # What all have in common.

    @property
    def _store(self) -> Path:
        store = self._world.machine.config.store
        assert isinstance(store, Path)
        return store

    def _keys(self) -> own_keys.OwnKeys:
        config = self._world.machine.config
        return own_keys.load(config.store_key, config.signing_key, self._draw.randbytes)

    @contextmanager
    def _process(self) -> Iterator[Process]:
        """A process of the operator's on the server's machine."""
        process = self._world.machine.disk.process()
        try:
            yield process
        finally:
            process.kill()

    async def _wait(self) -> None:
        """Wait until it is time to try again."""
        late = self._world.week.days * 24 * HOUR + PATIENCE
        assert self._world.loop.time() < late, "what the operator does fails for ever"
        await asyncio.sleep(AGAIN)

    async def _stopped(self, what: str, act: Callable[[Process], None]) -> None:
        """Stop the server, do something, in which the power may fail, and start it; until it succeeds."""
        machine, done = self._world.machine, False

        def work() -> None:
            nonlocal done
            self._world.note("the operator begins the", what)
            if machine.deaths and self._draw.random() < 0.3:
                machine.disk.fails_after = self._draw.randrange(STEPS)
            with suppress(*_TROUBLES), self._process() as process:
                act(process)
                done = not machine.disk.down
            machine.disk.fails_after = None

        machine.acts = True
        while not done:
            machine.end(work)
            await self._wait()
        machine.acts = False


def _entries(database: Database) -> dict[str, int]:
    """How many entries each match has."""
    rows = database.rows("SELECT 'm' || match AS match, count(*) AS number FROM entries GROUP BY match")
    return {row["match"]: row["number"] for row in rows}
