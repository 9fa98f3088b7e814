"""Random play of marbles, for `pbem check-game marbles`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pbem.testing import RandomPlayers

if TYPE_CHECKING:
    from random import Random

    from pbem_marbles import Options


def setup(random: Random, options: Options, seat: int) -> str:
    """A legal setup."""
    del seat
    return f"hide {random.randint(1, options.most)}"


def orders(random: Random, view: dict[str, Any]) -> str:
    """Legal orders of a seat, from all that it knows."""
    return f"guess {random.randint(1, view['options'].get('most', 9))}"


PLAYERS = RandomPlayers(
    options=[({}, 2), ({"most": 30}, 2), ({"most": 1}, 2)],
    setup=setup,
    orders=orders,
    nearly=["hide", "guess", "guess 0", "guess 10", "hide 05", "hide 5 6", "guess 1000"],
)
