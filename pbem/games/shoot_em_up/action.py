"""A turn: three actions, each resolved in two half-steps, with the reports made on the way.

Here live the state of a game and the step from one state to the next. No text of players. Implements rulings
9-27 and 29 of Shoot 'em up Spaceships, rules/shoot-em-up.md "Resolution" and "End".
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from pbem.games import Result
from pbem.games.shoot_em_up.board import LETTERS, SHIPS, Ship

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from pbem.games import Report
    from pbem.games.shoot_em_up.board import Board, Options
    from pbem.games.shoot_em_up.notation import Orders, Setup


class State(NamedTuple):
    """A position: the ships left, in the order of letters, at the start of the turn that is due."""

    options: Options
    turn: int
    ships: tuple[Ship, ...]
    last: tuple[tuple[int, str], ...] = ()
    """The orders of the turn before: each ship's place in the alphabet and its three actions."""
    result: Result | None = None

    @property
    def due(self) -> dict[int, None]:
        """The seats with ships left order in every turn."""
        return {} if self.result else dict.fromkeys(self.remaining)

    @property
    def remaining(self) -> tuple[int, ...]:
        """The seats with ships left (ruling 25)."""
        return tuple(sorted({ship.seat for ship in self.ships}))

    @property
    def scores(self) -> tuple[int, ...]:
        """Each seat's ships left (ruling 27)."""
        return scores(self.options.seats, (ship.letter for ship in self.ships))


def scores(seats: int, letters: Iterable[int]) -> tuple[int, ...]:
    """Each seat's ships among these."""
    count = [0] * seats
    for letter in letters:
        count[letter // SHIPS] += 1
    return tuple(count)


def begin(options: Options, setups: Sequence[Setup]) -> State:
    """The position before turn 1."""
    return State(options, 1, tuple(ship for setup in setups for ship in setup.ships))


def without(state: State, seat: int, _edition: int) -> State | None:
    """The position once a seat has resigned, if it was in the game and two others still are (ruling 29)."""
    others = [other for other in state.remaining if other != seat]
    if state.result or seat not in state.remaining or len(others) < 2:
        return None
    return state._replace(ships=tuple(ship for ship in state.ships if ship.seat != seat))


def resolve(state: State, orders: Mapping[int, Orders]) -> tuple[State, list[Report]]:
    """Resolve a turn; total on judged orders of all seats with ships left."""
    options = state.options
    given = tuple([ordered for seat in sorted(orders) for ordered in orders[seat].actions])
    space = _Space(options.board, state.ships)
    result = None
    for action in range(3):
        before = set(space.square)
        space.act(action, given)
        last = action == 2 and state.turn >= options.max_turns
        if last or len(space.square) < len(before):
            # The action may end the game (rulings 23, 24 and 26).
            found = scores(options.seats, space.square)
            standing = len(found) - found.count(0)
            result = Result.of(found) if last or standing < 2 else None
            if result and not standing:  # those share who lost their last ship in this action
                gone = sorted({ship.seat for ship in state.ships if ship.letter in before})
                result = Result(tuple(gone), found)
            if result:
                break
    turn = state.turn if result else state.turn + 1
    return State(options, turn, space.ships(), given, result), space.reports


class _Space:
    """The board while a turn is resolved: by ship, its square, facing and shields."""

    __slots__ = ("action", "board", "facing", "reports", "shields", "square")

    def __init__(self, board: Board, ships: tuple[Ship, ...]) -> None:
        self.board = board
        self.square = {ship.letter: ship.square for ship in ships}
        self.facing = {ship.letter: ship.facing for ship in ships}
        self.shields = {ship.letter: 0 for ship in ships}
        self.reports: list[Report] = []

    def ships(self) -> tuple[Ship, ...]:
        facing, shields = self.facing, self.shields
        placed = self.square.items()
        # `Ship(...)` takes three times as long, and there are twelve of them in a turn.
        return tuple([tuple.__new__(Ship, (ship, square, facing[ship], shields[ship])) for ship, square in placed])

    def act(self, number: int, orders: tuple[tuple[int, str], ...]) -> None:
        """One action, of number 0 to 2, of all ships left: both half-steps, then the state."""
        self.action = action = number + 1
        ahead, square, facing, shields = self.board.ahead, self.square, self.facing, self.shields
        moves: dict[int, int] = {}
        shots: dict[int, int] = {}  # both: ship -> the square ahead
        for ship, actions in orders:
            if ship not in square:
                continue
            order = actions[number]
            if order == "M" or order == "F":  # noqa: PLR1714 - in the innermost loop
                target = ahead[facing[ship]][square[ship]]
                if target >= 0:
                    (moves if order == "M" else shots)[ship] = target
            elif order == "S":
                shields[ship] += 1
            else:
                facing[ship] = (facing[ship] + (1 if order == "R" else 3)) & 3
        if moves:
            self._meet_in_sides(moves, shots)
            for ship, target in moves.items():
                square[ship] = target
        if moves or shots:
            self._meet_in_squares(shots)
        if action == 3:
            self.shields = shields = dict.fromkeys(square, 0)
        states = self.board.states
        self.reports.append(
            {
                "action": action,
                "kind": "state",
                "ships": {
                    LETTERS[ship]: states[where][facing[ship]][shields[ship]] for ship, where in square.items()
                },
            }
        )

    def _meet_in_sides(self, moves: dict[int, int], shots: dict[int, int]) -> None:
        """The first half-step: rams in sides, and shots used up there (rulings 13-15)."""
        square = self.square
        at = dict(zip(square.values(), square, strict=True))
        meetings = []
        for ship, target in moves.items():
            other = at.get(target)
            # Nobody stands there: they may still meet in the square.
            if other is None:
                continue
            start = square[ship]
            # They swap squares, so they ram in the side between; counted once, from the lower square.
            if moves.get(other) == start:
                if start < target:
                    meetings.append((start, target, ship, other))
            elif shots.get(other) == start:
                meetings.append((min(start, target), max(start, target), ship, other))
        for one, two, ship, other in sorted(meetings):
            where = f"{self.board.names[one]}/{self.board.names[two]}"
            if other in shots:
                del shots[other]
                self._round(where, [ship], [other])
            else:
                self._rounds(where, sorted((ship, other)), [])
            # A ship destroyed in the side never arrives.
            for met in (ship, other):
                if met not in square:
                    moves.pop(met, None)

    def _meet_in_squares(self, shots: dict[int, int]) -> None:
        """The second half-step: everything arrives (rulings 16 and 17)."""
        square = self.square
        taken = set(square.values())
        fire: dict[int, list[int]] = {}
        for ship, target in shots.items():
            if target in taken:
                fire.setdefault(target, []).append(ship)
        contested = set(fire)
        if len(taken) < len(square):
            seen: set[int] = set()
            for where in square.values():
                (contested if where in seen else seen).add(where)
        for where in sorted(contested):
            ships = [ship for ship, at in square.items() if at == where]
            self._rounds(self.board.names[where], ships, fire.get(where, []))

    def _rounds(self, where: str, ships: list[int], shots: list[int]) -> None:
        """Rounds in one place: all shots and ships count in the first, one ship in each later one."""
        self._round(where, ships, shots)
        while len(left := [ship for ship in ships if ship in self.square]) > 1:
            self._round(where, left, [], again=True)

    def _round(self, where: str, ships: list[int], shots: list[int], *, again: bool = False) -> None:
        """The simultaneous hits of one round; ships that ram `again` take one each (rulings 17 and 18)."""
        for ship in ships:
            by = [other for other in ships if other != ship]
            if shots:
                by = sorted(by + shots)
            shields = self.shields[ship] - (1 if again else len(by))
            destroyed = shields < 0
            self.shields[ship] = left = max(shields, 0)
            if destroyed:
                del self.square[ship]
            self.reports.append(
                {
                    "action": self.action,
                    "kind": "hit",
                    "ship": LETTERS[ship],
                    "where": where,
                    "by": [LETTERS[other] for other in by],
                    "shields": left,
                    "destroyed": destroyed,
                }
            )
