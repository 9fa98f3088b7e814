"""The desk's process, as the daemon has it: how it is started, told, watched, ended and replaced; and its floods.

A desk that dies is replaced, and one that no longer answers is ended. Both the daemon and the desk hold the store's
lock, so that no second daemon starts while either lives. Their messages are single octets, so that asyncio can read
them. Implements reliability.md, cases 9 and 32.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import subprocess
import sys
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import TYPE_CHECKING, Protocol

import structlog

from pbem.server.desk_work import ASKED, EASE, FILES, READY, STOP, WAKE, WORKED
from pbem.smtp.rounds import is_set_within
from pbem.store.errors import StoreError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from pbem.server.desk_work import Supplies

    OpenPlace = Callable[[Supplies, Callable[[], None]], "DeskPlace"]
    """Makes a place in which the desk is not open yet; the second is called after the desk wrote something."""

PATIENCE = 20.0  # seconds for a desk to finish its leased letters when the server stops
FIRST_PAUSE, LONGEST_PAUSE = 0.1, 60.0  # seconds between the death of a desk and the next one
SHORT = 1.0  # seconds at the most until then where there was no descriptor for it: as long as asyncio accepts nobody
ASKED_AGAIN, TIMES = 2.0, 4  # seconds, and how often a desk does not say that it is there before it is ended

STRETCH, MANY = 0.1, 25
"""The number of letters in this many seconds that are a flood."""

log = structlog.get_logger()


class DeskError(Exception):
    """The desk's process could not start; the message says why, for the operator."""


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
        [sys.executable, "-P", "-c", "from pbem.server.desk_work import main; main()"],
        stdin=line.fileno(),
        stdout=subprocess.DEVNULL,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )


class DeskPlace(Protocol):
    """The place of the desk, as the daemon sees it."""

    async def open(self, lock: Sequence[int]) -> None:
        """Open the desk over an existing store, with the files that hold the store's lock.

        Raises `DeskError`, `StoreError`, `KeyFileError`, `BadDkimKey` and `ReaderError`.
        """

    async def work(self) -> None:
        """Handle letters until `stop`, and return when the leased ones are done."""

    def wake(self) -> None:
        """Let the desk look at its inbox and its clock now."""

    def ease(self) -> None:
        """Let the desk use little of the processor for a moment, because letters pour in."""

    def stop(self) -> None:
        """Begin no further letter."""

    async def close(self) -> None:
        """Leave nothing running."""


class Flood:
    """The letters that came lately."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._since = 0.0
        self._came = 0
        """The number of letters since then."""

    def is_on(self, letters: int) -> bool:
        """Return whether letters pour in, now that these came."""
        now = self._clock()
        if now - self._since > STRETCH or self._came >= MANY:
            self._since, self._came = now, 0
        self._came += letters
        return self._came >= MANY


@dataclass(eq=False)
class OwnProcess:
    """A desk in a separate process, which is started when this is made, and replaced if it dies."""

    supplies: Supplies
    worked: Callable[[], None]
    start: Callable[[socket.socket], Process] = started

    def __post_init__(self) -> None:
        self._silent = 0
        """The number of checks since it last said anything."""
        self._stopping = asyncio.Event()
        self._said: asyncio.StreamReader | None = None
        self._to_say: asyncio.StreamWriter | None = None
        self._lock: Sequence[int] = ()
        self._begin()

    def _begin(self) -> None:
        with _starting(), contextlib.ExitStack() as unless_started:
            self._line, theirs = socket.socketpair()
            unless_started.callback(self._line.close)
            with theirs:
                self._process: Process | None = self.start(theirs)
            unless_started.pop_all()

    async def open(self, lock: Sequence[int]) -> None:
        """Tell the process what to work on, and wait until it is ready."""
        self._lock = lock
        with _starting(), contextlib.suppress(ConnectionError):  # what it said before it ended is read below
            socket.send_fds(self._line, [FILES], lock)
            with Connection(os.dup(self._line.fileno())) as supplies:
                supplies.send(self.supplies)
        self._said, self._to_say = await asyncio.open_unix_connection(sock=self._line)
        if self._stopping.is_set():  # since it was begun, when there was no way to say so
            self._to_say.write(STOP)
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
                # It lives as long as its pipe is open.
                while said := await self._read(4096):
                    self._silent = 0
                    if WORKED in said:
                        self.worked()
                watch.cancel()
                status = await self._bury()
                if self._stopping.is_set():
                    return
                log.error("desk ended", status=status)
                # It worked for a while: this death is no part of a series.
                if asyncio.get_running_loop().time() - began > LONGEST_PAUSE:
                    pause = FIRST_PAUSE
                self.worked()  # it may have died before it said so
            if await is_set_within(self._stopping, pause):
                return
            # The pause doubles, so that a desk that dies at once does not take the processor.
            pause = min(pause * 2, LONGEST_PAUSE)
            try:
                self._begin()
                await self.open(self._lock)
            except (StoreError, DeskError) as error:
                await self.close()
                # No process or descriptor is free: that passes, and is no fault of the desk. The event loop tells of
                # it, as of its own want of descriptors: once a minute, however often it is tried.
                if isinstance(error.__cause__, OSError):
                    context = {"message": "desk cannot begin", "exception": error.__cause__}
                    asyncio.get_running_loop().call_exception_handler(context)
                    pause = min(pause, SHORT)
                else:
                    log.error("desk cannot begin", trouble=str(error))

    def wake(self) -> None:
        """Let the desk look at its inbox and its clock now; one that has not reacted yet is not told twice."""
        self._tell(WAKE)

    def ease(self) -> None:
        """Let the desk take little of the processor for a moment."""
        self._tell(EASE)

    def _tell(self, word: bytes) -> None:
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
        status = await asyncio.to_thread(_ended, process)
        if self._to_say is not None:
            self._to_say.close()
        self._line.close()
        self._to_say = None
        return status


@contextlib.contextmanager
def _starting() -> Iterator[None]:
    """Raise `DeskError` where this machine has no descriptor, process or memory to start one."""
    try:
        yield
    except OSError as error:
        raise DeskError(f"the desk's process cannot be started: {error.strerror}") from error


def _ended(process: Process) -> int:
    try:
        return process.wait(PATIENCE)
    except subprocess.TimeoutExpired:
        process.kill()
        return process.wait()
