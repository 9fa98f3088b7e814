"""Players that know the rules but have no plan, and one with a little sense, for tests, bench and demo.

For each registered game: options to play under, a random legal setup, and random legal orders made from what a
player is told (`view`) alone. `sensible_orders` aims at what is known.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any

from pbem.games import rules
from pbem.games.spaceships.fleet import STANDARD_FLEETS, is_agreed
from pbem.games.spaceships.ships import TYPES, placements
from pbem.games.spaceships.space import ADJACENT, CELLS, LINES, NAMES, PLACES, cells, mask_of, names
from pbem.testing import RandomPlayers
from pbem.testing.subject import Beginning
from pbem.testing.subject import play as players_play

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from random import Random

    from pbem.testing import PlayedGame


# Spaceships


def random_setup(random: Random, options: Any, seat: int) -> str:
    """A legal setup of Spaceships as text, in the form of a list."""
    while True:
        placed = _placed(random, _random_fleet(random, options, seat))
        if placed is not None:
            return _as_list(placed)


def _random_fleet(random: Random, options: Any, seat: int) -> list[str]:
    while True:
        extra = _of_cost(random, options.additional[seat - 1], options.additional_allowed)
        if options.cost is None:
            base = list(random.choice(STANDARD_FLEETS))
        else:
            base = _of_cost(random, options.cost, options.allowed)
        if is_agreed(options, seat, base + extra):
            return base + extra


def _of_cost(random: Random, cost: int, allowed: Sequence[tuple[str, int]] | None) -> list[str]:
    """Ships that add up to a cost, or to less where the restriction leaves no way; the caller checks."""
    left = Counter(dict.fromkeys(TYPES, cost) if allowed is None else dict(allowed))
    fleet: list[str] = []
    while fitting := [code for code in TYPES if left[code] > 0 and TYPES[code].cost <= cost]:
        code = random.choice(fitting)
        left[code] -= 1
        cost -= TYPES[code].cost
        fleet.append(code)
    return fleet


def _placed(random: Random, codes: list[str]) -> list[tuple[str, int]] | None:
    taken = 0
    placed = []
    for code in sorted(codes, key=lambda code: -TYPES[code].size):
        free = [mask for mask in random.choices(placements(code), k=200) if not mask & taken]
        if not free:
            return None
        taken |= free[0]
        placed.append((code, free[0]))
    return placed


def _as_list(placed: list[tuple[str, int]]) -> str:
    several = Counter(code for code, _ in placed)
    numbers: Counter[str] = Counter()
    lines = []
    for code, mask in placed:
        numbers[code] += 1
        name = f"{code}{numbers[code]}" if several[code] > 1 else code
        lines.append(" ".join([name, *names(mask)]))
    return "\n".join(lines)


def random_orders(random: Random, view: dict[str, Any]) -> str:
    """Legal orders of Spaceships with targets anywhere; now and then fewer than are due."""
    share = random.choice((1.0, 1.0, 1.0, 0.5))
    return _orders(random, view, lambda: random.choice(NAMES), random.choice, share)


def _orders(
    random: Random,
    view: dict[str, Any],
    target: Callable[[], str],
    line: Callable[[list[str]], str],
    share: float = 1.0,
) -> str:
    entitled = view["entitled"]
    undamaged = {ship["ship"]: mask_of(ship["cells"]) & ~mask_of(ship["destroyed"]) for ship in view["own"]["ships"]}
    orders = []
    for beam in entitled["beams"]:
        ends = line(_lines_of_fire(undamaged[beam["ship"]]))
        orders.append(f"b{ends[:3]}{random.choice(('', '-', ' - ', ' '))}{ends[3:]} ({beam['ship']})")
    orders.extend(target() for ship in entitled["conventional"] for _ in range(ship["strikes"]))
    orders.extend(f"m{random.choice(ship['cells'])} {target()}" for ship in entitled["missiles"])
    orders.extend(f"k{random.choice(ship['cells'])} {target()}" for ship in entitled["kamikazes"])
    orders.extend(f"s{target()}" for _ in range(entitled["scans"]))
    orders = [order for order in orders if random.random() <= share]
    random.shuffle(orders)
    return random.choice((" ", ", ", "\n")).join(orders)


@cache
def _lines_of_fire(undamaged: int) -> list[str]:
    """The lines along which a beam can be fired, by arithmetic of its own."""
    places = [PLACES[cell] for cell in cells(undamaged)]
    steps = {tuple(b - a for a, b in zip(one, other, strict=True)) for one in places for other in places}
    able = []
    for ends in LINES:
        first, last = PLACES[CELLS[ends[:3]]], PLACES[CELLS[ends[3:]]]
        if tuple((b - a) // 2 for a, b in zip(first, last, strict=True)) in steps:
            able.append(ends)
    return able


def sensible_orders(random: Random, view: dict[str, Any]) -> str:
    """Legal orders of Spaceships of a player who finishes off what was found and does not waste strikes."""
    (known,) = view["known"].values()
    aim = _Aim(random, known)
    strikes = sum(ship["strikes"] for ship in view["entitled"]["conventional"]) + len(view["entitled"]["missiles"])
    if strikes and not aim.found:
        view = view | {"entitled": view["entitled"] | {"kamikazes": []}}  # not for a shot in the dark
    return _orders(random, view, aim.next, aim.best_line)


class _Aim:
    """The next cells to aim at: known ship cells, then the neighbours of hits, then the unknown."""

    def __init__(self, random: Random, known: dict[str, Any]) -> None:
        self.random = random
        destroyed, empty = mask_of(known["destroyed"]), mask_of(known["empty"])
        finished = mask_of([cell for ship in known["ships"] for cell in ship["cells"]])
        beside = 0
        for cell in cells(destroyed & ~finished):
            beside |= ADJACENT[cell]
        self.found = mask_of(known["ship"])
        self.near = beside & ~destroyed & ~empty & ~self.found
        self.dark = ((1 << len(NAMES)) - 1) & ~destroyed & ~empty & ~self.found & ~self.near
        self.left = [names(mask) for mask in (self.found, self.near, self.dark)]
        for cells_left in self.left:
            self.random.shuffle(cells_left)

    def next(self) -> str:
        for choice in self.left:
            if choice:
                return choice.pop()
        return self.random.choice(NAMES)

    def best_line(self, lines: list[str]) -> str:
        return max(self.random.sample(lines, min(40, len(lines))), key=self._worth)

    def _worth(self, ends: str) -> int:
        worth = 0
        for cell in LINES[ends][0]:
            worth += 6 * (self.found >> cell & 1) + 4 * (self.near >> cell & 1) + (self.dark >> cell & 1)
        return worth


# Shoot 'em up Spaceships


def random_zone_setup(random: Random, options: Any, seat: int) -> str:
    """A legal setup of Shoot 'em up Spaceships as text: three squares of the home zone, any facings."""
    columns, rows = options.size
    files = "abcdefghijklmnopqrstuvwxyz"[:columns]
    zones = (
        [f"{column}1" for column in files[1:-1]],
        [f"{column}{rows}" for column in files[1:-1]],
        [f"a{row}" for row in range(2, rows)],
        [f"{files[-1]}{row}" for row in range(2, rows)],
    )
    squares = random.sample(zones[seat - 1], 3)
    ships = "ABCDEFGHIJKL"[seat * 3 - 3 : seat * 3]
    return "\n".join(f"{ship} {square} {random.choice('NESW')}" for ship, square in zip(ships, squares, strict=True))


def random_actions(random: Random, view: dict[str, Any]) -> str:
    """Legal orders of Shoot 'em up Spaceships, written one way or another; more moves than are wise."""
    lines = [
        f"{ship}{random.choice((': ', ' '))}{''.join(random.choices('LRFMS', (2, 2, 3, 5, 1), k=3))}"
        for ship in view["entitled"]
    ]
    random.shuffle(lines)
    return "\n".join(lines)


# Dueling Masters


def random_masters_setup(random: Random, options: Any, seat: int) -> str:
    """A legal setup of Dueling Masters, by pieces or by kinds, in kinds now and then without line ends."""
    squares = [f"{row}{column}" for row in ("ABCDE", "FGHIJ")[seat - 1] for column in range(1, 11)]
    random.shuffle(squares)
    alone, shared = squares[: 7 + options.homes], squares[7 + options.homes :]
    shared = shared[: random.choice((2, 10, 100))]
    counts = {"W": 1, "B": 1, "X": 2, "Y": 2, "Z": 4}
    places = {kind: random.choices(shared, k=count) for kind, count in counts.items()} | {"H": alone[7:]}
    if random.random() < 0.5:
        ends = random.choice(("\n", " ", "\r\n"))
        return ends.join(" ".join([kind, *found]) for kind, found in ({"*": alone[:7]} | places).items())
    lines = [f"* {square}" for square in alone[:7]]
    for kind, found in places.items():
        lines += [f"{kind}{number} {square}" for number, square in enumerate(found, start=1)]
    random.shuffle(lines)
    return "\n".join(lines)


def random_masters_orders(random: Random, view: dict[str, Any]) -> str:
    """A legal order of Dueling Masters; seldom a ram if there is anything else."""
    able = view["entitled"]
    if not able:
        return ""
    piece = random.choice([piece for piece in able if piece["to"]] or able)
    ends = piece["rams"] if piece["rams"] and (not piece["to"] or random.random() < 0.02) else piece["to"]
    hyphen = random.choice(("-", " - ", " -"))
    return f"{piece['piece']} {piece['square']}{hyphen}{random.choice(ends)}"


PLAYERS: dict[str, RandomPlayers] = {
    "shoot-em-up": RandomPlayers(
        options=(
            ({}, 2),
            ({"board": "5x5"}, 3),
            ({"board": "7x6", "max_turns": 12}, 4),
            ({"board": "26x26", "max_turns": 5}, 4),
        ),
        setup=random_zone_setup,
        orders=random_actions,
    ),
    "spaceships": RandomPlayers(
        options=(
            ({}, 2),
            ({"fleet": "cost:24", "first": "1"}, 2),
            ({"fleet": "cost:40", "first": "2"}, 2),
            ({"additional": [5, 11], "additional_allowed": {"LG": 3, "AG": 2, "PC": 1, "DS": 1}}, 2),
            ({"fleet": "cost:10", "additional": [4, 0], "allowed": {"KC": 1, "FS": 2, "AG": 1, "LG": 1}}, 2),
        ),
        setup=random_setup,
        orders=random_orders,
    ),
    "dueling-masters": RandomPlayers(
        options=(
            ({}, 2),
            ({"homes": 3}, 2),
            ({"mobile_home": True, "max_turns": 300}, 2),
            ({"homes": 3, "mobile_home": True}, 2),
            ({"max_turns": 31}, 2),
        ),
        setup=random_masters_setup,
        orders=random_masters_orders,
    ),
}
"""By name of the game. A registered game without an entry fails tests/games/test_conformance.py."""


def play(
    game: str,
    random: Random,
    raw: Mapping[str, Any],
    seats: int,
    most: int = 1000,
    orders: Callable[[Random, dict[str, Any]], str] | None = None,
) -> PlayedGame:
    """Play a game at random, perhaps with another way to make orders."""
    players = PLAYERS[game] if orders is None else replace(PLAYERS[game], orders=orders)
    return players_play(rules(game), players, random, Beginning(raw, seats), most)
