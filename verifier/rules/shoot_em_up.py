"""Shoot 'em up Spaceships, from its rules page alone."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from verifier import rules
from verifier.rules import Options, Paper, Position, Refused, Report, Result, best, demand

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

EDITIONS, SEATS = range(1, 2), range(2, 5)
STEP = {"N": (0, 1), "E": (1, 0), "S": (0, -1), "W": (-1, 0)}
LEFT = {"N": "W", "W": "S", "S": "E", "E": "N"}
RIGHT = {after: before for before, after in LEFT.items()}
FLEET = {1: "ABC", 2: "DEF", 3: "GHI", 4: "JKL"}
OWNER = {letter: seat for seat, letters in FLEET.items() for letter in letters}
COLUMNS = "abcdefghijklmnopqrstuvwxyz"
ORDER = re.compile(r"\s*([A-L])(?:\s*:\s*|\s+)([LRFMS]{3})\s*")
Square = tuple[int, int]


def lines(text: str) -> list[str]:
    """The lines that are not blank."""
    return [line for line in re.split(r"[\n\r]", text) if line.strip()]


def name(square: Square) -> str:
    return COLUMNS[square[0] - 1] + str(square[1])


def sides(options: Options) -> tuple[int, int]:
    columns, rows = options.get("board", "9x9").split("x")
    return int(columns), int(rows)


def options(given: Mapping[str, Any], seats: int) -> Options:
    board, most = given.get("board", "9x9"), given.get("max_turns", 200)
    demand(seats in SEATS and set(given) <= {"board", "max_turns"}, 1, "no such options")
    demand(isinstance(board, str) and re.fullmatch("([5-9]|1[0-9]|2[0-6])x([5-9]|1[0-9]|2[0-6])", board), 1, "board")
    demand(type(most) is int and 1 <= most <= 9999, 26, "max_turns")
    made = {"board": board, "max_turns": most}
    return {key: one for key, one in made.items() if one != {"board": "9x9", "max_turns": 200}[key]}


def carry(options: Options, _scores: Sequence[int]) -> Options:
    return options


def zone(seat: int, columns: int, rows: int) -> list[Square]:
    if seat in (1, 2):
        return [(column, 1 if seat == 1 else rows) for column in range(2, columns)]
    return [(1 if seat == 3 else columns, row) for row in range(2, rows)]


def ships_of(options: Options, seat: int, text: str) -> list[Ship]:
    ships: list[Ship] = []
    home = {name(square): square for square in zone(seat, *sides(options))}
    for line in lines(text):
        found = re.fullmatch(r"\s*([A-L])\s+([a-z][1-9][0-9]?)\s+([NESW])\s*", line)
        if not found:
            raise Refused(4, "no line of a setup")
        demand(found[1] in FLEET[seat], 3, "no ship of this seat")
        demand(found[1] not in {ship.letter for ship in ships}, 4, "a ship twice")
        column, row = COLUMNS.index(found[2][0]) + 1, int(found[2][1:])
        demand(column <= sides(options)[0] and row <= sides(options)[1], 1, "not on the board")
        demand(found[2] in home, 2, "not in the home zone")
        demand(home[found[2]] not in {ship.square for ship in ships}, 5, "two ships on one square")
        ships.append(Ship(found[1], home[found[2]], found[3]))
    demand(len(ships) == 3, 4, "a ship is missing")
    return sorted(ships, key=lambda ship: ship.letter)


def setup(options: Options, seat: int, text: str) -> str:
    return "\n".join(f"{ship.letter} {name(ship.square)} {ship.facing}" for ship in ships_of(options, seat, text))


def begin(options: Options, setups: Sequence[str]) -> Game:
    ships = [ship for seat, text in enumerate(setups, 1) for ship in ships_of(options, seat, text)]
    return Game(*sides(options), options.get("max_turns", 200), ships, len(setups))


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
    going: Square
    side: frozenset[Square]
    spent: bool = False


class Game(Position):
    def __init__(self, columns: int, rows: int, max_turns: int, ships: list[Ship], seats: int) -> None:
        self.columns, self.rows, self.max_turns, self.seats = columns, rows, max_turns, seats
        self.ships = ships
        self.reports: list[Report] = []

    def living(self, seat: int | None = None) -> list[Ship]:
        return [ship for ship in self.ships if ship.alive and seat in (None, OWNER[ship.letter])]

    @property
    def scores(self) -> tuple[int, ...]:
        return tuple(len(self.living(seat)) for seat in range(1, self.seats + 1))

    @property
    def remaining(self) -> list[int]:
        return [seat for seat, score in enumerate(self.scores, 1) if score]

    @property
    def due(self) -> dict[int, str | None]:
        return {} if self.result else dict.fromkeys(self.remaining)

    def order(self, seat: int, text: str) -> str:
        given = {}
        for line in lines(text):
            found = ORDER.fullmatch(line)
            if not found:
                raise Refused(7, "no line of orders")
            demand(found[1] not in given, 8, "a ship twice")
            given[found[1]] = found[2]
        demand(sorted(given) == sorted(ship.letter for ship in self.living(seat)), 8, "not each ship once")
        return "\n".join(f"{letter}: {given[letter]}" for letter in sorted(given))

    def store(self, _seat: int, _turn: int, text: str) -> None:
        demand(all(map(ORDER.fullmatch, lines(text))), 7, "no line of orders")

    def ahead(self, ship: Ship) -> Square | None:
        column, row = (a + b for a, b in zip(ship.square, STEP[ship.facing], strict=True))
        return (column, row) if 1 <= column <= self.columns and 1 <= row <= self.rows else None

    def play(self, orders: Mapping[int, str]) -> list[Report]:
        given = {line[0]: line[3:] for text in orders.values() for line in text.split("\n")}
        self.reports = []
        for number in (1, 2, 3):
            before = tuple(self.remaining)
            self.second_half(number, self.first_half(number, given))
            if number == 3:
                for ship in self.ships:
                    ship.shields = 0
            states = {ship.letter: f"{name(ship.square)} {ship.facing} {ship.shields}" for ship in self.living()}
            self.reports.append({"action": number, "kind": "state", "ships": states})
            if len(self.remaining) <= 1:
                self.result = best(self.scores) if self.remaining else Result(before, self.scores)
                return self.reports
        if self.turn == self.max_turns:
            self.result = best(self.scores)
        else:
            self.turn += 1
        return self.reports

    def leaves(self, seat: int) -> bool:
        plays_on = len(set(self.remaining) - {seat}) > 1
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
                shots.append(Shot(ship.letter, target, frozenset({ship.square, target})))
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
        for square in sorted({ship.square for ship in self.living()}):
            here = [ship for ship in self.living() if ship.square == square]
            self.clash(number, name(square), here, [shot for shot in shots if shot.going == square])

    def clash(self, number: int, where: str, here: list[Ship], fired: list[Shot]) -> None:
        first = True
        while (here and fired and first) or len(here) > 1:
            shots = [shot.letter for shot in fired] if first else []
            hits = {
                ship.letter: sorted([other.letter for other in here if other is not ship] + shots) for ship in here
            }
            for ship in sorted(here, key=lambda ship: ship.letter):
                by = hits[ship.letter]
                taken = len(by) if first else 1
                ship.alive = taken <= ship.shields
                ship.shields = max(0, ship.shields - taken)
                report = {"action": number, "kind": "hit", "ship": ship.letter, "where": where, "by": by}
                self.reports.append(report | {"shields": ship.shields, "destroyed": not ship.alive})
            here = [ship for ship in here if ship.alive]
            first = False


class Table(rules.Table):
    """A sealed game: both show their setups, then in each turn seat 1 commits, seat 2 opens, seat 1 opens."""

    papers: ClassVar[Mapping[str, Paper]] = {
        "setup": Paper("setup", ("rules", "salt")),
        "open": Paper("orders", ("setup", "salt")),
    }
    reveals = False
    turn = 0

    def __init__(self, options: Options) -> None:
        super().__init__(options)
        self.shown: dict[int, str] = {}
        self.committed = False
        self.game: Game | None = None

    @property
    def scores(self) -> tuple[int, ...]:
        return self.game.scores if self.game else (3 * (1 in self.shown), 3 * (2 in self.shown))

    @property
    def due(self) -> dict[int, str]:
        if self.result:
            return {}
        if not self.game:
            return {seat: "setup" for seat in (1, 2) if seat not in self.shown}
        return {2: "open"} if self.committed and 2 not in self.shown else {1: "open" if self.committed else "commit"}

    def judge(self, seat: int, step: str, text: str) -> tuple[str, ...]:
        if step == "commit":
            return ()
        if self.game:
            return tuple(self.game.order(seat, re.sub(r"(?<=[LRFMS]{3})\s+", "\n", text)).split("\n"))
        text = re.sub(r"(\S+\s+\S+\s+\S+)\s+", r"\1\n", " ".join(text.split()))
        return tuple(setup(self.options, seat, text).split("\n"))

    def enter(self, seat: int, step: str, lines: Sequence[str]) -> None:
        if step == "commit":
            self.committed = True
            return
        self.shown[seat] = "\n".join(lines)
        if len(self.shown) < 2:
            return
        if self.game:
            self.played.append(self.game.play(self.shown))
        else:
            self.game = begin(self.options, [self.shown[1], self.shown[2]])
        self.turn, self.result, self.remaining = self.game.turn, self.game.result, self.game.remaining
        self.shown, self.committed = {}, False
