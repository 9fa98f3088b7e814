"""A second adjudicator of Shoot 'em up Spaceships, slow and literal, written from the rules page alone.

Both play side by side: crowded boards, random orders, legal and not, two to four seats: whether orders are accepted,
every report and its place, the seats due, scores and end must be the same. Of the engine only its interface is used.
"""

from __future__ import annotations

import random
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

from pbem.games import Orders, Refused, rules

if TYPE_CHECKING:
    from collections.abc import Mapping

STEP = {"N": (0, 1), "E": (1, 0), "S": (0, -1), "W": (-1, 0)}
LEFT = {"N": "W", "W": "S", "S": "E", "E": "N"}
RIGHT = {after: before for before, after in LEFT.items()}
FLEET = {1: "ABC", 2: "DEF", 3: "GHI", 4: "JKL"}
Square = tuple[int, int]
OWNER = {letter: seat for seat, letters in FLEET.items() for letter in letters}


def name(square: Square) -> str:
    return "abcdefghijklmnopqrstuvwxyz"[square[0] - 1] + str(square[1])


@dataclass
class Ship:
    letter: str
    square: Square
    facing: str
    shields: int = 0
    alive: bool = True
    side: frozenset[Square] | None = None
    going: Square | None = None


@dataclass
class Shot:
    letter: str
    start: Square
    going: Square
    side: frozenset[Square]
    spent: bool = False


class Table:
    """The board on a table, and the people around it who do what the page says, in its order."""

    def __init__(self, columns: int, rows: int, max_turns: int, ships: list[Ship], seats: int) -> None:
        self.columns, self.rows, self.max_turns, self.seats = columns, rows, max_turns, seats
        self.ships = ships
        self.turn = 1
        self.reports: list[dict[str, Any]] = []
        self.winner: int | None = None

    def living(self, seat: int | None = None) -> list[Ship]:
        return [ship for ship in self.ships if ship.alive and seat in (None, OWNER[ship.letter])]

    def scores(self) -> list[int]:
        return [len(self.living(seat)) for seat in range(1, self.seats + 1)]

    def accepts(self, seat: int, text: str) -> dict[str, str] | None:
        lines = [line for line in text.split("\n") if line.strip()]
        found = [re.match(r"^\s*([A-L])(\s*:\s*|\s+)([LRFMS][LRFMS][LRFMS])\s*$", line) for line in lines]
        words = [word for word in found if word]
        if len(words) < len(lines):
            return None
        given = [word[1] for word in words]
        if sorted(given) != sorted(ship.letter for ship in self.living(seat)):
            return None
        return {word[1]: word[3] for word in words}

    def ahead(self, ship: Ship) -> Square | None:
        column, row = (a + b for a, b in zip(ship.square, STEP[ship.facing], strict=True))
        return (column, row) if 1 <= column <= self.columns and 1 <= row <= self.rows else None

    def play(self, orders: Mapping[str, str]) -> None:
        self.reports = []
        for number in (1, 2, 3):
            shots = self.first_half(number, orders)
            self.second_half(number, shots)
            if number == 3:
                for ship in self.ships:
                    ship.shields = 0
            states = {ship.letter: f"{name(ship.square)} {ship.facing} {ship.shields}" for ship in self.living()}
            self.reports.append({"action": number, "kind": "state", "ships": states})
            standing = [seat for seat in OWNERS if self.living(seat)]
            if len(standing) <= 1:
                self.winner = standing[0] if standing else 0
                return
        if self.turn == self.max_turns:
            most = [seat for seat in OWNERS if len(self.living(seat)) == max(self.scores())]
            self.winner = most[0] if len(most) == 1 else 0
            return
        self.turn += 1

    def leaves(self, seat: int) -> bool:
        """A seat resigns; whether the others play on, without its ships."""
        plays_on = len({OWNER[ship.letter] for ship in self.living()} - {seat}) > 1
        for ship in self.living(seat) if plays_on else ():
            ship.alive = False
        return plays_on

    def first_half(self, number: int, orders: Mapping[str, str]) -> list[Shot]:
        shots = []
        for ship in self.living():
            ship.side = ship.going = None
            action = orders[ship.letter][number - 1]
            if action == "L":
                ship.facing = LEFT[ship.facing]
            if action == "R":
                ship.facing = RIGHT[ship.facing]
            if action == "S":
                ship.shields += 1
            target = self.ahead(ship)
            if action == "M" and target:
                ship.side, ship.going = frozenset({ship.square, target}), target
            if action == "F" and target:
                shots.append(Shot(ship.letter, ship.square, target, frozenset({ship.square, target})))
        for side in sorted({ship.side for ship in self.living() if ship.side}, key=sorted):
            one, other = sorted(side)
            here = [ship for ship in self.living() if ship.side == side]
            fired = [shot for shot in shots if shot.side == side]
            for shot in fired if here else []:
                shot.spent = True
            self.clash(number, f"{name(one)}/{name(other)}", here, fired)
        return [shot for shot in shots if not shot.spent]

    def second_half(self, number: int, shots: list[Shot]) -> None:
        for ship in self.living():
            if ship.going:
                ship.square = ship.going
        for column in range(1, self.columns + 1):
            for row in range(1, self.rows + 1):
                here = [ship for ship in self.living() if ship.square == (column, row)]
                fired = [shot for shot in shots if shot.going == (column, row)]
                self.clash(number, name((column, row)), here, fired)

    def clash(self, number: int, where: str, here: list[Ship], fired: list[Shot]) -> None:
        first = True
        while (here and fired and first) or len(here) > 1:
            hits = {
                ship.letter: sorted(
                    [other.letter for other in here if other is not ship]
                    + ([shot.letter for shot in fired] if first else [])
                )
                for ship in here
            }
            for ship in sorted(here, key=lambda ship: ship.letter):
                for _ in hits[ship.letter]:
                    if ship.shields:
                        ship.shields -= 1
                    else:
                        ship.alive = False
                self.reports.append(
                    {
                        "action": number,
                        "kind": "hit",
                        "ship": ship.letter,
                        "where": where,
                        "by": hits[ship.letter],
                        "shields": ship.shields,
                        "destroyed": not ship.alive,
                    }
                )
            here = [ship for ship in here if ship.alive]
            first = False


OWNERS = (1, 2, 3, 4)


def zone(seat: int, columns: int, rows: int) -> list[Square]:
    if seat in (1, 2):
        return [(column, 1 if seat == 1 else rows) for column in range(2, columns)]
    return [(1 if seat == 3 else columns, row) for row in range(2, rows)]


def some_orders(dice: random.Random, table: Table, seat: int) -> str:
    """Mostly bold, sometimes faulty orders."""
    lines = []
    for ship in table.living(seat):
        three = "".join(dice.choices("LRFMS", weights=(2, 2, 4, 6, 2), k=3))
        lines.append(f"{ship.letter}{dice.choice((': ', ' ', ':', ' :  '))}{three}")
    dice.shuffle(lines)
    if dice.random() < 0.15:
        spoilt = dice.choice(("drop", "add", "twice", "letter", "four", "two", "case", "same line"))
        at = dice.randrange(len(lines))
        letter = lines[at][0]
        if spoilt == "drop":
            lines.pop(at)
        elif spoilt == "add":
            lines.append(f"{dice.choice('ABCDEFGHIJKL')}: SSS")
        elif spoilt == "twice":
            lines.append(f"{letter}: SSS")
        elif spoilt == "letter":
            lines[at] = f"{letter}: {''.join(dice.choices('LRFMSXQ', k=3))}"
        elif spoilt in ("four", "two"):
            lines[at] = f"{letter}: {'S' * (4 if spoilt == 'four' else 2)}"
        elif spoilt == "case":
            lines[at] = lines[at].lower()
        else:
            lines = [" ".join(lines)]
    return dice.choice(("\n", "\n\n", " \n")).join(lines)


@pytest.mark.parametrize("seed", range(240))
def test_both_adjudicators_agree(seed: int) -> None:
    play_both(seed)


@pytest.mark.long
@pytest.mark.parametrize("batch", range(1, 11))
def test_both_adjudicators_agree_at_length(batch: int) -> None:
    for seed in range(batch * 240, batch * 240 + 240):
        play_both(seed)


def play_both(seed: int) -> None:
    dice = random.Random(seed)
    game = rules("shoot-em-up")
    seats = 2 + seed % 3
    columns, rows = dice.choice(((5, 5), (5, 5), (5, 6), (7, 5), (9, 9)))
    max_turns = dice.choice((3, 12, 40))
    options = game.options({"board": f"{columns}x{rows}", "max_turns": max_turns}, seats)
    ships: list[Ship] = []
    setups = []
    for seat in range(1, seats + 1):
        squares = dice.sample(zone(seat, columns, rows), 3)
        own = [Ship(letter, square, dice.choice("NESW")) for letter, square in zip(FLEET[seat], squares, strict=True)]
        ships += own
        lines = [f"{ship.letter} {name(ship.square)} {ship.facing}" for ship in own]
        dice.shuffle(lines)
        setups.append(game.setup(options, seat, "\n".join(lines)))
    table = Table(columns, rows, max_turns, ships, seats)
    state = game.begin(options, setups)
    while table.winner is None:
        assert state.result is None
        assert state.turn == table.turn
        assert list(state.due) == [seat for seat in range(1, seats + 1) if table.living(seat)]
        given: dict[str, str] = {}
        judged: dict[int, Orders] = {}
        for seat in state.due:
            while seat not in judged:
                text = some_orders(dice, table, seat)
                accepted = table.accepts(seat, text)
                try:
                    orders = game.order(state, seat, text)
                except Refused:
                    assert accepted is None, text
                else:
                    assert accepted is not None, text
                    judged[seat] = orders
                    given |= accepted
        table.play(given)
        state, reports = game.turn(state, judged)
        assert reports == table.reports
        if table.winner is None and dice.random() < 0.1:
            seat = dice.choice(list(state.due))
            assert game.without(state, seat, 1) is None
            left = game.without(state, seat, 2)
            assert (left is not None) == table.leaves(seat)
            state = left or state
        assert list(state.scores) == table.scores()
    assert state.result is not None
    assert (state.result.winner, list(state.result.scores)) == (table.winner, table.scores())
    assert not state.due
