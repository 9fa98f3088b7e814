"""Random play of a game of another package, by the random players that each such package has for its checks.

Here live only the dice, whose throws follow from a `Chance`: the same seed and letters give the same orders.
Implements docs/opponent.md.
"""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pbem.games import Options
    from pbem.player.opponent import Chance, Position, Wish


class _Dice(Random):
    """Random numbers from a chance."""

    chance: Chance

    def seed(self, *_: object) -> None:
        """Keep the chance: it is the seed."""

    def random(self) -> float:
        """A number from 0, below 1."""
        return self.getrandbits(53) / (1 << 53)

    def getrandbits(self, k: int, /) -> int:
        """A number of so many bits."""
        return self.chance.below(1 << k)


def _thrown(chance: Chance) -> _Dice:
    dice = _Dice()
    dice.chance = chance
    return dice


class AtRandom:
    """The strategy of random players, on all levels."""

    def __init__(self, players: Any) -> None:
        self._players = players
        """A `pbem.testing.RandomPlayers`."""

    def setup(self, level: int, chance: Chance, options: Options, seat: int) -> str:
        """A legal setup."""
        del level
        return str(self._players.setup(_thrown(chance), options, seat))

    def orders(self, level: int, chance: Chance, position: Position) -> str:
        """Legal orders for the turn that is due."""
        del level
        return str(self._players.orders(_thrown(chance), dict(position.view)))

    def wish(self, level: int, position: Position) -> Wish:
        """None: it plays to the end."""
        del level, position
        return None
