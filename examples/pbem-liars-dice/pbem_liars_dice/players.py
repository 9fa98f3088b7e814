"""Random play of Liar's Dice, for `pbem check-game liars-dice`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pbem.testing import RandomPlayers

if TYPE_CHECKING:
    from random import Random


def orders(random: Random, view: dict[str, Any]) -> str:
    """Legal orders of a seat, from all that it knows: the higher the bid, the likelier it is called a lie."""
    if view["entitled"] == ["shake"]:
        return f"shake {random.choice(('luck', 'abracadabra', 'six6'))}"
    total, bid = sum(view["counts"].values()), view["bid"]
    least = 2 if view["ones"] == "wild" else 1
    higher = [
        (count, face)
        for count in range(1, total + 1)
        for face in range(least, 7)
        if not bid or (count, face) > (bid["number"], bid["face"])
    ]
    if not higher or (bid and random.randrange(total) < 2 * bid["number"]):
        return "liar"
    count, face = random.choice(higher[:6])
    return f"bid {count} {face}"


PLAYERS = RandomPlayers(
    options=[({"dice": 2}, 3), ({}, 2), ({"dice": 1, "ones": "plain"}, 6), ({"dice": 3}, 4)],
    orders=orders,
    nearly=[
        "shake",
        "shake a b",
        "shake well",
        "liar",
        "bid",
        "bid 1",
        "bid 0 5",
        "bid 1 1",
        "bid 99 6",
        "bid 2 7",
        "BID 1 2",
        "bid 1 2 3",
        "bid 2 5",
    ],
)
