"""How a march is walked at random."""

from pbem.testing import RandomPlayers

PLAYERS = RandomPlayers(
    options=[({}, 3), ({}, 5)],
    orders=lambda random, _view: random.choice(["walk 1", "walk 2", "walk 3"]),
    nearly=["walk", "walk 4", "walk it now"],
    secrets=False,
)
