"""An event loop in virtual time, in which events that could come in any order come in a seeded order.

Time stands still while anything is ready, and then jumps to what is due next. Calls that would go to threads are
greenlets: they run in this thread, and while one waits, others go on. Task steps that are ready at the same time run
in a seeded order; other callbacks keep the order that asyncio promises. What runs on a machine knows its `PLACE`, and
so does all that it starts: a machine may sleep, while others go on. Nothing here knows pbem.
"""

from __future__ import annotations

import asyncio
import threading
from asyncio.base_events import BaseEventLoop
from collections import deque
from contextvars import ContextVar, copy_context
from heapq import heappop, heappush
from typing import TYPE_CHECKING, Any, TypeVar

from greenlet import getcurrent, greenlet

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextvars import Context
    from random import Random

T = TypeVar("T")

ENDLESS = 200_000
"""This many rounds without any time passing are an endless loop."""

PLACE: ContextVar[str] = ContextVar("place", default="")
"""The machine on which something runs; "" for the world around all machines."""

MOMENT = 1e-6
"""What is due within this many seconds is due at the same time."""

TASKS = 64
"""Above this many, tasks that are done are sorted out."""


class Stuck(Exception):
    """Nothing is due any more, or time will never advance."""


class Handle(asyncio.TimerHandle):
    """A callback that is ready, or due at some time, without asyncio's notes for debugging."""

    __slots__ = ()

    def __init__(self, callback: Callable[..., object], args: tuple[Any, ...], context: Context | None) -> None:
        self._callback = callback
        self._args = args
        self._context = copy_context() if context is None else context
        self._cancelled = False

    def cancel(self) -> None:
        self._cancelled = True
        self._callback, self._args = None, ()  # type: ignore[assignment]


class Loop(BaseEventLoop):
    """One thread in virtual time; `network` makes connections (see `simulation.network`).

    The core of asyncio's loop is replaced by a faster one: a week takes tens of thousands of rounds.
    """

    def __init__(self, random: Random) -> None:
        super().__init__()
        self._random = random
        self._now = 0.0
        self._idle = 0
        self.rounds = 0
        """How often something was ready or became due."""
        self.main = getcurrent()
        """The greenlet in which callbacks run."""
        self._ready: deque[Handle] = deque()
        self._due: list[tuple[float, int, Handle]] = []
        """A heap of what is due later; callbacks of the same time run in the order in which they were scheduled."""
        self._number = 0
        self.network: Any = None
        self.signals: dict[tuple[str, int], Callable[[], object]] = {}
        """The handlers of signals, by machine and number."""
        self._calls: dict[tuple[str, int], _Calls] = {}
        """The calls handed to executors, by machine and executor."""
        self._tasks: list[tuple[str, asyncio.Task[Any]]] = []
        """All tasks, each with its machine."""
        self._asleep: dict[str, list[Handle]] = {}
        """The calls that wait until a machine wakes, by machine."""
        self.set_task_factory(self._task)

    # What asyncio asks of a loop of its own.

    def time(self) -> float:
        return self._now

    def call_soon(self, callback: Any, *args: Any, context: Context | None = None) -> Handle:  # type: ignore[override]
        handle = Handle(callback, args, context)
        self._ready.append(handle)
        return handle

    def call_at(self, when: float, callback: Any, *args: Any, context: Context | None = None) -> Handle:  # type: ignore[override]
        handle = Handle(callback, args, context)
        self._number += 1
        heappush(self._due, (when, self._number, handle))
        return handle

    def call_later(self, delay: float, callback: Any, *args: Any, context: Context | None = None) -> Handle:  # type: ignore[override]
        return self.call_at(self._now + delay, callback, *args, context=context)

    def _run_once(self) -> None:
        """Call everything that is ready or due now; if nothing is ready, let time pass."""
        ready, due = self._ready, self._due
        self._idle += 1
        self.rounds += 1
        if not ready and not self._stopping:  # type: ignore[attr-defined]
            self._leap()
        elif self._idle > ENDLESS:
            raise Stuck("time stands still")
        if len(ready) > 1:
            self._mix()
        end = self._now + MOMENT
        while due and due[0][0] < end:
            ready.append(heappop(due)[2])
        for _ in range(len(ready)):
            handle = ready.popleft()
            if handle._cancelled:
                continue
            if self._asleep and (held := self._asleep.get(handle._context.get(PLACE, ""))) is not None:
                held.append(handle)
                continue
            try:
                handle._context.run(handle._callback, *handle._args)
            except (SystemExit, KeyboardInterrupt):
                raise
            except BaseException as error:
                told = {"message": f"in {handle._callback}", "exception": error}
                handle._context.run(self.call_exception_handler, told)

    def _leap(self) -> None:
        """Let time pass until something is due."""
        due = self._due
        while due and due[0][2]._cancelled:
            heappop(due)
        if not due:
            raise Stuck("nothing is due any more")
        if due[0][0] > self._now:
            self._now, self._idle = due[0][0], 0

    def _mix(self) -> None:
        """Put the ready steps of tasks into a seeded order."""
        places = [at for at, handle in enumerate(self._ready) if _of_task(handle)]
        if len(places) > 1:
            handles = [self._ready[at] for at in places]
            self._random.shuffle(handles)
            for at, handle in zip(places, handles, strict=True):
                self._ready[at] = handle

    def _write_to_self(self) -> None:
        pass

    def add_signal_handler(self, sig: int, callback: Callable[..., object], *args: object) -> None:
        self.signals[PLACE.get(), sig] = lambda: callback(*args)

    def remove_signal_handler(self, sig: int) -> bool:
        return self.signals.pop((PLACE.get(), sig), None) is not None

    async def create_server(self, protocol_factory: Any, host: Any = None, port: Any = None, **given: Any) -> Any:
        return self.network.listen(protocol_factory, host, port, **given)

    async def create_connection(self, protocol_factory: Any, host: Any = None, port: Any = None, **given: Any) -> Any:
        return await self.network.connect(protocol_factory, host, port, **given)

    def _task(self, _loop: object, coro: Any, **given: Any) -> asyncio.Task[Any]:
        task: asyncio.Task[Any] = asyncio.Task(coro, loop=self, **given)
        self._tasks.append((given["context"].get(PLACE, "") if "context" in given else PLACE.get(), task))
        if len(self._tasks) > TASKS:
            self._tasks = [(place, task) for place, task in self._tasks if not task.done()]
        return task

    def tasks_at(self, place: str) -> list[asyncio.Task[Any]]:
        """The tasks of a machine that are not done, the oldest first."""
        return [task for where, task in self._tasks if where == place and not task.done()]

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        """Report an exception, unless it is of something that was killed."""
        if isinstance(context.get("exception"), Exception | None):
            super().call_exception_handler(context)

    def end(self) -> None:
        """End everything that is still under way."""
        self.set_exception_handler(lambda *_: None)
        self._idle = 0
        while left := [task for _, task in self._tasks if not task.done()]:
            for task in left:
                task.cancel()
            self.run_until_complete(asyncio.gather(*left, return_exceptions=True))
        self.close()
        self._due.clear()

    # Machines that sleep.

    def sleep(self, place: str) -> None:
        """Let nothing run on a machine until it wakes."""
        self._asleep.setdefault(place, [])

    def wake(self, place: str) -> None:
        """Let a machine go on with all that became due meanwhile."""
        self._ready.extend(self._asleep.pop(place, ()))

    def sleeps(self, place: str) -> bool:
        """True if a machine is asleep."""
        return place in self._asleep

    # Greenlets in place of threads.

    def run_in_executor(self, executor: Any, func: Callable[..., T], *args: Any) -> asyncio.Future[T]:  # type: ignore[override]
        """Run a call soon, in a greenlet; calls to the same executor run one after the other."""
        done: asyncio.Future[T] = self.create_future()
        calls = self._calls.setdefault((PLACE.get(), id(executor)), _Calls(self, self._random))
        calls.add(lambda: func(*args), done)
        return done

    def forget_calls(self, place: str) -> None:
        """Start no more of the calls that a machine handed to executors."""
        for key in [key for key in self._calls if key[0] == place]:
            self._calls.pop(key).over = True

    def pause(self, seconds: float) -> None:
        """Let time pass for the caller, if it runs in a greenlet."""
        current = getcurrent()
        if current is not self.main:
            self.call_later(seconds, self.go_on, current)
            self.main.switch()

    def go_on(self, who: greenlet) -> None:
        """Let a waiting greenlet go on."""
        if not who.dead:
            who.switch()

    def spawn(self, call: Callable[[], object]) -> greenlet:
        """Start a call soon, in a greenlet of its own."""
        made = self.greenlet(call)
        self.call_later(self._random.random() * 1e-3, self.go_on, made)
        return made

    def greenlet(self, call: Callable[[], object]) -> greenlet:
        """A greenlet on the machine of the caller, which has not begun."""
        made = greenlet(call, self.main)
        made.gr_context = copy_context()
        return made


class Event(threading.Event):
    """One for greenlets."""

    def __init__(self, loop: Loop) -> None:
        super().__init__()
        self._loop = loop
        self._set = False
        self._waiting: greenlet | None = None
        self._timer: asyncio.TimerHandle | None = None

    def is_set(self) -> bool:
        return self._set

    def set(self) -> None:
        self._set = True
        if self._waiting is not None:
            self._wake_soon()

    def clear(self) -> None:
        self._set = False

    def wait(self, timeout: float | None = None) -> bool:
        current = getcurrent()
        if self._set or current is self._loop.main:
            return self._set
        self._waiting = current
        if timeout is not None:
            self._timer = self._loop.call_later(timeout, self._wake)
        self._loop.main.switch()
        return self._set

    def _wake_soon(self) -> None:
        self._loop.call_soon(self._wake)

    def _wake(self) -> None:
        waiting, self._waiting = self._waiting, None
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if waiting is not None and not waiting.dead:
            waiting.switch()


class _Calls:
    """The calls of an executor with one thread: each waits for the previous one, and for its own delay."""

    def __init__(self, loop: Loop, random: Random) -> None:
        self._loop = loop
        self._random = random
        self._waiting: deque[tuple[Callable[[], Any], asyncio.Future[Any]]] = deque()
        self._busy = False
        self.over = False

    def add(self, call: Callable[[], Any], done: asyncio.Future[Any]) -> None:
        self._waiting.append((call, done))
        if not self._busy:
            self._next()

    def _next(self) -> None:
        self._busy = bool(self._waiting)
        if self._busy:
            call, done = self._waiting.popleft()
            # A quick disk mostly, and a slow one now and then.
            slow = 0.5 if self._random.random() < 0.02 else 0.002
            self._loop.call_later(self._random.random() * slow, self._begin, call, done)

    def _begin(self, call: Callable[[], Any], done: asyncio.Future[Any]) -> None:
        def run() -> None:
            try:
                if self.over or done.cancelled():
                    done.cancel()
                    return
                result = call()
            except BaseException as error:
                if not done.cancelled():
                    done.set_exception(error)
            else:
                if not done.cancelled():
                    done.set_result(result)
            finally:
                self._next()

        self._loop.greenlet(run).switch()


def _of_task(handle: asyncio.Handle) -> bool:
    callback = handle._callback  # type: ignore[attr-defined]
    return isinstance(getattr(callback, "__self__", None), asyncio.Task)


__all__ = ["PLACE", "Event", "Loop", "Stuck"]
