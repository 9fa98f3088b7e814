"""A turn: the check of a transit with all that it leads to, the departure, and the end of the game.

Here live the state of a game and the step from one state to the next, with the reports made on the way. No text of
players. Implements rulings 12-32 of Dueling Masters, rules/dueling-masters.md "Turns and transit" and "End".
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pbem.games import Result
from pbem.games.dueling_masters.board import ASTEROID, BEATS, FIRST_HOME, NAMES, PATHS, reach
from pbem.games.dueling_masters.notation import DESTROYED, PASS, Options, Side
from pbem.games.two_sides import TwoSides

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pbem.games import Report
    from pbem.games.dueling_masters.notation import Orders, Setup

_RESTING = -1
AN_ASTEROID = -1
"""In the place of a slot: the asteroid of a square."""


class State(TwoSides[Options, Side]):
    """A position at the start of the turn that is due; `told` are the reports of the last two turns, one by each."""

    @property
    def seat(self) -> int:
        """The seat that moves in this turn (ruling 8)."""
        return moves(self.turn)

    @property
    def due(self) -> dict[int, Orders | None]:
        """The one seat that moves; it is made to pass when it has no legal move (ruling 25)."""
        if self.result:
            return {}
        seat = self.seat
        return {seat: None if self.sides[seat - 1].can_move(self.options) else PASS}


def moves(turn: int) -> int:
    """The seat whose turn this is (ruling 8)."""
    return 2 - turn % 2


def begin(options: Options, setups: Sequence[Setup]) -> State:
    """The position before turn 1."""
    resting = (_RESTING,) * len(options.pieces)
    one, two = (Side(setup, setup.asteroids, setup.squares, resting) for setup in setups)
    return State(options, 1, (one, two), told=())


class Field:
    """One side while a turn is resolved: where its pieces stand and from where they came, by slot."""

    __slots__ = ("asteroids", "seat", "setup", "squares", "starts")

    def __init__(self, seat: int, side: Side) -> None:
        self.seat = seat
        self.setup = side.setup
        self.asteroids = side.asteroids
        self.squares = list(side.squares)
        self.starts = list(side.starts)

    def side(self) -> Side:
        """The side as it is now."""
        return Side(self.setup, self.asteroids, tuple(self.squares), tuple(self.starts))

    @property
    def has_home(self) -> bool:
        """True if a home planet is left."""
        return any(square != DESTROYED for square in self.squares[FIRST_HOME:])

    def destroy(self, slot: int, square: int) -> None:
        """Take a piece off the board, or the asteroid of a square."""
        if slot == AN_ASTEROID:
            self.asteroids &= ~(1 << square)
        else:
            self.squares[slot] = DESTROYED
            self.starts[slot] = _RESTING


def resolve(state: State, given: Mapping[int, Orders]) -> tuple[State, list[Report]]:
    """Play one turn; total on the judged order of the seat that is due."""
    seat, options, orders = state.seat, state.options, given[state.seat]
    fields = (Field(1, state.sides[0]), Field(2, state.sides[1]))
    own, slot = fields[seat - 1], orders.slot
    reports: list[Report] = []
    if slot < 0:
        reports.append({"seat": seat, "kind": "pass"})
    else:
        if own.starts[slot] != _RESTING:
            _Check(options.pieces, fields, reports).run(seat, slot)
        if own.squares[slot] != DESTROYED and fields[0].has_home and fields[1].has_home:
            depart(options.pieces[slot], own, orders, reports)
    sides = (fields[0].side(), fields[1].side())
    result = _result(options, state.turn, sides)
    told = (*(state.told or ())[-1:], tuple(reports))
    return State(options, state.turn + (result is None), sides, result, told), reports


def depart(name: str, own: Field, orders: Orders, reports: list[Report]) -> None:
    """The departure to a destination, or a ram (rulings 12, 23 and 24)."""
    slot, to = orders.slot, orders.to
    reports.append({"seat": own.seat, "kind": "departure", "piece": name, "square": NAMES[own.squares[slot]]})
    if own.asteroids >> to & 1:
        own.destroy(slot, to)
        own.destroy(AN_ASTEROID, to)
    else:
        own.starts[slot] = own.squares[slot]
        own.squares[slot] = to


class _Check:
    """The check of a transit and of all that it leads to (rulings 14-21)."""

    __slots__ = ("collisions", "fields", "names", "queue", "reports")

    def __init__(self, names: tuple[str, ...], fields: tuple[Field, Field], reports: list[Report]) -> None:
        self.names = names
        self.fields = fields
        self.reports = reports
        self.queue: list[tuple[int, int]] = []
        """Seat and slot of each piece whose transit is checked, first met first."""
        self.collisions: set[tuple[int, int, int]] = set()
        """Square, and the slots of seat 1's and seat 2's pieces."""

    def run(self, seat: int, slot: int) -> None:
        """Find all collisions; only then destroy, all at once, and let the survivors rest."""
        self.queue.append((seat, slot))
        for checked in self.queue:  # grows on the way
            self._look(*checked)
        doomed = []
        for square, *slots in sorted(self.collisions):
            report = collision(self.names, square, *slots)
            self.reports.append(report)
            lost = report["destroyed"].values()
            doomed += [(seat, slot, square) for seat, slot, gone in zip((1, 2), slots, lost, strict=True) if gone]
        for owner, piece in self.queue:
            self.fields[owner - 1].starts[piece] = _RESTING
        for owner, piece, square in doomed:
            self.fields[owner - 1].destroy(piece, square)

    def _look(self, seat: int, slot: int) -> None:
        """Look along one transit, square by square, and put the transits met at the end of the queue."""
        own, other = self.fields[seat - 1], self.fields[2 - seat]
        start, end, name = own.starts[slot], own.squares[slot], self.names[slot]
        self.reports.append(check(self.names, seat, slot, start, end))
        squares = other.squares
        for square in PATHS[name[0]][start, end]:
            if other.asteroids >> square & 1:
                self._meet(seat, square, slot, AN_ASTEROID)
            if square not in squares:
                continue
            for piece, stands in enumerate(squares):
                if stands == square:
                    self._meet(seat, square, slot, piece)
                    if other.starts[piece] != _RESTING and (other.seat, piece) not in self.queue:
                        self.queue.append((other.seat, piece))

    def _meet(self, seat: int, square: int, own: int, other: int) -> None:
        self.collisions.add((square, own, other) if seat == 1 else (square, other, own))


def check(names: Sequence[str], seat: int, slot: int, start: int, end: int) -> Report:
    """The report that a transit is checked."""
    return {"seat": seat, "kind": "check", "piece": names[slot], "from": NAMES[start], "to": NAMES[end]}


def collision(names: Sequence[str], square: int, *slots: int) -> Report:
    """The report of two pieces that meet, by slot, that of seat 1 first; strength decides (ruling 19)."""
    one, two = (ASTEROID if slot == AN_ASTEROID else names[slot] for slot in slots)
    lost = BEATS[one[0], two[0]]
    return {
        "kind": "collision",
        "square": NAMES[square],
        "pieces": {"1": one, "2": two},
        "destroyed": {"1": lost[0], "2": lost[1]},
    }


def _result(options: Options, turn: int, sides: tuple[Side, Side]) -> Result | None:
    """Planets, reach, max_turns, in this order (rulings 26-29)."""
    scores = sides[0].score, sides[1].score
    if not all(scores):
        return Result.of(scores)
    if not options.mobile_home and not _anybody_reaches(options.pieces, sides):
        return Result((1, 2), scores)
    return Result((1, 2), scores) if turn >= options.max_turns else None


def _anybody_reaches(names: tuple[str, ...], sides: tuple[Side, Side]) -> bool:
    for own, other in (sides, sides[::-1]):
        targets, homes = other.homes, own.homes
        for name, square in zip(names[:FIRST_HOME], own.squares, strict=False):
            if square != DESTROYED and reach(name[0], square, own.asteroids, homes) & targets:
                return True
    return False
