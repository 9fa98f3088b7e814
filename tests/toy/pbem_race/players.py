"""How a race is run at random."""

from pbem.testing import RandomPlayers

PLAYERS = RandomPlayers(
    options=[({}, 2)],
    orders=lambda random, _view: f"throw {random.choice(['luck', 'seven', 'please'])}",
    nearly=["throw", "throw 6", "throw it now"],
)
