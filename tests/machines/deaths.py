"""How a program dies at a point of its way: a server by `kill -9`, one in this process by what nothing catches."""

from __future__ import annotations

import os
import signal
import threading
from collections import Counter
from dataclasses import dataclass


class Killed(BaseException):
    """The program ended there."""


class Death:
    """Ends the program at the n-th passing of a point; or `every` so many passings of any point."""

    def __init__(self, point: str | None, number: int) -> None:
        self.point = point
        self.number = number
        self.passed = 0
        self.deaths: Counter[str] = Counter()

    def __call__(self, point: str) -> None:
        if self.point in {None, point}:
            self.passed += 1
            if self.passed % self.number == 0 and (self.point is None or not self.deaths):
                self.deaths[point] += 1
                raise Killed(point)


@dataclass(frozen=True)
class End:
    """How a life is to end: at the n-th passing of a point, in whichever process; its desk `alone`, or all of it."""

    point: str
    count: int = 1
    alone: bool = False


class Countdown:
    """Kills its server, as `kill -9` does, at a planned point: the daemon, and the desk if that came there."""

    def __init__(self, end: End, daemon: int) -> None:
        self._end = end
        self._left = end.count
        self._daemon = daemon
        self._lock = threading.Lock()

    def __reduce__(self) -> tuple[type[Countdown], tuple[End, int]]:
        return Countdown, (self._end, self._daemon)

    def __call__(self, point: str) -> None:
        if point == self._end.point and not (self._end.alone and os.getpid() == self._daemon):
            with self._lock:
                self._left -= 1
                if not self._left:
                    if not self._end.alone:
                        os.kill(self._daemon, signal.SIGKILL)
                    os.kill(os.getpid(), signal.SIGKILL)
