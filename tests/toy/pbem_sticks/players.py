"""How sticks is played at random."""

from pbem.testing import RandomPlayers

PLAYERS = RandomPlayers(
    options=[({}, 2), ({"sticks": 9}, 3)],
    orders=lambda random, view: f"take {random.randint(1, view['entitled'])}",
    nearly=["take", "take 4", "take 1 2"],
    secrets=False,
)
