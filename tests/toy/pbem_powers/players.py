"""How powers are played at random."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pbem.testing import RandomPlayers

if TYPE_CHECKING:
    from random import Random


def orders(random: Random, view: dict[str, Any]) -> str:
    """Legal orders of a seat, from what it was told."""
    word = random.choice(["north", "south", "peace"])
    dealt = [report["seats"] for turn in view["reports"] for report in turn if report["kind"] == "powers"]
    if not (powers := dealt[0] if dealt else view["options"].get("powers")):
        return f"draw {word}"
    own, last = powers[view["seat"] - 1], view["reports"][-1] if view["reports"] else []
    if any(report["kind"] == "march" and report["power"] == own for report in last):
        return random.choice(["retreat", "stand"])
    march = random.choice(["hold", f"march {random.randint(1, 7)}"])
    return f"{march} tell {random.randint(1, 2)} {word}" if random.random() < 0.7 else march


PLAYERS = RandomPlayers(
    options=[({"rounds": 30}, 3), ({"powers": [3, 1]}, 2), ({}, 6)],
    orders=orders,
    nearly=["draw", "draw 7", "march 8", "march", "hold tell 9 north", "hold tell north", "stand here"],
)
