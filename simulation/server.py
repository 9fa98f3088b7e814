"""The machine on which the server runs, and the server itself: the daemon as it is wired, in one life after another.

A desk, elsewhere a process of its own, is a greenlet here, which others may overtake at the points between its
transactions. A life ends by `kill -9` or a power failure, at any time or at a point on the way of a letter. Nothing
that ran then has an effect any more, and it is unwound. A desk may die alone, or hang until the daemon ends it.
"""

from __future__ import annotations

import asyncio
import shutil
import signal
from contextlib import ExitStack
from contextvars import Context
from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Any

from greenlet import getcurrent
from world.correspondent import SERVER

from pbem.config import mail
from pbem.config.mail import ListenerConfig
from pbem.config.server import Config, Identity
from pbem.config.values import Duration, Listen
from pbem.desk.reading import InProcess
from pbem.server import server_clock
from pbem.server.daemon import Daemon
from pbem.server.desk_work import opened
from pbem.server.opening import StartError
from pbem.store.database import Database
from pbem.store.errors import BusyError
from pbem.store.inbox import ATTEMPTS
from pbem.store.sqlite import Sqlite
from simulation.disk import Disk, Faults
from simulation.elsewhere import ADDRESS, IDLE, LEASE, Remote
from simulation.loop import PLACE, Event
from simulation.mailers import INTAKE, SMARTHOST
from simulation.story import span

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import datetime
    from pathlib import Path
    from random import Random

    from pbem.server.desk_work import DeskLike, OpenDesk, Supplies, Work
    from simulation.world import World

BETWEEN = {"letter leased", "letter read", "effects committed", "clock committed"}
"""Points at which a desk has no open transaction: others may run before it goes on."""

NAMES = "the server", "the second server"

MAILBOX = f"pbem@{SERVER}"
LONGEST_WAIT = 3000.0  # longest time in seconds until the server looks again, so that weeks are short
NOTICED = 30.0  # seconds until it looks at its clock after that was set
REST = 600.0  # longest time in seconds until a dead machine restarts
SKEW = 5.0  # most seconds by which the clocks of two machines differ
STALLS = 0.002  # how probable it is, when others may run, that a desk hangs until the daemon ends it
LEASED = {"letter leased": 0.02, "letter read": 0.02}
"""The same while it has leased a letter, which the next desk then takes."""
FROZEN = 0.3  # how probable it is that the database misses a machine that sleeps
ASLEEP = 0.002  # how probable it is, at each point, that the machine of one of two servers falls asleep
DEATHS = 400  # most points passed between two deaths
OPERATIONS = 60  # most disk operations until the power fails in the middle of one


class _Disk(Disk):
    """A disk that tells its machine when it fails."""

    def __init__(self, folder: Path, random: Random, failed: Callable[[bool], None]) -> None:
        super().__init__(folder, random)
        self._failed = failed

    def fail(self, *, power: bool) -> None:
        super().fail(power=power)
        self._failed(power)


class Killed(BaseException):
    """The process ended there."""


class Machine:
    """The machine: it dies, and restarts."""

    def __init__(self, world: World) -> None:
        self.world = world
        number = len(world.machines)
        self.name = NAMES[number]
        self.host = f"192.0.2.{1 + number}"
        self.loop = world.loop
        another = f" {1 + number}" if number else ""
        folder = world.folder / f"server{another}"
        folder.mkdir()
        self.disk = _Disk(folder, world.random(f"disk{another}"), self._died)
        self.octets = world.random(f"server{another}").randbytes
        self._disturbed = -1.0
        self._skew = timedelta(seconds=world.random(f"skew{another}").uniform(-SKEW, SKEW) if number else 0.0)
        self.down_until = 0.0
        self.set_by = timedelta()
        """The time by which its clock is wrong."""
        self.synchronised = True
        """Whether its kernel vouches for its clock."""
        self.boots = 1
        self.deaths = world.week.deaths
        """How many deaths at points on the way are still to come."""
        self.planned: list[str] = []
        """Points at which there are deaths besides, each once."""
        self.dead = False
        self.draw = world.random(f"machine{another}")
        self.config = self._config()
        self._passings = self._next_death()
        self._life: asyncio.Task[None] | None = None
        self._change: asyncio.Task[None] | None = None
        """The task that ends a life and starts the next."""
        self._places: list[Place] = []
        self.acts = False
        """Whether an operator's act is begun, and must be done again before the server starts."""

    def _config(self) -> Config:
        folder = self.disk.folder
        config = Config(
            server=SERVER,
            operator=f"operator@{SERVER}",
            store=ADDRESS if self.world.base else folder / "pbem.sqlite",
            keys=folder / "keys",
            smtp=ListenerConfig(listen=Listen(self.host, INTAKE)),
            smarthost=mail.SmarthostConfig(host="smarthost.example", port=SMARTHOST),
            identity=Identity("mx.play.example"),
            delivery=mail.Delivery(longest_retry=Duration(hours=1)),
        )
        for part in self.world.parts:
            config = part.configured(config)
        return config

    def now(self) -> datetime:
        """The time of the machine's clock."""
        return self.world.now() + self.set_by + self._skew

    @property
    def clock(self) -> server_clock.Machine:
        """What it knows of time."""
        return server_clock.Machine(
            self.now, lambda: (f"{self.name} {self.boots}", self.loop.time()), lambda: self.synchronised
        )

    def set_clock(self, wrong_by: timedelta, *, synchronised: bool) -> None:
        """Set its clock wrong, or right again: a real server looks each minute, and then notices."""
        self.set_by, self.synchronised = wrong_by, synchronised
        self.loop.call_later(NOTICED, self._look)

    def _look(self) -> None:
        if self._places and self.runs:
            self._places[-1].wake()

    # Its lives.

    def start(self) -> None:
        """Start the server."""
        self.dead = False
        self.disturb()  # what the smarthost took after its end, out of its buffers, it cannot know
        self._places = []
        self.world.note(self.name, "starts")
        daemon = Daemon(
            self.config,
            machine=self.clock,
            random=self.octets,
            place=self._place,
            reader=InProcess,
            resolve=self.world.resolve,
            http=self.world.fetch,
            tell=self.world.tell,
            environment={},
            points=self.passed,
            disk=self.disk.process(),
            longest_wait=LONGEST_WAIT,
        )
        context = Context()
        context.run(PLACE.set, self.host)
        self._life = self.loop.create_task(daemon.run(), context=context)
        self._life.add_done_callback(self._ended)

    def _ended(self, life: asyncio.Task[None]) -> None:
        """A life is over: if nothing ended it, that is a fault."""
        error = asyncio.CancelledError() if life.cancelled() else life.exception()
        if self.dead or error is None:
            return
        out_of_reach = self.world.base is not None and isinstance(error.__cause__, BusyError)
        if (self.disk.faults != Faults() or out_of_reach) and isinstance(error, StartError):
            self._life = None
            self._change = self.world.begin(self._begin_again())
        elif self.acts and isinstance(error, StartError):
            self.world.note("the server does not start:", error)
            self._life = None
        else:
            self.world.faults.append(f"{self.name} ended by itself: {life}")

    def _place(self, supplies: Supplies, worked: Callable[[], None]) -> Place:
        self._places.append(Place(self, supplies, worked))
        return self._places[-1]

    def store(self) -> Database:
        """A connection to inspect the store; close it after use."""
        base = self.world.base
        return Database(self.config.store if base is None else base.path, migrate=False)

    def waits(self) -> int:
        """How many letters are not handled, or not sent, and how many instructions wait."""
        with self.store() as database:
            return int(
                database.scalar(
                    "SELECT (SELECT count(*) FROM inbox WHERE state IN ('waiting', 'leased'))"
                    " + (SELECT count(*) FROM outbox WHERE state IN ('waiting', 'leased'))"
                    " + (SELECT count(*) FROM instructions WHERE state = 'waiting')"
                )
            )

    @property
    def runs(self) -> bool:
        ends = self.dead or self._change is not None or self.loop.sleeps(self.host)
        return self._life is not None and not ends

    def passed(self, point: str) -> None:
        """The server passes a point on the way of a letter: it may be the last one."""
        if self.dead:
            raise Killed(point)
        if self._is_time(point):
            self.world.note(self.name, "comes to its end at:", point)
            self.die(power=self.draw.random() < 0.5)
            raise Killed(point)
        if self.is_sleepy():
            self.fall_asleep(self.draw.random() * 2 * LEASE)

    def is_sleepy(self) -> bool:
        """Whether it falls asleep at the point that is passed; one alone with its store might as well hang."""
        sleepy = self.world.base is not None and self.deaths > 0 and self.draw.random() < ASLEEP
        return sleepy and not self.would_be_blamed()

    def _is_time(self, point: str) -> bool:
        self._passings -= 1
        if point in self.planned and not self.would_be_blamed():
            self.planned.remove(point)
            return True
        if self._passings > 0 or self.deaths <= 0 or self.would_be_blamed():
            return False
        self.deaths -= 1
        self._passings = self._next_death()
        return True

    def would_be_blamed(self) -> bool:
        """Whether a letter would be set aside for a death now."""
        return any(place.would_be_blamed() for place in self._places)

    def _next_death(self) -> int:
        return self.draw.randint(1, DEATHS)

    def kill(self) -> None:
        """`kill -9`, from outside."""
        self._soon(partial(self.die, power=False))

    def cut_power(self) -> None:
        """The power fails."""
        self._soon(partial(self.die, power=True))

    def _soon(self, what: Callable[[], None]) -> None:
        """Do something as soon as no letter would be blamed for it."""
        if self._life is not None and not self.dead and self.would_be_blamed():
            self.loop.call_later(1.0, self._soon, what)
        else:
            what()

    def sleep(self, seconds: float) -> None:
        """Nothing runs there for a while: it is frozen, or its processes are stopped while its system lives."""
        self._soon(partial(self.fall_asleep, seconds))

    def fall_asleep(self, seconds: float) -> None:
        """As `sleep`, at once."""
        if self.runs:
            self.world.note_death("naps")
            self.world.note(self.name, "sleeps for", span(seconds))
            self.loop.sleep(self.host)
            if self.world.base is not None and self.draw.random() < FROZEN:
                self._cut_off(seconds)
            self.world.later(seconds, self.wake)

    def wake(self) -> None:
        """Go on with all that became due while it slept."""
        self.disturb()
        self.loop.wake(self.host)

    def disturb(self) -> None:
        """Note that it may not have done, or noted, all that it was to."""
        self._disturbed = self.loop.time()

    def is_undisturbed_since(self, time: float) -> bool:
        """Whether it must have done, and noted, all that it was to since then."""
        base = self.world.base
        parted = base is not None and (base.lossy or self.host in base.away)
        return self._disturbed < time and not parted and not self.loop.sleeps(self.host)

    def be_cut_off(self, seconds: float) -> None:
        """The database is out of reach for a while."""
        self._soon(partial(self._cut_off, seconds))

    def _cut_off(self, seconds: float) -> None:
        base = self.world.base
        assert base is not None
        self.world.note(self.name, "does not reach the database for", span(seconds))
        base.cut_off(self.host)
        self.world.later(seconds, self._reach_again)

    def _reach_again(self) -> None:
        assert self.world.base is not None
        self.disturb()
        self.world.base.away.discard(self.host)

    def die(self, *, power: bool) -> None:
        """From now on nothing that runs there has an effect; it restarts after a while."""
        if self._life is not None and not self.dead:
            self.disk.fail(power=power)

    def cut_power_soon(self) -> None:
        """The power fails in the middle of the next disk operation."""
        if self._life is not None and not self.dead:
            self.disk.fails_after = self.draw.randrange(OPERATIONS)

    def put_off_power_cut(self) -> None:
        """Let the power not fail in the middle of the next disk operations."""
        if self.disk.fails_after is not None:
            self.disk.fails_after = max(self.disk.fails_after, OPERATIONS)

    def _died(self, power: bool) -> None:
        self.dead = True
        self.wake()
        if self.world.base is not None:
            self.world.base.lose(self.host, power=power)
        self.world.note(*(("the power fails of", self.name) if power else (self.name, "is killed")))
        self.boots += power
        self.world.note_death("power_cuts" if power else "kills")
        self.world.network.unplug(self.host)
        if self._change is not None:
            self._change.cancel()
        self._change = self.world.begin(self._bury())

    async def _bury(self) -> None:
        """Unwind what ran there, and restart."""
        for part in self.world.parts:
            part.die()
        for place in self._places:
            place.die()
        self.loop.forget_calls(self.host)
        while left := self.loop.tasks_at(self.host):
            for task in left:
                task.cancel()
            await asyncio.gather(*left, return_exceptions=True)
        self.disk.restart()
        await asyncio.sleep(max(self.draw.random() * REST, self.down_until - self.loop.time()))
        self._change = None
        self.start()

    def leave(self) -> None:
        """Leave it as it is after a broken week: nothing has an effect while it is unwound."""
        if self._life is None or self.dead:
            return
        self.dead = True
        Disk.fail(self.disk, power=False)
        for place in self._places:
            place.die()

    def end(self, work: Callable[[], None] = lambda: None) -> None:
        """Let the operator stop it, do some work, and start it again."""
        refuses = self.acts and self._life is None and not self.dead and self._change is None
        if refuses or (self.runs and (self.host, signal.SIGTERM) in self.loop.signals):
            self.world.note(self.name, "is stopped")
            self.world.figures.stops += 1
            self._change = self.world.begin(self._begin_anew(work))

    async def _begin_anew(self, work: Callable[[], None]) -> None:
        if self._life is not None:
            await self._stopped()
        work()
        if self.dead:  # the power failed in the middle
            return
        self._change = None
        self.start()

    async def _begin_again(self) -> None:
        """Start again if the last start failed, as a service manager does."""
        await asyncio.sleep(self.draw.random() * REST)
        self._change = None
        self.start()

    def take_keys(self, other: Machine) -> None:
        """Copy the keys of another machine to this one, which has not started yet."""
        shutil.copytree(other.config.keys, self.config.keys)
        for path in (*sorted(self.config.keys.iterdir()), self.config.keys, self.disk.folder):
            self.disk.sync(path)

    async def stop(self) -> None:
        """Stop it for good, once nothing else happens to it."""
        while not self.runs:
            assert self._change is not None
            await self._change
        await self._stopped()

    async def _stopped(self) -> None:
        assert self._life is not None
        self.loop.signals[self.host, signal.SIGTERM]()
        await self._life
        self._life = None


class Place:
    """Where a desk works: stands for the daemon's `OwnProcess`, without a process."""

    def __init__(self, machine: Machine, supplies: Supplies, worked: Callable[[], None]) -> None:
        self.deaths = 0
        self._machine = machine
        self._supplies = supplies
        self._worked = worked
        self._desk: Desk | None = None
        self._stopping = asyncio.Event()

    async def open(self, _lock: Sequence[int]) -> None:
        self._begin()

    def _begin(self) -> Desk:
        self._desk = Desk(self, self._machine, self._supplies)
        return self._desk

    async def work(self) -> None:
        assert self._desk is not None
        while True:
            self._desk.begin()
            await self._desk.ended
            if self._stopping.is_set():
                return
            self.deaths += 1
            self._worked()
            await asyncio.sleep(0.1)
            if self._stopping.is_set():
                return
            self._begin()

    def worked(self) -> None:
        """The desk wrote something."""
        self._machine.loop.call_soon(self._worked)

    def wake(self) -> None:
        if self._desk is not None:
            self._desk.work.wake()

    def ease(self) -> None:
        if self._desk is not None:
            self._desk.work.ease()

    def stop(self) -> None:
        self._stopping.set()
        if self._desk is not None:
            self._desk.work.stop()

    async def close(self) -> None:
        self.die()  # a desk that hangs is ended by the daemon before that ends itself

    def would_be_blamed(self) -> bool:
        """Whether a letter would be set aside for a death now."""
        return self._desk is not None and self._desk.would_be_blamed()

    def die(self) -> None:
        """The machine is no more."""
        if self._desk is not None:
            self._desk.unwind()


class Desk:
    """One desk from its beginning to its end, in a greenlet."""

    def __init__(self, place: Place, machine: Machine, supplies: Supplies) -> None:
        self._place = place
        self._machine = machine
        self._loop = machine.loop
        self.over = False
        self.ended: asyncio.Future[None] = self._loop.create_future()
        """Done when the daemon considers it over."""
        self._stack = ExitStack()
        self._thread = self._loop.greenlet(self._live)
        self._process = machine.disk.process()
        supplies = replace(
            supplies,
            random=machine.octets,
            open_desk=partial(self._open, supplies.open_desk),
            points=self._passed,
            disk=self._process,
            event=partial(Event, self._loop),
            clock=self._loop.time,
        )
        self._database: Database | None = None
        self._finished: set[int] = set()
        """The letters that nobody will work on again."""
        self.work: Work = self._stack.enter_context(opened(supplies, place.worked))

    def _open(self, open_desk: OpenDesk, supplies: Supplies, database: Database, *rest: Any) -> DeskLike:
        self._database = database
        return open_desk(supplies, database, *rest)

    def begin(self) -> None:
        self._loop.call_soon(self._loop.go_on, self._thread)

    def _live(self) -> None:
        try:
            self.work()
        except Killed:
            pass
        finally:
            self.over = True
            self.close()
            self._say_ended()

    def _say_ended(self) -> None:
        if not self.ended.done():
            self.ended.set_result(None)

    def close(self) -> None:
        """Close everything; a dead desk closes nothing itself."""
        self._stack.close()
        self._process.kill()

    def unwind(self) -> None:
        """It was killed: let its frames end."""
        if self._thread and not self._thread.dead:
            self._thread.throw(Killed("the machine"))
        self.close()

    def _passed(self, point: str) -> None:
        """A point is passed: everything may end here, or only this desk, or others run before it goes on."""
        machine, draw = self._machine, self._machine.draw
        if getcurrent() is not self._thread:
            machine.passed(point)  # it is being opened, and the server does not start without it
            return
        if machine.dead:
            raise Killed(point)
        if self.would_be_blamed():
            machine.put_off_power_cut()
        if machine._is_time(point):
            if draw.random() < 0.3:
                machine.world.note_death("desk_deaths")
                machine.world.note("a desk dies at:", point)
                raise Killed(point)
            machine.world.note(machine.name, "comes to its end at:", point)
            machine.die(power=draw.random() < 0.5)
            raise Killed(point)
        if point in BETWEEN:
            self._let_others(point)
        if point in BETWEEN or point == "transaction written":
            self._perhaps_sleep(point)

    def _let_others(self, point: str) -> None:
        """Let others run before this desk goes on; perhaps for so long that the daemon ends it."""
        machine, draw = self._machine, self._machine.draw
        chance = draw.random()
        if chance < LEASED.get(point, STALLS) and machine.deaths > 0 and not self.would_be_blamed():
            self._stall(point)
        elif chance < 0.2:
            self._loop.pause(draw.random() * (20 if chance < 0.03 else 0.2))
            self._look()

    def _perhaps_sleep(self, point: str) -> None:
        """Fall asleep with the machine, perhaps; in the middle of a transaction, until the database undoes it."""
        machine, draw = self._machine, self._machine.draw
        engine = None if self._database is None else self._database.engine
        if isinstance(engine, Remote) and machine.is_sleepy():
            seconds = draw.random() * 2 * LEASE
            if point == "transaction written":
                engine.fall_asleep()
                seconds = IDLE * (1 + draw.random())
            machine.fall_asleep(seconds)
            self._loop.pause(0)
            self._look()

    def would_be_blamed(self) -> bool:
        """Whether its death could be the third during work on one letter alone: that would be the letter's fault."""
        if self._database is None or self.over:
            return False
        query = "SELECT id, state = 'leased' FROM inbox WHERE state <> 'waiting' AND attempts >= ?"
        assert isinstance(self._database.engine, Sqlite)
        found = dict(self._database.engine.connection.execute(query, (ATTEMPTS - 1,)).fetchall())
        if not self._database.in_transaction:  # in one, a letter may be done that is not when that is rolled back
            self._finished |= {letter for letter, leased in found.items() if not leased}
        return not found.keys() <= self._finished

    def _stall(self, point: str) -> None:
        """Hang until the daemon ends this desk, which no longer answers."""
        self._machine.world.note_death("stalls")
        self._machine.world.note("a desk hangs at:", point)
        self._loop.pause(self._machine.draw.random() * 60)
        raise Killed(point)

    def _look(self) -> None:
        if self._machine.dead:
            raise Killed("the machine")
