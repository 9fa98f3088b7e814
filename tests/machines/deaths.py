"""How a program dies at a point of its way: a server by `kill -9`, one in this process by what nothing catches."""

from __future__ import annotations

import os
import signal
from collections import Counter
from dataclasses import dataclass

POINTS = (
    "message read",  # the final dot was seen; nothing is stored
    "transaction written",  # any transaction, of the inbox, the desk or the outbox, just before its commit
    "transaction committed",
    "letter stored",  # on disk; 250 is not yet said
    "250 said",
    "letter leased",  # the attempt is counted; the desk begins
    "letter read",  # before the desk's transaction
    "effects written",  # in the desk's transaction, all of it
    "effects committed",
    "clock written",  # in the transaction of what the clock demands
    "clock committed",
    "sending leased",
    "sending begun",
    "smarthost said 250",  # nothing of it is noted yet
    "sending settled",
)
"""The points in the handling of a letter at which a server may be killed without harm."""

FETCHING = (
    "letter fetched",  # from the mailbox; nothing is stored
    "letter kept",  # on disk, and it lies in the mailbox still
    "letter moved",
)
"""The further points of a letter that is fetched, and not brought."""


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
    """How a server is to end, as by `kill -9`: when it, or its desk, passes a point so often; or its desk `alone`."""

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
