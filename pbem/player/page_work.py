"""Work that the threads of the page hand in, and one thread does; and what it has to tell, for those who wait for it.

A mailbox and a memory are used by one thread, which also looks for letters while nobody wants anything.
"""

from __future__ import annotations

import queue
import threading
from concurrent.futures import CancelledError, Future
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


class WorkQueue:
    """Work for one thread, in its order."""

    def __init__(self) -> None:
        self._work: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()

    def ask(self, work: Callable[[], object], seconds: float) -> object:
        """Have work done, and return its result; raises what it raises, and `TimeoutError` if it takes longer.

        Work that has begun goes on all the same.
        """
        done: Future[object] = Future()

        def do() -> None:
            if done.set_running_or_notify_cancel():
                try:
                    done.set_result(work())
                except Exception as error:  # raised where it was asked for
                    done.set_exception(error)

        self._work.put(do)
        try:
            return done.result(seconds)
        except CancelledError as error:
            raise TimeoutError from error

    def stop(self) -> None:
        """Let the thread end."""
        self._work.put(None)

    def run(self, look: Callable[[], float]) -> None:
        """Do the work until `stop`; `look` is called in between, and says how long to rest before it is again."""
        rest = 0.0
        while True:
            try:
                do = self._work.get(timeout=rest)
            except queue.Empty:
                pass
            else:
                if do is None:
                    return
                do()
            rest = look()


class LatestNews:
    """The latest of what is told, for those who know an earlier state of it."""

    def __init__(self, first: object) -> None:
        self._changed = threading.Condition()
        self._number, self._latest = 1, first

    def tell(self, latest: object) -> None:
        """Note how things are now, and wake those who wait for it."""
        with self._changed:
            if latest != self._latest:
                self._number, self._latest = self._number + 1, latest
                self._changed.notify_all()

    def after(self, number: int, seconds: float) -> tuple[int, object]:
        """The latest with its number: at once if the number differs, or else when it changes, or after a while."""
        with self._changed:
            self._changed.wait_for(lambda: self._number != number, seconds)
            return self._number, self._latest
