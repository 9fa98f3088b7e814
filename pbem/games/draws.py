"""Draws of chance: the dice and cards of a turn, as a stream of numbers that follows from the turn's seed.

A game that says `chance` is handed one by its `turn`, and draws from nothing else, so that whoever has the seed finds
the same numbers. Implements docs/bundle.md, 13.2.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pbem.games import Report, Rules

_VALUES = 1 << 32
"""The number of different values that one number of the stream can have."""


class Draws:
    """The stream of a turn; each draw goes on where the last one ended."""

    def __init__(self, seed: str) -> None:
        self._seed = seed
        self._next = 0

    def below(self, number: int) -> int:
        """A whole number from 0 to `number` - 1, each as likely as any other; `number` is at most 2^32."""
        if not 1 <= number <= _VALUES:
            raise ValueError(f"nothing can be drawn below {number}")
        fair = _VALUES - _VALUES % number
        while True:
            octets = hashlib.sha256(f"{self._seed} {self._next}\n".encode()).digest()
            self._next += 1
            value = int.from_bytes(octets[:4], "big")
            if value < fair:  # the rest would make small numbers likelier
                return value % number

    def die(self, sides: int) -> int:
        """The throw of a die with these sides: from 1 to `sides`."""
        return 1 + self.below(sides)

    def shuffled(self, number: int) -> tuple[int, ...]:
        """The whole numbers from 0 to `number` - 1, in an order that is as likely as any other."""
        drawn = list(range(number))
        for last in range(number - 1, 0, -1):
            other = self.below(last + 1)
            drawn[last], drawn[other] = drawn[other], drawn[last]
        return tuple(drawn)


def play_turn(rules: Rules, state: Any, orders: Mapping[int, Any], seed: str) -> tuple[Any, list[Report]]:
    """Resolve a turn; the seed is for the chance of a game that has any."""
    return rules.turn(state, orders, Draws(seed)) if rules.chance else rules.turn(state, orders)
