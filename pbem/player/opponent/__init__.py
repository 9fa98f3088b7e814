"""The strategies of a program that plays by mail: setups and orders as text, by level, for each registered game.

Each is a function of only the level, chance, and what letters told the seat: anybody who has the seed and the
letters finds the same orders again, on any Python. So there are only whole numbers here, no clock, no files, no
order of sets. Of `pbem`, only `pbem.games` is imported. A game of another package is played by its random players.
Implements docs/opponent.md.
"""

from __future__ import annotations

import hmac
from importlib import import_module
from random import Random
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, Protocol, TypeVar, cast

from pbem.games import GAMES, part_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from pbem.games import Options, Report


Thing = TypeVar("Thing")

SEED_OCTETS: Final = 16
"""Length of a seed: too long to guess, and in hex it fits a line of mail, however it is quoted."""

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


LEVELS: Final = (1, 2, 3)
"""From the weakest to the strongest."""

Wish = Literal["draw", "resign"] | None
"""A sentence beside the orders: an offered or accepted draw, or a resignation."""


class Position(NamedTuple):
    """The state of a game by the letters to one seat: all that its orders may depend on."""

    options: Options
    """The game's, from the attachment of the requested setup."""
    seat: int
    view: Mapping[str, Any]
    """The view of the attached position, as docs/attachments.md describes it."""
    turns: Sequence[Sequence[Report]]
    """The attached reports of each turn played."""


class Strategy(Protocol):
    """The strategy for one game."""

    def setup(self, level: int, chance: Chance, options: Options, seat: int) -> str:
        """A legal setup. Raises ValueError if the options allow none that can be found in bounded time."""

    def orders(self, level: int, chance: Chance, position: Position) -> str:
        """Legal orders for the turn that is due, empty if the seat can only pass."""

    def wish(self, level: int, position: Position) -> Wish:
        """The sentence that the seat adds to its orders: a draw offer, for example."""


class RandomStrategy(NamedTuple):
    """The strategy for a game by its module `players`, the same at every level."""

    players: Any

    def setup(self, _level: int, chance: Chance, options: Options, seat: int) -> str:
        """A setup at random."""
        return str(self.players.setup(_random(chance), options, seat))

    def orders(self, _level: int, chance: Chance, position: Position) -> str:
        """Orders at random."""
        return str(self.players.orders(_random(chance), dict(position.view)))

    def wish(self, _level: int, _position: Position) -> Wish:
        """Nothing: it plays on."""
        return None


def _random(chance: Chance) -> Random:
    return Random(chance.below(1 << _WORD))  # noqa: S311 - its seed is as secret as the program's


STRATEGIES: Final[Mapping[str, str]] = {
    "spaceships": "pbem.player.opponent.spaceships",
    "dueling-masters": "pbem.player.opponent.dueling_masters",
    "shoot-em-up": "pbem.player.opponent.shoot_em_up",
}
"""The games by name and the module that plays each; imported when first asked for."""

EDITIONS: Final[Mapping[str, Sequence[str]]] = {
    "spaceships": ("1.0.0",),
    "dueling-masters": ("1.0.0",),
    "shoot-em-up": ("1.0.0",),
}
"""For each game, the pbem that first played each edition of its strategy, from edition 1 to the one here.

Whatever makes a strategy give another setup or other orders for the same seed and letters is a new edition: matches
played by an older one are proved by the pbem that plays that one.
"""


def edition(game: str) -> int:
    """The edition of a game's strategy that is played here: of another package's, the terms name the whole code."""
    return len(EDITIONS.get(game, "1"))


def is_played(game: str) -> bool:
    """True if there is a strategy for a game."""
    return game in STRATEGIES or (game in GAMES and part_of(game, "players") is not None)


def strategy(game: str) -> Strategy:
    """The strategy of a game that `is_played`, by its name."""
    if game in STRATEGIES:
        return cast("Strategy", import_module(STRATEGIES[game]))
    return RandomStrategy(part_of(game, "players").PLAYERS)
