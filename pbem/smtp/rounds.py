"""Tasks that run in rounds beside the event loop's work: what they are given, how they wait, and the base of askers.

Askers (of the DNS, witnesses and topics) share the questions under way, when they ask again, what wakes them, and how
they stop; each decides what to ask, and what an answer means. Calls to the store go through `run`, because they may
wait for the disk; time is handed in.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from abc import ABC, abstractmethod
from concurrent.futures import Future
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar, TypeVarTuple

import msgspec
import structlog

from pbem.store.errors import StoreError

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

LONGEST_WAIT = 60.0  # seconds, after which a step of the system clock is noticed
TROUBLE_WAIT = 5.0  # seconds until the next call to a store that had trouble

log = structlog.get_logger()
T = TypeVar("T")
Arguments = TypeVarTuple("Arguments")
Question = TypeVar("Question")


async def is_set_within(event: asyncio.Event, seconds: float) -> bool:
    """Wait for an event, no longer than this; return whether it is set."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await event.wait()
    return event.is_set()


def in_thread(name: str, call: Callable[[], T]) -> asyncio.Future[T]:
    """Begin a call in a thread of its own, which may hang: nobody waits for its end, and to cancel it lets it run on.

    `asyncio.to_thread` is for what ends soon: its threads are joined when the process ends.
    """
    outcome: Future[T] = Future()
    outcome.set_running_or_notify_cancel()

    def run() -> None:
        try:
            outcome.set_result(call())
        except BaseException as error:
            outcome.set_exception(error)

    threading.Thread(target=run, name=name, daemon=True).start()
    return asyncio.wrap_future(outcome)


class Run(Protocol):
    """Runs a call to the store in a place where it may wait."""

    async def __call__(self, call: Callable[[*Arguments], T], /, *arguments: *Arguments) -> T:
        """Call it with these arguments and return its result."""


class TaskServices(msgspec.Struct, frozen=True):
    """The services for a task that asks or sends: the time, calls to the store, and a callback on outcomes."""

    now: Callable[[], datetime]
    run: Run
    settled: Callable[[], None] = lambda: None
    longest_wait: float = LONGEST_WAIT
    stops: Callable[[], bool] = lambda: False
    """True while the clock leapt, and nobody vouches for it: nothing is given up then."""


class Asker(ABC, Generic[Question]):
    """Asks whatever is due until it is stopped; `wake` is set when there is more.

    A question that nobody answers keeps no other waiting: the end of each wakes us, and makes room for another.
    """

    def __init__(self, services: TaskServices) -> None:
        self._services = services
        self._stopping = False
        self._under_way: dict[asyncio.Task[None], Question] = {}
        self.wake = asyncio.Event()

    def stop(self) -> None:
        """Begin to stop; questions under way are asked again after the next start."""
        self._stopping = True
        self.wake.set()

    async def work(self) -> None:
        """Ask until stopped."""
        while not self._stopping:
            self.wake.clear()
            wait = TROUBLE_WAIT
            try:
                wait = await self._round()
            except StoreError as error:
                log.error("store out of reach", trouble=type(error).__name__)
            await is_set_within(self.wake, wait)
        for task in self._under_way:
            task.cancel()
        await asyncio.gather(*self._under_way, return_exceptions=True)

    @abstractmethod
    async def _round(self) -> float:
        """Begin the questions that are due; returns the seconds until there may be more."""

    @abstractmethod
    async def _ask(self, question: Question) -> None:
        """Ask a question, and keep the answer."""

    def _begin(self, question: Question) -> None:
        task = asyncio.create_task(self._settle(question))
        self._under_way[task] = question
        task.add_done_callback(self._ended)

    async def _settle(self, question: Question) -> None:
        try:
            await self._ask(question)
        except StoreError as error:
            log.error("store out of reach", trouble=type(error).__name__)
            await asyncio.sleep(TROUBLE_WAIT)

    def _ended(self, task: asyncio.Task[None]) -> None:
        del self._under_way[task]
        self.wake.set()

    def _until(self, following: datetime | None) -> float:
        """Seconds until the next question is due, if there is one."""
        if following is None:
            return self._services.longest_wait
        return min(max((following - self._services.now()).total_seconds(), 0.05), self._services.longest_wait)
