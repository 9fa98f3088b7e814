"""Deaths of a program at a failpoint: a server by `kill -9`, one in this process by what nothing catches."""

from __future__ import annotations

import os
import signal
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


@dataclass
class End:
    """The end of a server, or of its desk `alone`, by `kill -9`, when either passes a point so often."""

    point: str
    count: int = 1
    alone: bool = False
    daemon: int = 0

    def __call__(self, point: str) -> None:
        if point == self.point and not (self.alone and os.getpid() == self.daemon):
            self.count -= 1
            if self.count <= 0:
                if not self.alone:
                    os.kill(self.daemon, signal.SIGKILL)
                os.kill(os.getpid(), signal.SIGKILL)
