"""Random play of Battleship, for `pbem check-game battleship`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pbem.testing import RandomPlayers
from pbem_battleship import COLUMNS, FLEET, ROWS, SQUARES, line

if TYPE_CHECKING:
    from random import Random

    from pbem_battleship import Options


def setup(random: Random, options: Options, seat: int) -> str:
    """A legal setup."""
    del options, seat
    taken: set[str] = set()
    lines = []
    for name, size in FLEET.items():
        places = [
            cells
            for row in range(10)
            for column in range(11 - size)
            for cells in (
                line(ROWS[row] + COLUMNS[column], ROWS[row] + COLUMNS[column + size - 1]),
                line(ROWS[column] + COLUMNS[row], ROWS[column + size - 1] + COLUMNS[row]),
            )
            if taken.isdisjoint(cells)
        ]
        found = random.choice(places)
        taken.update(found)
        lines.append(f"{name} {found[0]} {found[-1]}")
    return "\n".join(lines)


def orders(random: Random, view: dict[str, Any]) -> str:
    """Legal orders of a seat, from all that it knows: it hunts around hits."""
    sea = view["seas"][str(3 - view["seat"])]
    left = [square for square in SQUARES if square not in sea]
    hits = [SQUARES[square] for square, result in sea.items() if result == "hit"]
    near = [square for square in left if any(_touches(SQUARES[square], hit) for hit in hits)]
    random.shuffle(left)
    random.shuffle(near)
    return " ".join(list(dict.fromkeys(near + left))[: view["entitled"]["shots"]])


def _touches(one: tuple[int, int], other: tuple[int, int]) -> bool:
    return abs(one[0] - other[0]) + abs(one[1] - other[1]) == 1


PLAYERS = RandomPlayers(
    options=[({"shots": 5, "turns": "together"}, 2), ({}, 2), ({"shots": 9}, 2)],
    setup=setup,
    orders=orders,
    nearly=[
        "A1",
        "A0 B1",
        "A1 A1 A2 A3 A4",
        "K1",
        "A11",
        "carrier A1 A5",
        "carrier A1-A5 battleship",
        "A1, B2; C3 D4 E5",
    ],
)
