"""The strategies of a program that plays by mail: setups and orders as text, by level, for each registered game.

Each is a function of only the level, chance, and what letters told the seat: anybody who has the seed and the
letters finds the same orders again, on any Python. So there are only whole numbers here, no clock, no files, no
order of sets; work is bounded by counts. Of `pbem`, only `pbem.games` is imported. Implements docs/opponent.md.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, Protocol, cast

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pbem.games import Options, Report
    from pbem.player.opponent.chance import Chance


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


STRATEGIES: Final[Mapping[str, str]] = {
    "spaceships": "pbem.player.opponent.spaceships",
    "dueling-masters": "pbem.player.opponent.dueling_masters",
    "shoot-em-up": "pbem.player.opponent.shoot_em_up",
}
"""The games by name and the module that plays each; imported when first asked for."""

EDITIONS: Final[Mapping[str, Sequence[str]]] = {
    "spaceships": ("0.9.0",),
    "dueling-masters": ("0.9.0",),
    "shoot-em-up": ("0.9.0",),
}
"""For each game, the pbem that first played each edition of its strategy, from edition 1 to the one here.

Whatever makes a strategy give another setup or other orders for the same seed and letters is a new edition: matches
played by an older one are proved by the pbem that plays that one.
"""


def edition(game: str) -> int:
    """The edition of a game's strategy that is played here."""
    return len(EDITIONS[game])


def strategy(game: str) -> Strategy:
    """The strategy of a game by its name; raises KeyError for an unknown game."""
    return cast("Strategy", import_module(STRATEGIES[game]))
