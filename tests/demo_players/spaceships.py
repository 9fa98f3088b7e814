"""How the demo's players play Spaceships: they read the printed charts and lists as people do.

Setups such as a letter asks for, and sensible orders: strikes where a ship is most likely, scans at what is left.
"""

from __future__ import annotations

import re
from collections import Counter
from itertools import product
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from random import Random

    from demo import Letter

NAMES = ("ann", "bob")
TERMS = "kind: continued\ngames: 2"
GAMES = 2
TURNS = 80  # no game between players who strike lasts longer
SHOWS = "bob's space, as you know it"

# The space: 125 cells, and every place that a ship of each type can take

Point = tuple[int, int, int]
CELLS = {at: "ROYGB"[at[0]] + "vwxyz"[at[1]] + "12345"[at[2]] for at in product(range(5), repeat=3)}
POINTS = {cell: at for at, cell in CELLS.items()}
BOXES = {
    "DS": (2, 2, 2),
    "KC": (3, 2, 1),
    "FS": (2, 2, 1),
    "PC": (4, 1, 1),
    "MD": (3, 1, 1),
    "HS": (2, 1, 1),
    "LS": (1, 1, 1),
    "AG": (2, 1, 1),
    "LG": (1, 1, 1),
}
LETTERS = dict(zip(BOXES, "DKFPMHSAG", strict=True))  # as they stand in the printed charts
ADDITIONAL = {"KC": 6, "FS": 4, "MD": 3, "AG": 2, "LG": 1}


def places(box: Point) -> list[frozenset[str]]:
    """All places of a box, whichever way it is turned."""
    found = set()
    turned = {
        (box[a], box[b], box[c]) for a, b, c in ((0, 1, 2), (0, 2, 1), (1, 0, 2), (1, 2, 0), (2, 0, 1), (2, 1, 0))
    }
    for sides in turned:
        for corner in product(*(range(6 - side) for side in sides)):
            cells = product(*(range(low, low + side) for low, side in zip(corner, sides, strict=True)))
            found.add(frozenset(CELLS[a, b, c] for a, b, c in cells))
    return sorted(found, key=sorted)


PLACES = {code: places(box) for code, box in BOXES.items()}
DIRECTIONS: list[Point] = [d for d in product((-1, 0, 1), (-1, 0, 1), (-1, 0, 1)) if d > (0, 0, 0)]


def step(cell: str, direction: Sequence[int], times: int = 1) -> str | None:
    a, b, c = (at + times * by for at, by in zip(POINTS[cell], direction, strict=True))
    return CELLS.get((a, b, c))


def beam_lines() -> list[tuple[Point, tuple[str, str, str]]]:
    lines: list[tuple[Point, tuple[str, str, str]]] = []
    for cell, direction in product(POINTS, DIRECTIONS):
        second, third = step(cell, direction), step(cell, direction, 2)
        if second and third:
            lines.append((direction, (cell, second, third)))
    return lines


BEAM_LINES = beam_lines()


# Setups


def fleet(random: Random, additional: int) -> list[str]:
    """The types of a standard fleet, and of additional ships that cost exactly so much."""
    codes = ["DS", "KC", random.choice(("FS", "PC")), "MD", random.choice(("LS", "HS"))]
    while additional:
        code = random.choice([code for code, cost in ADDITIONAL.items() if cost <= additional])
        codes.append(code)
        additional -= ADDITIONAL[code]
    return sorted(codes, key=list(BOXES).index)


def packed(random: Random, codes: Sequence[str]) -> list[frozenset[str]]:
    """A place for each ship, none in another's way; begun anew whenever the room gives out."""
    while True:
        taken: set[str] = set()
        found: list[frozenset[str]] = []
        for code in codes:
            free = [place for place in PLACES[code] if taken.isdisjoint(place)]
            if not free:
                break
            found.append(random.choice(free))
            taken |= found[-1]
        if len(found) == len(codes):
            return found


def setup(random: Random, letter: Letter) -> str:
    """A setup such as the letter asks for."""
    asked = re.search(r"Add ships whose costs add up to exactly (\d+)", " ".join(letter.text.split()))
    codes = fleet(random, int(asked[1]) if asked else 0)
    several = Counter(codes)
    number: Counter[str] = Counter()
    lines = []
    for code, place in zip(codes, packed(random, codes), strict=True):
        number[code] += 1
        name = f"{code}{number[code]}" if several[code] > 1 else code
        lines.append(" ".join([name, *sorted(place, key=POINTS.__getitem__)]))
    return "\n".join(lines)


# What a letter says of the position


class Due(NamedTuple):
    """One line of what may be ordered: how many, and the text beside it."""

    many: int
    detail: str


def chart(letter: str, title: str) -> dict[str, str]:
    """The symbol of each cell in the chart under this title: five grids of 15 columns side by side."""
    lines = letter.split("\n")
    top = next(at for at, line in enumerate(lines) if line.startswith(title)) + 3
    return {cell: lines[top + row][15 * colour + 4 + 2 * column] for (colour, row, column), cell in CELLS.items()}


def due(letter: str) -> dict[str, Due]:
    """What may be ordered, by kind."""
    lines = letter.partition("you may order any or all of these:")[2].partition("Example:")[0]
    text = re.sub(r"\n {29}", " ", lines)  # long lines go on under their text
    found = re.findall(
        r"^ +(\d+) (conventional|beam|missile|kamikaze|scan)s?\b(?: strikes?)?(.*)$", text, re.MULTILINE
    )
    return {kind: Due(int(count), detail.strip()) for count, kind, detail in found}


def sunk(letter: str) -> set[str]:
    """The cells of the opponent's ships that were wholly destroyed."""
    listed = re.findall(r"all destroyed: ((?:[ROYGB][v-z][1-5]\s*)+)", letter)
    return set(" ".join(listed).split())


def launches(detail: str) -> list[list[str]]:
    """The cells that may launch, ship by ship: `MD from Bx1, By1 or Bz1; LG2 from Oz1`."""
    return [re.findall(r"[ROYGB][v-z][1-5]", ship.partition(" from ")[2]) for ship in detail.split(";") if ship]


def beam_directions(letter: str) -> list[Point]:
    """Along which lines the death star can still fire: two whole cells of it lie that way."""
    own = chart(letter, "Your space")
    whole = {cell for cell, symbol in own.items() if symbol == "D"}
    return [d for d in DIRECTIONS if any(step(cell, d) in whole for cell in whole)]


class Position:
    """The opponent's space as the letter draws it, and where a strike is worth most."""

    def __init__(self, random: Random, letter: str, opponent: str) -> None:
        self._chart = chart(letter, f"{opponent}'s space")
        self._sunk = sunk(letter)
        self._worth = dict.fromkeys(POINTS, 0.0)
        for code, all_places in PLACES.items():
            for place in all_places:
                weight = self._weight(code, place)
                for cell in place if weight else ():
                    self._worth[cell] += weight
        for cell, symbol in self._chart.items():
            standing = symbol == "#" or (symbol.isupper() and symbol != "X")
            unseen = symbol == "."
            self._worth[cell] = 1e6 if standing else self._worth[cell] * (0.9 + random.random() / 5) * unseen

    def _weight(self, code: str, place: frozenset[str]) -> float:
        """How likely a ship of this type lies just here: more for each wound that it would explain."""
        symbols = [self._chart[cell] for cell in place]
        if "o" in symbols or not self._sunk.isdisjoint(place):
            return 0.0
        if any(symbol not in ".#X" and symbol.upper() != LETTERS[code] for symbol in symbols):
            return 0.0
        return 30.0 ** sum(symbol != "." for symbol in symbols)

    def surest(self) -> float:
        return max(self._worth.values())

    def target(self) -> str:
        """The best cell; what lies around it is then worth a little less, to spread strikes that seek."""
        best = max(self._worth, key=self._worth.__getitem__)
        self._aimed(best)
        return best

    def beam(self, directions: Sequence[Point]) -> tuple[str, str, str]:
        possible = [line for direction, line in BEAM_LINES if direction in directions]
        best = max(possible, key=lambda line: sum(self._worth[cell] for cell in line))
        for cell in best:
            self._aimed(cell)
        return best

    def _aimed(self, cell: str) -> None:
        self._worth[cell] = 0.0
        for direction in DIRECTIONS:
            for by in (1, -1):
                near = step(cell, direction, by)
                if near and self._worth[near] < 1e6:
                    self._worth[near] *= 0.8


def orders(random: Random, given: Letter) -> str:
    """Sensible orders: strikes where they are worth most, scans at what is left; kamikazes only at a sure hit."""
    letter = given.text
    may = due(letter)
    if not may:
        return ""
    (opponent,) = re.findall(r"^(\w+)'s space, as you know it", letter, re.MULTILINE)
    position = Position(random, letter, opponent)
    lines = [
        f"m{random.choice(cells)} {position.target()}" for cells in launches(may.get("missile", Due(0, "")).detail)
    ]
    lines += [position.target() for _ in range(may.get("conventional", Due(0, "")).many)]
    if "beam" in may:
        first, _, last = position.beam(beam_directions(letter))
        lines.append(f"b{first}{last}")
    for cells in launches(may.get("kamikaze", Due(0, "")).detail):
        if position.surest() >= 1e6:
            lines.append(f"k{random.choice(cells)} {position.target()}")
    lines += [f"s{position.target()}" for _ in range(may.get("scan", Due(0, "")).many)]
    return "\n".join(lines)


def told(reports: Sequence[Mapping[str, Any]], names: Mapping[int, str]) -> str:
    """A turn in a line: who hit how often."""
    hits = Counter(report["seat"] for report in reports if report.get("result") == "hit")
    return ", ".join(f"{name} {hits[seat]} {'hit' if hits[seat] == 1 else 'hits'}" for seat, name in names.items())
