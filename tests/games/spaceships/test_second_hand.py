"""A second adjudicator of Spaceships, slow and literal, written from the rules page alone, and both played together.

Random fleets, random orders, legal and not: whether orders are accepted, every report of every turn, the scores, the
number of the turn and the end must be the same. Of the engine nothing is used but the public interface of its rules.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from functools import cache
from itertools import combinations, product
from typing import TYPE_CHECKING, Any

import pytest

from pbem.games import Orders, Refused, State, rules

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

COLOURS, LETTERS, NUMBERS = "ROYGB", "vwxyz", "12345"
CELLS = ["".join(cell) for cell in product(COLOURS, LETTERS, NUMBERS)]
BOXES = {"KC": (3, 2, 1), "FS": (2, 2, 1), "PC": (4, 1, 1), "MD": (3, 1, 1), "HS": (2, 1, 1)} | {
    "LS": (1, 1, 1),
    "AG": (2, 1, 1),
    "LG": (1, 1, 1),
}
Order = tuple[Any, ...]
"""("strike", target), ("scan", target), ("missile", launch, target), ("kamikaze", launch, target), or
("beam", first, last, name or None)."""
SCANNERS, MISSILES = ("HS", "LS"), ("MD", "AG", "LG")
FLEETS = {
    "standard": [["DS", "KC", "FS", "MD", "LS"], ["DS", "KC", "PC", "MD", "HS"]],
    "cost:9": [["KC", "HS"], ["PC", "MD", "AG"], ["FS", "HS", "LG", "LG"], ["AG", "AG", "AG", "LS"], ["HS"] * 3],
    "cost:19": [["DS", "DS", "LS"], ["DS", "MD", "MD", "AG", "HS"], ["KC", "KC", "PC", "LG", "AG"]],
}


@cache
def point(cell: str) -> tuple[int, int, int]:
    return COLOURS.index(cell[0]), LETTERS.index(cell[1]), NUMBERS.index(cell[2])


def cell_at(spot: Sequence[int]) -> str | None:
    inside = all(0 <= value <= 4 for value in spot)
    return COLOURS[spot[0]] + LETTERS[spot[1]] + NUMBERS[spot[2]] if inside else None


@cache
def apart(one: str, other: str) -> tuple[int, ...]:
    return tuple(b - a for a, b in zip(point(one), point(other), strict=True))


def adjacent(one: str, other: str) -> bool:
    return sum(map(abs, apart(one, other))) == 1


@dataclass
class Ship:
    name: str
    code: str
    cells: list[str]
    burnt: bool = False


@dataclass
class Player:
    """One side, and what the rules page says of it, read from the state at the start of the turn."""

    ships: list[Ship]
    destroyed: set[str] = field(default_factory=set)
    fired: set[str] = field(default_factory=set)
    lost: int = 0

    def whole(self, ship: Ship) -> list[str]:
        return [cell for cell in ship.cells if cell not in self.destroyed]

    def at(self, cell: str) -> Ship | None:
        return next((ship for ship in self.ships if cell in ship.cells), None)

    def strikes(self, ship: Ship) -> int:
        whole = self.whole(ship)
        return (1 if whole else 0) if ship.code == "DS" else most_pairs(whole)

    def missiles(self, ship: Ship) -> list[str]:
        return [cell for cell in self.whole(ship) if ship.code in MISSILES and cell not in self.fired]

    def kamikazes(self, ship: Ship) -> list[str]:
        barred = ship.code in ("DS", "LS") or self.strikes(ship) or self.missiles(ship)
        return [] if barred else self.whole(ship)

    def beams(self, direction: tuple[int, ...]) -> list[Ship]:
        """The death stars that could fire along this direction."""
        able = []
        for ship in self.ships:
            if ship.code != "DS" or ship.burnt:
                continue
            steps = [apart(one, other) for one, other in combinations(self.whole(ship), 2)]
            if direction in steps or tuple(-step for step in direction) in steps:
                able.append(ship)
        return able

    def scans(self, turn: int) -> int:
        if not any(self.whole(ship) for ship in self.ships if ship.code in SCANNERS):
            return 0
        return 1 if turn == 1 else max(1, self.lost)

    def score(self) -> int:
        return sum(len(self.whole(ship)) for ship in self.ships)

    def helpless(self) -> bool:
        return not any(self.strikes(ship) or self.missiles(ship) for ship in self.ships)


def most_pairs(cells: Sequence[str]) -> int:
    if len(cells) < 2:
        return 0
    head, *rest = cells
    best = most_pairs(rest)
    for other in rest:
        if adjacent(head, other):
            best = max(best, 1 + most_pairs([cell for cell in rest if cell != other]))
    return best


def line(first: str, last: str) -> tuple[list[str], tuple[int, ...]] | None:
    """The three targets and the direction, or None."""
    span = apart(first, last)
    if not any(span) or any(step not in (-2, 0, 2) for step in span):
        return None
    direction = tuple(step // 2 for step in span)
    middle = cell_at([at + step for at, step in zip(point(first), direction, strict=True)])
    assert middle is not None
    return [first, middle, last], direction


def written(order: Order, sparing: Callable[[str], str]) -> str:
    """The order in conventional notation."""
    kind, *rest = order
    if kind == "missile":
        return f"m{sparing(rest[0])} {rest[1]}"
    if kind == "beam":
        return f"b{rest[0]}-{rest[1]}" + (f" ({rest[2]})" if rest[2] else "")
    return {"strike": "", "scan": "s", "kamikaze": "k"}[kind] + " ".join(rest)


def firing(player: Player, order: Order) -> Ship | None:
    """The death star that fires this beam, or None when the order is not legal."""
    found = line(order[1], order[2])
    able = player.beams(found[1]) if found else []
    if order[3] is None:
        return able[0] if len(able) == 1 else None
    return next((ship for ship in able if order[3] in (ship.name, *(["DS1"] if ship.name == "DS" else []))), None)


def legal(player: Player, turn: int, orders: Sequence[Order]) -> bool:
    claimed = []
    for order in orders:
        kind = order[0]
        ship = player.at(order[1])
        if kind == "beam":
            ship = firing(player, order)
        elif kind in ("missile", "kamikaze") and ship:
            ready = player.missiles(ship) if kind == "missile" else player.kamikazes(ship)
            ship = ship if order[1] in ready else None
        if kind in ("beam", "missile", "kamikaze"):
            if ship is None:
                return False
            claimed.append((kind, ship.name))
    conventional = sum(order[0] == "strike" for order in orders)
    scans = sum(order[0] == "scan" for order in orders)
    return (
        len(claimed) == len(set(claimed))
        and conventional <= sum(map(player.strikes, player.ships))
        and scans <= player.scans(turn)
    )


class Game:
    """A game by the rules page."""

    def __init__(self, one: Player, two: Player, first: str) -> None:
        self.players = {1: one, 2: two}
        self.first = first
        self.turn = 1
        self.over = False

    def play(self, orders: Mapping[int, Sequence[Order]]) -> list[dict[str, Any]]:
        """One turn: the reports."""
        start = {seat: set(player.destroyed) for seat, player in self.players.items()}
        over = any(
            player.helpless() and all(order[0] == "scan" for order in orders[seat])
            for seat, player in self.players.items()
        )
        beams = {
            seat: [(firing(self.players[seat], order), order) for order in orders[seat] if order[0] == "beam"]
            for seat in (1, 2)
        }
        for seat, player in self.players.items():
            for order in orders[seat]:
                if order[0] == "kamikaze":
                    player.destroyed.add(order[1])
                if order[0] == "missile":
                    player.fired.add(order[1])
        self.start = start
        self.snapshot = {
            seat: {cell for ship in player.ships for cell in player.missiles(ship)}
            for seat, player in self.players.items()
        }
        self.told: set[tuple[int, str]] = set()
        reports: list[dict[str, Any]] = []
        first = {"alternate": 2 - self.turn % 2, "1": 1, "2": 2}[self.first]
        for seat in (first, 3 - first):
            reports += self.reports(seat, orders[seat], beams[seat])
        for seat, player in self.players.items():
            player.lost = len(player.destroyed - start[seat])
        self.over = over or not all(player.score() for player in self.players.values())
        self.turn += not self.over
        return reports

    def reports(
        self, seat: int, orders: Sequence[Order], beams: Sequence[tuple[Ship | None, Order]]
    ) -> list[dict[str, Any]]:
        enemy = self.players[3 - seat]
        made = []
        for ship, order in beams:
            found = line(order[1], order[2])
            assert found is not None
            three = [self.strike(seat, "beam", cell) for cell in found[0]]
            assert ship is not None
            ship.burnt = ship.burnt or three[0]["result"] == three[2]["result"] == "hit"
            made += three
        made += [
            self.strike(seat, "strike", order[-1])
            for order in orders
            if order[0] in ("strike", "missile", "kamikaze")
        ]
        for order in orders:
            if order[0] == "scan":
                cell = order[1]
                seen = "none" if not enemy.at(cell) else "destroyed" if cell in enemy.destroyed else "ship"
                made.append({"seat": seat, "kind": "scan", "cell": cell, "result": seen})
        for order in orders:
            if order[0] == "kamikaze":
                lost = self.players[seat].at(order[1])
                assert lost is not None
                report: dict[str, Any] = {"seat": seat, "kind": "kamikaze death", "cell": order[1]}
                if not self.players[seat].whole(lost) and (seat, lost.name) not in self.told:
                    report |= self.destruction(seat, lost)
                made.append(report)
        return made

    def strike(self, seat: int, kind: str, cell: str) -> dict[str, Any]:
        owner = 3 - seat
        enemy = self.players[owner]
        ship = enemy.at(cell)
        report: dict[str, Any] = {"seat": seat, "kind": kind, "cell": cell, "result": "miss"}
        if ship is None:
            return report
        before = enemy.whole(ship)
        report["result"] = "duplicate hit" if cell in enemy.destroyed else "hit"
        enemy.destroyed.add(cell)
        if cell in self.snapshot[owner]:
            beside = [other for other in ship.cells if adjacent(cell, other) and other not in self.start[owner]]
            report["explosions"] = sorted([cell, *beside], key=CELLS.index)
            enemy.destroyed.update(beside)
        if before and not enemy.whole(ship):
            report |= self.destruction(owner, ship)
        return report

    def destruction(self, owner: int, ship: Ship) -> dict[str, Any]:
        self.told.add((owner, ship.name))
        cells = sorted(ship.cells, key=CELLS.index)
        other = self.players[3 - owner]
        data: list[dict[str, Any]] = []
        for cell in cells:
            found = other.at(cell)
            data.append({"cell": cell, "ship": found.name if found else None})
            if found:
                data[-1]["destroyed"] = cell in other.destroyed
        return {"destroyed": {"ship": ship.name, "cells": cells}, "flashcube": data}


# Chance


def lie(dice: random.Random, code: str) -> list[str | None]:
    """Somewhere for a ship of this type to lie."""
    if code == "DS":
        shape = dice.choice(["cube", "flat", "bump"])
        sides = {"cube": [2, 2, 2], "flat": [4, 2, 1], "bump": [3, 2, 1]}[shape]
        extra = dice.choice([[(0, 0, 1), (0, 1, 1)], [(1, 0, 1), (2, 0, 1)]]) if shape == "bump" else []
    else:
        sides, extra = list(BOXES[code]), []
    axes = dice.sample(range(3), 3)
    corner = [dice.randrange(5) for _ in range(3)]
    spots = [*product(*map(range, sides)), *extra]
    return [cell_at([corner[i] + spot[axes[i]] for i in range(3)]) for spot in spots]


def fleet(dice: random.Random, codes: list[str]) -> Player:
    while True:
        ships: list[Ship] = []
        taken: set[str] = set()
        for at, code in enumerate(codes):
            number = codes[: at + 1].count(code) if codes.count(code) > 1 else ""
            spots = lie(dice, code)
            cells = [cell for cell in spots if cell]
            if len(cells) < len(spots) or taken & set(cells):
                break
            taken |= set(cells)
            ships.append(Ship(f"{code}{number}", code, cells))
        else:
            return Player(ships)


def some_cell(dice: random.Random, enemy: Player) -> str:
    """Mostly where it hurts."""
    if dice.random() < 0.75:
        return dice.choice(dice.choice(enemy.ships).cells)
    return dice.choice(CELLS)


def some_line(dice: random.Random, enemy: Player) -> tuple[str, str]:
    while True:
        first = some_cell(dice, enemy)
        last = cell_at([at + dice.choice((-2, 0, 2)) for at in point(first)])
        if last and last != first:
            return first, last


def some_orders(dice: random.Random, player: Player, enemy: Player, turn: int) -> list[Order]:
    """Orders that are legal, in any order, not always all that are due."""
    orders: list[Order] = []
    due = sum(map(player.strikes, player.ships))
    orders += [("strike", some_cell(dice, enemy)) for _ in range(due) if dice.random() < 0.6]
    orders += [("scan", some_cell(dice, enemy)) for _ in range(player.scans(turn)) if dice.random() < 0.6]
    for ship in player.ships:
        if player.missiles(ship) and dice.random() < 0.5:
            orders.append(("missile", dice.choice(player.missiles(ship)), some_cell(dice, enemy)))
        if player.kamikazes(ship) and dice.random() < 0.5:
            orders.append(("kamikaze", dice.choice(player.kamikazes(ship)), some_cell(dice, enemy)))
    unused = [ship for ship in player.ships if ship.code == "DS"]
    for _ in list(unused):
        first, last = some_line(dice, enemy)
        found = line(first, last)
        assert found is not None
        able = player.beams(found[1])
        ready = [ship for ship in able if ship in unused]
        if ready:
            ship = dice.choice(ready)
            unused.remove(ship)
            named = len(able) > 1 or dice.random() < 0.3
            orders.append(("beam", first, last, ship.name if named else None))
    dice.shuffle(orders)
    return orders


def worse_orders(dice: random.Random, player: Player, enemy: Player, orders: Sequence[Order]) -> list[Order]:
    """The same and something more, which may be too much."""
    own = dice.choice(dice.choice(player.ships).cells)
    star = dice.choice([None, "DS", "DS1", "DS2", "DS3"])
    more = dice.choice(
        [
            ("strike", some_cell(dice, enemy)),
            ("scan", some_cell(dice, enemy)),
            ("missile", own, some_cell(dice, enemy)),
            ("kamikaze", own, some_cell(dice, enemy)),
            ("kamikaze", dice.choice(CELLS), some_cell(dice, enemy)),
            ("beam", *some_line(dice, enemy), star),
            ("beam", some_cell(dice, enemy), some_cell(dice, enemy), star),
        ]
    )
    return [order for order in orders if dice.random() < 0.8] + [more]


def part_of(dice: random.Random, player: Player) -> Callable[[str], str]:
    """How to name a missile: some part that fits it alone, or at worst its cell."""
    ready = [cell for ship in player.ships for cell in player.missiles(ship)]

    def sparing(launch: str) -> str:
        parts = [[launch[i] for i in kept] for size in (1, 2) for kept in combinations(range(3), size)]
        alone = ["".join(part) for part in parts if [all(v in cell for v in part) for cell in ready].count(True) == 1]
        return dice.choice([launch, *alone]) if launch in ready else launch

    return sparing


def accepted(state: State, seat: int, text: str) -> Orders | None:
    try:
        return rules("spaceships").order(state, seat, text)
    except Refused:
        return None


def text_of(dice: random.Random, player: Player, orders: Sequence[Order]) -> str:
    sparing = part_of(dice, player)
    return dice.choice([" ", ", ", "\n"]).join(written(order, sparing) for order in orders)


@pytest.mark.parametrize("seed", range(200))
def test_both_adjudicators_agree(seed: int) -> None:
    play_both(seed)


@pytest.mark.long
@pytest.mark.parametrize("batch", range(1, 11))
def test_both_adjudicators_agree_at_length(batch: int) -> None:
    for seed in range(batch * 200, batch * 200 + 200):
        play_both(seed)


def play_both(seed: int) -> None:
    dice = random.Random(seed)
    real = rules("spaceships")
    kind = dice.choice(list(FLEETS))
    first = dice.choice(["alternate", "1", "2"])
    options = real.options({"fleet": kind, "first": first}, 2)
    players = [fleet(dice, dice.choice(FLEETS[kind])) for _ in range(2)]
    game = Game(players[0], players[1], first)
    setups = ["\n".join(f"{ship.name} {' '.join(ship.cells)}" for ship in player.ships) for player in players]
    state = real.begin(options, [real.setup(options, seat, text) for seat, text in enumerate(setups, start=1)])
    for _ in range(40):
        orders: dict[int, list[Order]] = {}
        judged: dict[int, Orders] = {}
        for seat, player in game.players.items():
            enemy = game.players[3 - seat]
            orders[seat] = some_orders(dice, player, enemy, game.turn)
            for _ in range(4):
                doubtful = worse_orders(dice, player, enemy, orders[seat])
                text = text_of(dice, player, doubtful)
                assert (accepted(state, seat, text) is not None) == legal(player, game.turn, doubtful), text
            assert legal(player, game.turn, orders[seat])
            text = text_of(dice, player, orders[seat])
            found = accepted(state, seat, text)
            assert found is not None, text
            judged[seat] = found
        expected = game.play(orders)
        state, reports = real.turn(state, judged)
        assert list(reports) == expected
        scores = tuple(player.score() for player in game.players.values())
        assert tuple(state.scores) == scores
        assert (state.result is not None, state.turn) == (game.over, game.turn)
        if game.over:
            winner = 0 if scores[0] == scores[1] else 1 if scores[0] > scores[1] else 2
            assert state.result is not None
            assert (state.result.winner, tuple(state.result.scores)) == (winner, scores)
            return
