"""A program that dies at a point of its way, for those who try what is left then."""

from __future__ import annotations

from collections import Counter


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
