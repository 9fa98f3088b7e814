"""Where the desk works: in a separate process beside the daemon, or in a thread, if a test wants no other process.

Here live what a desk is opened with, its work (letter after letter, and the clock between them), how its process is
started, watched and ended, and the messages between daemon and desk: letters came in, there is something to send,
work is over. A desk whose daemon is gone ends at once. A desk that dies is replaced, and one that no longer
answers is ended. Both hold the store's lock, so that no second daemon starts while either lives. No logic:
the desk decides what becomes of a letter.
The messages are single octets, so that asyncio can read them; only the first hand-over is longer.
Implements design.md, "The way of a letter", and reliability.md, cases 9 and 32.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from multiprocessing.connection import Connection
from typing import TYPE_CHECKING, Protocol

import structlog

from pbem.desk.reading import ReaderError
from pbem.failpoints import passing
from pbem.letters.render import Templates
from pbem.mail.compose import Composer
from pbem.mail.signing import BadDkimKey, DkimSigner
from pbem.server.logs import configure_logs
from pbem.server.roles import ALL, Role
from pbem.server.sandbox import Worker
from pbem.store import own_keys
from pbem.store.database import Database
from pbem.store.disk import THIS_DISK
from pbem.store.errors import StoreError
from pbem.store.operator import Generation
from pbem.store.vault import KeyFileError
from pbem.store.write_turn import WriteTurn

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator, Sequence

    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    from pbem.config import Config, Limits
    from pbem.desk.reading import Reader
    from pbem.failpoints import Failpoints
    from pbem.store.disk import Disk
    from pbem.store.vault import Vault

__all__ = [
    "DeskError",
    "DeskLike",
    "DeskPlace",
    "Event",
    "OpenDesk",
    "OwnProcess",
    "OwnThread",
    "Process",
    "Supplies",
    "Told",
    "Work",
    "main",
    "now",
    "open_composer",
    "open_desk",
    "opened",
    "received",
    "serve",
    "started",
]

LONGEST_WAIT = 60.0  # seconds; how long a step of the system clock can go unnoticed
TROUBLE_WAIT = 5.0  # seconds before the desk tries again after the store had trouble
LETTERS_PER_TICK = 16  # so that a full inbox stops neither the clock nor the answers
NICE = 10  # who brings letters waits for the intake, and nobody for the desk
PATIENCE = 20.0  # seconds for a desk to finish what it has in hand when the server stops
FIRST_PAUSE, LONGEST_PAUSE = 0.1, 60.0  # seconds between the death of a desk and the next one
HELD_UP = 0.05  # seconds before a desk looks again for letters that wait behind one in hand at another
EASED = 0.12  # seconds for which a desk leaves the machine to letters that pour in; it hears again if they go on
RESTED = 9  # times as long as it worked a desk rests meanwhile, so that it takes a tenth of a processor
LONGEST_REST = 1.0  # seconds; heavy letters in a flood delay nobody's answer by more than their own work and this
ASKED_AGAIN, TIMES = 2.0, 4  # seconds, and how often a desk does not say that it is there before it is ended
READY, WORKED, RESTS, FAILED, HERE = b"!", b".", b"z", b"?", b"h"
FILES, WAKE, EASE, STOP, ASKED = b"f", b"w", b"e", b"s", b"a"

log = structlog.get_logger()


class DeskError(Exception):
    """The desk's process could not start; the message says why, for the operator."""


class DeskLike(Protocol):
    """The desk as its place sees it; called from one thread, one call at a time."""

    def handle_next(self, now: datetime) -> int:
        """Handle the next letters of the inbox; returns how many there were."""

    def held_up(self) -> bool:
        """Whether letters wait only because another desk has one of their sender, or for their match, in hand."""

    def tick(self, now: datetime) -> datetime | None:
        """Do what the clock demands; returns when to be called again, None if nothing is timed."""


class Event(Protocol):
    """What somebody waits for, as `threading.Event` has it."""

    def is_set(self) -> bool:
        """Whether it happened."""

    def set(self) -> None:
        """It happens; whoever waits goes on."""

    def clear(self) -> None:
        """From now on it has not happened."""

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until it happens, for so many seconds at the most; whether it did."""


class OpenDesk(Protocol):
    """Makes the desk."""

    def __call__(  # noqa: PLR0913, PLR0917 - all that a desk is handed
        self,
        config: Config,
        database: Database,
        vault: Vault,
        signing_key: Ed25519PrivateKey,
        composer: Composer,
        random: Callable[[int], bytes],
        reader: Reader,
        points: Failpoints,
    ) -> DeskLike:
        """The desk of a server, on its own connection to the store."""


def open_desk(  # noqa: PLR0913, PLR0917 - all that a desk is handed
    config: Config,
    database: Database,
    vault: Vault,
    signing_key: Ed25519PrivateKey,
    composer: Composer,
    random: Callable[[int], bytes],
    reader: Reader,
    points: Failpoints,
) -> DeskLike:
    """The real desk."""
    from pbem.desk.wiring import Desk

    return Desk(config, database, vault, signing_key, composer, random, reader, points)


def open_composer(config: Config, generation: int) -> Composer:
    """The composer of a server whose store is of this generation; raises `BadDkimKey`."""
    dkim = config.dkim
    return Composer(
        config.server,
        config.mail_address.partition("@")[0],
        Templates(),
        address=config.mail_address,
        delimiter=config.delimiter,
        generation=generation,
        sign=DkimSigner(dkim.selector, config.dkim_domain, dkim.key_file) if dkim.selector else None,
    )


def now() -> datetime:
    """The time of this machine."""
    return datetime.now(UTC)


@dataclass(frozen=True)
class Supplies:
    """What a desk needs to be opened, anywhere. Keys are read there from their files, and are never passed on."""

    config: Config
    now: Callable[[], datetime] = now
    random: Callable[[int], bytes] = os.urandom
    open_desk: OpenDesk = open_desk
    reader: Callable[[Limits], Reader] = Worker
    points: Failpoints = passing
    server: str = ""
    """The name of this server among those that share a store; "" where it has one of its own."""
    roles: frozenset[Role] = ALL
    disk: Disk = THIS_DISK
    longest_wait: float = LONGEST_WAIT
    process: Callable[[], int] = os.getpid
    """The number of the process in which the desk is."""
    event: Callable[[], Event] = threading.Event
    """Makes what a desk waits for that has nothing to do."""
    clock: Callable[[], float] = time.monotonic
    """Seconds that go by, whatever the time is said to be."""
    share: tuple[int, int] = (0, 1)
    """Which of how many desks of its server it is."""

    def owner(self, process: int) -> str:
        """The mark of what a desk in a process has in hand."""
        return f"{self.server}{process}"


class DeskPlace(Protocol):
    """Where a desk works, as the daemon sees it."""

    deaths: int
    """How many of its processes ended that were not asked to."""

    resting: bool
    """Whether it found nothing to do when it last looked, and was not woken since."""

    async def open(self, turn: WriteTurn, lock: Sequence[int]) -> None:
        """Open the desk over an existing store, with the files that hold the store's lock.

        Raises `DeskError`, `StoreError`, `KeyFileError`, `BadDkimKey` and `ReaderError`.
        """

    async def work(self) -> None:
        """Handle letters until `stop`, and return when those in hand are done."""

    def wake(self) -> None:
        """Let the desk look at its inbox and its clock now."""

    def ease(self) -> None:
        """Let the desk use little of the processor for a moment, because letters pour in."""

    def stop(self) -> None:
        """Begin no further letter."""

    async def close(self) -> None:
        """Leave nothing running."""


@dataclass(frozen=True)
class Told:
    """The listeners to which the place of a desk reports."""

    worked: Callable[[], None]
    """It wrote something: there may be letters to send."""
    rests: Callable[[], None]
    """It found nothing more to do."""
    died: Callable[[str], Awaitable[object]]
    """The owner of what it had in hand is no more; another begins after this."""


class OpenPlace(Protocol):
    """Makes the place of a desk."""

    def __call__(self, supplies: Supplies, told: Told) -> DeskPlace:
        """A place in which the desk is not open yet."""


class Work:
    """Letter after letter, and the clock between them; other threads may call it."""

    def __init__(  # noqa: PLR0913 - the outside world, handed in piece by piece
        self,
        desk: DeskLike,
        database: Database,
        now: Callable[[], datetime],
        worked: Callable[[], None],
        rests: Callable[[], None],
        *,
        roles: frozenset[Role] = ALL,
        event: Callable[[], Event] = threading.Event,
        clock: Callable[[], float] = time.monotonic,
        longest_wait: float = LONGEST_WAIT,
    ) -> None:
        self._desk = desk
        self._roles = roles
        self._clock = clock
        self._longest_wait = longest_wait
        self._database = database
        self._now = now
        self._worked = worked
        self._rests = rests
        self._told = database.changes
        self._woken = event()
        self._stopping = event()
        self._eased = 0.0

    def wake(self) -> None:
        """Look at the inbox and the clock now."""
        self._woken.set()

    def ease(self) -> None:
        """Rest more than work, for a moment: letters pour in."""
        self._eased = self._clock() + EASED

    def stop(self) -> None:
        """Begin no further letter."""
        self._stopping.set()
        self._woken.set()

    def __call__(self) -> None:
        """Work until `stop`."""
        while not self._stopping.is_set():
            self._woken.clear()
            wait = 0.0
            try:
                wait = self._some()
            except StoreError as error:
                log.error("store out of reach", trouble=type(error).__name__)
                wait = TROUBLE_WAIT
            except Exception:
                log.exception("desk trouble")
                wait = TROUBLE_WAIT
            self._tell()
            if wait and not self._stopping.is_set():
                self._rests()
                self._woken.wait(wait)

    def _some(self) -> float:
        """Handle some letters, and look at the clock after the last; returns the seconds until there is more work."""
        since_tick = handled = 0
        while Role.DESK in self._roles and since_tick < LETTERS_PER_TICK:
            began = self._clock()
            if not (handled := self._desk.handle_next(self._now())):
                break
            self._tell()
            since_tick += handled
            self._rest(self._clock() - began)
            if self._stopping.is_set():
                return 0.0
        following = self._desk.tick(self._now()) if Role.CLOCK in self._roles else None
        if handled:
            return 0.0
        held_up = Role.DESK in self._roles and self._desk.held_up()
        return min(self._until(following), HELD_UP) if held_up else self._until(following)

    def _rest(self, worked: float) -> None:
        """Leave the processor to others after this many seconds of work, while letters pour in."""
        rested = self._clock() + min(worked * RESTED, LONGEST_REST)
        while (rest := min(rested, self._eased) - self._clock()) > 0:  # more of them came meanwhile
            if self._stopping.wait(rest):
                return

    def _tell(self) -> None:
        """Report that there may be something to send."""
        if self._told != (changes := self._database.changes):
            self._told = changes
            self._worked()

    def _until(self, time: datetime | None) -> float:
        """Seconds to wait for a time, never so few that a late desk keeps the processor busy."""
        if time is None:
            return self._longest_wait
        return min(max((time - self._now()).total_seconds(), 0.05), self._longest_wait)


@contextmanager
def opened(
    supplies: Supplies, turn: WriteTurn, worked: Callable[[], None], rests: Callable[[], None]
) -> Iterator[Work]:
    """A desk over a store that is there, ready for its work; raises what `DeskPlace.open` raises but `DeskError`."""
    config = supplies.config
    keys = own_keys.load(config.store_key, config.signing_key, supplies.random)
    with (
        Database(
            config.store,
            migrate=False,
            points=supplies.points,
            turn=turn,
            disk=supplies.disk,
            owner=supplies.owner(supplies.process()),
            share=supplies.share,
        ) as database,
        closing(supplies.reader(config.limits)) as reader,
    ):
        composer = open_composer(config, Generation(database).number)
        desk = supplies.open_desk(
            config, database, keys.vault, keys.signing, composer, supplies.random, reader, supplies.points
        )
        yield Work(
            desk,
            database,
            supplies.now,
            worked,
            rests,
            roles=supplies.roles,
            event=supplies.event,
            clock=supplies.clock,
            longest_wait=supplies.longest_wait,
        )


class OwnThread:
    """A desk in this process."""

    deaths = 0

    def __init__(self, supplies: Supplies, told: Told) -> None:
        self.resting = False
        self._supplies = supplies
        self._told = told
        self._thread = ThreadPoolExecutor(1, "desk")
        self._stack = ExitStack()
        self._work: Work | None = None

    async def open(self, turn: WriteTurn, _lock: Sequence[int]) -> None:
        """Open the desk in its thread."""
        loop = asyncio.get_running_loop()

        def worked() -> None:
            loop.call_soon_threadsafe(self._told.worked)

        def rests() -> None:
            loop.call_soon_threadsafe(self._rests)

        made = opened(self._supplies, turn, worked, rests)
        self._work = await loop.run_in_executor(self._thread, self._stack.enter_context, made)

    async def work(self) -> None:
        """Handle letters until `stop`."""
        assert self._work is not None
        await asyncio.get_running_loop().run_in_executor(self._thread, self._work)

    def wake(self) -> None:
        """Let the desk look at its inbox and its clock now."""
        self.resting = False
        if self._work is not None:
            self._work.wake()

    def ease(self) -> None:
        """Let the desk take little of the processor for a moment."""
        if self._work is not None:
            self._work.ease()

    def _rests(self) -> None:
        self.resting = True
        self._told.rests()

    def stop(self) -> None:
        """Begin no further letter."""
        if self._work is not None:
            self._work.stop()

    async def close(self) -> None:
        """End the thread."""
        self._thread.shutdown()
        self._stack.close()


class Process(Protocol):
    """A process that was started, as `subprocess.Popen` has it."""

    @property
    def pid(self) -> int:
        """Its number."""

    def kill(self) -> None:
        """End it at once."""

    def wait(self, timeout: float | None = None) -> int:
        """Wait for its end; returns its status. Raises `subprocess.TimeoutExpired`."""


def started(line: socket.socket) -> Process:
    """A process of the same code with its own interpreter; it gets its work over this line."""
    return subprocess.Popen(
        [sys.executable, "-P", "-c", "from pbem.server.desk_process import main; main()"],
        stdin=line.fileno(),
        stdout=subprocess.DEVNULL,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )


class OwnProcess:
    """A desk in a separate process, which is started when this is made, and replaced if it dies."""

    def __init__(
        self,
        supplies: Supplies,
        told: Told,
        start: Callable[[socket.socket], Process] = started,
    ) -> None:
        self.deaths = 0
        self.resting = False
        self._supplies = supplies
        self._told = told
        self._start = start
        self._silent = 0
        """How often it was asked whether it is there since it last said anything."""
        self._stopping = asyncio.Event()
        self._said: asyncio.StreamReader | None = None
        self._to_say: asyncio.StreamWriter | None = None
        self._turn: WriteTurn | None = None
        self._lock: Sequence[int] = ()
        self._begin()

    def _begin(self) -> None:
        self._line, theirs = socket.socketpair()
        with theirs:
            try:
                self._process: Process | None = self._start(theirs)
            except OSError as error:
                self._line.close()
                raise DeskError(f"the desk's process cannot be started: {error.strerror}") from error

    async def open(self, turn: WriteTurn, lock: Sequence[int]) -> None:
        """Tell the process what to work on, and wait until it is ready."""
        self._turn, self._lock = turn, lock
        with contextlib.suppress(ConnectionError):  # what it said before it ended is read below
            socket.send_fds(self._line, [FILES], [*turn.ends, *lock])
            with Connection(os.dup(self._line.fileno())) as supplies:
                supplies.send(self._supplies)
        self._said, self._to_say = await asyncio.open_unix_connection(sock=self._line)
        if (said := await self._read(1)) != READY:
            message = (await self._read(-1)).decode() if said else ""
            status = await self._bury()
            raise DeskError(message or f"the desk's process ended as soon as it began, with status {status}")

    async def work(self) -> None:
        """Let the process work, and start another one whenever it dies, until `stop`."""
        pause = FIRST_PAUSE
        while True:
            if self._process is not None:
                began = asyncio.get_running_loop().time()
                watch = asyncio.create_task(self._watch())
                while said := await self._read(4096):
                    self._hear(said)
                watch.cancel()
                status = await self._bury()
                if self._stopping.is_set():
                    return
                self.deaths += 1
                log.error("desk ended", status=status)
                if asyncio.get_running_loop().time() - began > LONGEST_PAUSE:
                    pause = FIRST_PAUSE
            given_back = await self._give_back()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._stopping.wait(), pause)
                return
            pause = min(pause * 2, LONGEST_PAUSE)
            if not given_back:
                continue
            try:
                self._begin()
                assert self._turn is not None
                await self.open(self._turn, self._lock)
            except (StoreError, DeskError) as error:
                log.error("desk cannot begin", trouble=str(error))

    async def _give_back(self) -> bool:
        """Give others what the process had in hand; returns whether that could be written."""
        try:
            await self._told.died(self._owner)
        except StoreError as error:
            log.error("letters cannot be given back", trouble=str(error))
            return False
        self._told.worked()  # it may have died before it said so
        return True

    def wake(self) -> None:
        """Let the desk look at its inbox and its clock now; one that has not reacted yet need not be told twice."""
        self.resting = False
        self._say(WAKE)

    def ease(self) -> None:
        """Let the desk take little of the processor for a moment."""
        self._say(EASE)

    def _say(self, word: bytes) -> None:
        if self._to_say is not None and not self._to_say.transport.get_write_buffer_size():
            self._to_say.write(word)

    async def _watch(self) -> None:
        """Keep checking that the process answers, and end it if it does not.

        The checks are counted, not the time: a machine that slept accuses nobody.
        """
        self._silent = 0
        while self._silent < TIMES:
            assert self._to_say is not None
            self._to_say.write(ASKED)
            self._silent += 1
            await asyncio.sleep(ASKED_AGAIN)
        log.error("desk does not answer")
        self._kill()

    def _hear(self, said: bytes) -> None:
        self._silent = 0
        if WORKED in said:
            self._told.worked()
        if RESTS in said:
            self.resting = True
            self._told.rests()

    def stop(self) -> None:
        """Let the process finish what it has in hand, within a limit of time."""
        if not self._stopping.is_set():
            self._stopping.set()
            if self._to_say is not None:
                self._to_say.write(STOP)
            asyncio.get_running_loop().call_later(PATIENCE, self._kill)

    async def close(self) -> None:
        """Leave nothing running."""
        self._kill()
        if self._process is not None:
            await self._bury()

    async def _read(self, count: int) -> bytes:
        assert self._said is not None
        with contextlib.suppress(ConnectionError):
            return await self._said.read(count)
        return b""

    def _kill(self) -> None:
        if self._process is not None:
            self._process.kill()

    async def _bury(self) -> int:
        """Wait for the end of a process that is done, and clean up; returns its status."""
        process, self._process = self._process, None
        assert process is not None
        self.resting = False
        self._owner = self._supplies.owner(process.pid)
        status = await asyncio.to_thread(_ended, process)
        if self._to_say is not None:
            self._to_say.close()
        self._line.close()
        self._to_say = None
        if self._turn is not None:
            self._turn.mend()
        return status


def _ended(process: Process) -> int:
    try:
        return process.wait(PATIENCE)
    except subprocess.TimeoutExpired:
        process.kill()
        return process.wait()


def main() -> None:
    """The whole life of a desk's process whose line to the daemon is its standard input."""
    with socket.socket(fileno=os.dup(0)) as line:
        import pbem.desk.wiring  # noqa: F401 - it takes a while, in which the daemon opens the store

        supplies, turn = received(line)
        configure_logs(supplies.config.log)
        gc.freeze()  # what was loaded stays: for the collector to look at all of it takes as long as ten letters
        sys.exit(serve(line, supplies, turn))


def received(line: socket.socket) -> tuple[Supplies, WriteTurn]:
    """Receive what the daemon hands over. The files that hold the store's lock are ours until this process ends."""
    _, files, _, _ = socket.recv_fds(line, len(FILES), 8)
    try:
        with Connection(os.dup(line.fileno())) as daemon:
            supplies: Supplies = daemon.recv()  # pickled by who started us
    except (EOFError, OSError):  # it is gone
        sys.exit(1)
    return supplies, WriteTurn((files[0], files[1]))


def serve(line: socket.socket, supplies: Supplies, turn: WriteTurn) -> int:
    """Work until the daemon says stop; returns the process's status."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)  # meant for the daemon, which tells us
    with contextlib.suppress(OSError):
        os.nice(NICE)

    def worked() -> None:
        with contextlib.suppress(OSError):  # it has not read yet that there is something to send, or is gone
            line.send(WORKED, socket.MSG_DONTWAIT)

    def here() -> None:
        with contextlib.suppress(OSError):  # as above
            line.send(HERE, socket.MSG_DONTWAIT)

    def tell(word: bytes) -> None:
        with contextlib.suppress(OSError):  # the daemon is gone, and so are we in a moment
            line.sendall(word)

    try:
        with opened(supplies, turn, worked, partial(tell, RESTS)) as work:
            threading.Thread(target=_listen, args=(line, work, here), daemon=True).start()
            tell(READY)
            work()
    except (StoreError, KeyFileError, BadDkimKey, ReaderError) as error:
        tell(FAILED + str(error).encode())
        return 1
    return 0


def _listen(line: socket.socket, work: Work, here: Callable[[], None]) -> None:
    """Listen to the daemon; without one, what is in hand is no longer ours."""
    while said := _heard(line):
        if EASE in said:
            work.ease()
        if ASKED in said:
            here()
        if WAKE in said:
            work.wake()
        if STOP in said:
            work.stop()
    os._exit(1)


def _heard(line: socket.socket) -> bytes:
    with contextlib.suppress(OSError):
        return line.recv(4096)
    return b""
