"""How the demo's players play Shoot 'em up Spaceships: as programs, from the position that each letter carries.

Three people. Their ships fire at an enemy ahead, go for one in line, turn towards one, and otherwise wander.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from random import Random

    from demo import Letter

NAMES = ("ann", "bob", "cem")
TERMS = "board: 7x7\nmax_turns: 25"
GAMES = 1
TURNS = 25
SHOWS = "Action 1"

FACINGS = "NESW"
STEPS = ((0, 1), (1, 0), (0, -1), (-1, 0))
Square = tuple[int, int]


def setup(random: Random, letter: Letter) -> str:
    """The ships that the letter names, somewhere in the zone that it draws with #, facing inwards."""
    ships, last = re.findall(r"Your ships are (\w, \w) and (\w)\.", letter.text)[0]
    edge = re.findall(r"the (\w+) edge of the board", letter.text)[0]
    along = random.sample(range(2, 7), 3)
    squares = {
        "south": [f"{'abcdefg'[at - 1]}1" for at in along],
        "north": [f"{'abcdefg'[at - 1]}7" for at in along],
        "west": [f"a{at}" for at in along],
        "east": [f"g{at}" for at in along],
    }[edge]
    facing = {"south": "N", "north": "S", "west": "E", "east": "W"}[edge]
    return "\n".join(
        f"{ship} {square} {facing}" for ship, square in zip([*ships.split(", "), last], squares, strict=True)
    )


def orders(random: Random, letter: Letter) -> str:
    """Three actions for each ship, one at a time, as if nobody else moved."""
    view: dict[str, Any] = letter.attached("position.json")["view"]
    size = view["board"]["columns"], view["board"]["rows"]
    ships = {ship["ship"]: ship for ship in view["ships"]}
    enemies = {place(ship["square"]) for ship in ships.values() if ship["seat"] != view["seat"]}
    friends = {place(ship["square"]) for ship in ships.values() if ship["seat"] == view["seat"]}
    lines = []
    for name in view["entitled"]:
        at, facing = place(ships[name]["square"]), FACINGS.index(ships[name]["facing"])
        actions = ""
        for _ in range(3):
            action = one(random, at, facing, size, enemies, friends - {at})
            actions += action
            if action == "M":
                at = ahead(at, facing)
            facing = (facing + {"L": 3, "R": 1}.get(action, 0)) % 4
        lines.append(f"{name}: {actions}")
    return "\n".join(lines)


def one(random: Random, at: Square, facing: int, size: Square, enemies: set[Square], friends: set[Square]) -> str:
    if ahead(at, facing) in enemies:
        return random.choice("FFFS")
    if sees(at, facing, size, enemies):
        return random.choice("MMMMS")
    for turn, action in ((3, "L"), (1, "R")):
        if sees(at, (facing + turn) % 4, size, enemies):
            return action
    inside = all(1 <= value <= most for value, most in zip(ahead(at, facing), size, strict=True))
    return random.choice("MMMLR") if inside and ahead(at, facing) not in friends else random.choice("LR")


def place(square: str) -> Square:
    return "abcdefghijklmnopqrstuvwxyz".index(square[0]) + 1, int(square[1:])


def ahead(at: Square, facing: int, by: int = 1) -> Square:
    return at[0] + STEPS[facing][0] * by, at[1] + STEPS[facing][1] * by


def sees(at: Square, facing: int, size: Square, enemies: set[Square]) -> bool:
    return any(ahead(at, facing, by) in enemies for by in range(1, max(size)))


def told(reports: Sequence[Mapping[str, Any]], _names: Mapping[int, str]) -> str:
    """A turn in a line: who was hit and who is left."""
    hits = sum(report["kind"] == "hit" for report in reports)
    left = [report["ships"] for report in reports if report["kind"] == "state"][-1]
    return f"{hits} {'hit' if hits == 1 else 'hits'}, left are {' '.join(left) or 'none'}"
