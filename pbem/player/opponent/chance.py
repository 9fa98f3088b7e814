"""Chance that can be replayed: numbers drawn by HMAC-SHA256 from a seed and a counter, the same on every Python.

Anybody who knows the seed can draw them again, and so find each choice of a program that plays. No clock, no state of
the process, no floating point: another number drawn would be a new edition of every strategy.
"""

from __future__ import annotations

import hmac
from typing import TYPE_CHECKING, Final, TypeVar

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

Thing = TypeVar("Thing")

_WORD: Final = 64


class Chance:
    """Numbers from one seed: the HMAC of 0, 1, 2 … with the seed as key, four words of 64 bits each."""

    def __init__(self, seed: bytes) -> None:
        self._seed = seed
        self._counter = 0
        self._words: list[int] = []

    def of(self, label: str) -> Chance:
        """The chance of one occasion, such as `game 1 turn 5`, independent of other occasions."""
        return Chance(hmac.digest(self._seed, label.encode(), "sha256"))

    def below(self, bound: int) -> int:
        """A number from 0, below a positive bound, each equally likely."""
        width = (bound - 1).bit_length()
        while True:
            number, drawn = 0, 0
            while drawn < width:
                number = number << _WORD | self._word()
                drawn += _WORD
            number >>= drawn - width
            if number < bound:
                return number

    def weighted(self, weights: Sequence[int]) -> int:
        """An index, each as likely as its weight, a whole number; at least one weight is positive."""
        left = self.below(sum(weights))
        for index, weight in enumerate(weights):
            left -= weight
            if left < 0:
                return index
        raise AssertionError("weights are not negative")

    def choice(self, things: Sequence[Thing]) -> Thing:
        """One of some things."""
        return things[self.below(len(things))]

    def shuffled(self, things: Iterable[Thing]) -> list[Thing]:
        """The things in random order."""
        left = list(things)
        for last in range(len(left) - 1, 0, -1):
            other = self.below(last + 1)
            left[last], left[other] = left[other], left[last]
        return left

    def _word(self) -> int:
        if not self._words:
            drawn = hmac.digest(self._seed, self._counter.to_bytes(8, "big"), "sha256")
            self._counter += 1
            self._words = [int.from_bytes(drawn[at : at + 8], "big") for at in (24, 16, 8, 0)]
        return self._words.pop()
