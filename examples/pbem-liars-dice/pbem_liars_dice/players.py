"""Random play of Liar's Dice, for `pbem check-game liars-dice`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pbem.testing import RandomPlayers
from pbem_liars_dice import offers

if TYPE_CHECKING:
    from random import Random


def orders(random: Random, view: dict[str, Any]) -> str:
    """Legal orders of a seat, from all that it knows: the higher the bid, the likelier it is called a lie."""
    if view["entitled"] == ["shake"]:
        return f"shake {random.choice(('luck', 'abracadabra', 'six6'))}"
    bid, bids = view["bid"], [text for text in offers(view) if text != "liar"]
    if not bids or (bid and random.randrange(sum(view["counts"].values())) < 2 * bid["number"]):
        return "liar"
    return random.choice(bids[:6])


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
