"""Shoot 'em up Spaceships as a program plays it: a matrix of sampled orders, solved by regret matching.

All order at once, so any fixed answer can be learned: orders are drawn from the mixture that regret matching finds.
The level says how many are looked at; level 3 also looks for better ones against that mixture, for both sides.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple, cast

from pbem.games import rules
from pbem.games.shoot_em_up.board import FACINGS, LETTERS, SHIPS
from pbem.games.shoot_em_up.knowledge import recalled
from pbem.games.shoot_em_up.notation import ACTIONS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pbem import games
    from pbem.games.shoot_em_up import Options, State
    from pbem.games.shoot_em_up.knowledge import View
    from pbem.player.opponent import Chance, Position, Wish


class Budget(NamedTuple):
    """The number of orders examined in one turn."""

    drawn: int
    """Orders a side at first."""
    rounds: int
    """The rounds of search for better ones."""
    tried: int
    """The orders tried for each side in each of these rounds."""
    kept: int
    """The number kept of those."""


BUDGETS: Final = (Budget(4, 0, 0, 0), Budget(12, 0, 0, 0), Budget(16, 2, 48, 4))
"""The budget of each level."""
SOLVED: Final = 150
"""Rounds of regret matching."""
AGAINST: Final = 6
"""The number of the other side's orders against which new ones are tried."""

_WEIGHTS: Final = (4, 4, 6, 8, 3)
"""The weights with which actions are drawn: ships that never come near never win."""
_SHARES: Final = 1 << 16
_SHIP: Final = 1000
_NEAR: Final = 15
_AIMED: Final = 60

Orders = tuple[tuple[int, str], ...]
"""Three actions for each of some ships, which are numbered by the alphabet."""


def setup(_level: int, chance: Chance, options: games.Options, seat: int) -> str:
    """Squares of the home zone by chance, all ships facing the board."""
    board = cast("Options", options).board
    squares = chance.shuffled(sorted(board.homes[seat - 1]))[:SHIPS]
    facing = "NSEW"[seat - 1]
    letters = LETTERS[(seat - 1) * SHIPS :]
    return "\n".join(f"{ship} {board.names[square]} {facing}" for ship, square in zip(letters, squares, strict=False))


def orders(level: int, chance: Chance, position: Position) -> str:
    """Orders drawn from the mixture that solves the sampled matrix."""
    state = recalled(cast("View", position.view), position.seat)
    budget = BUDGETS[level - 1]
    game = _Matrix(chance, state, position.seat, budget.drawn)
    mixture, against = game.solved()
    for _ in range(budget.rounds):
        game.improve(mixture, against, budget)
        mixture, against = game.solved()
    return _text(game.own[chance.weighted(mixture)])


def wish(_level: int, _position: Position) -> Wish:
    """Nothing: the game ends by itself."""
    return None


def _text(orders: Orders) -> str:
    return "\n".join(f"{LETTERS[ship]}: {actions}" for ship, actions in orders)


class _Matrix:
    """Own orders in rows, joint orders of all others in columns, and what each pair is worth to the seat.

    As many as `drawn` of each are drawn by chance at first.
    """

    def __init__(self, chance: Chance, state: State, seat: int, drawn: int) -> None:
        self.chance = chance
        self.state = state
        self.seat = seat
        self.mine = [ship.letter for ship in state.ships if ship.seat == seat]
        self.others = [ship.letter for ship in state.ships if ship.seat != seat]
        self.own = [self._drawn(self.mine) for _ in range(drawn)]
        self.other = [self._drawn(self.others) for _ in range(drawn)]
        self.worth: dict[tuple[Orders, Orders], int] = {}

    def solved(self) -> tuple[list[int], list[int]]:
        """Both sides' mixtures, by regret matching in which no regret is negative."""
        rows = [[self.played(own, other) for other in self.other] for own in self.own]
        columns = [[-worth for worth in column] for column in zip(*rows, strict=True)]
        regrets = [[1] * len(rows), [1] * len(columns)]
        sums = [[0] * len(rows), [0] * len(columns)]
        for number in range(1, SOLVED + 1):
            mixtures = [_mixture(found) for found in regrets]
            for side, table in enumerate((rows, columns)):
                own, against = mixtures[side], mixtures[1 - side]
                worths = [sum(map(int.__mul__, row, against)) >> 16 for row in table]
                mean = sum(map(int.__mul__, worths, own)) >> 16
                regrets[side] = [
                    max(0, regret + worth - mean) for regret, worth in zip(regrets[side], worths, strict=True)
                ]
                sums[side] = [total + number * share for total, share in zip(sums[side], own, strict=True)]
        return sums[0], sums[1]

    def improve(self, mixture: Sequence[int], against: Sequence[int], budget: Budget) -> None:
        """Add for both sides the best of some new orders, against the heaviest part of the other side's mixture."""
        opposed = _heaviest(self.other, against)
        held = _heaviest(self.own, mixture)
        for side, ships, most, other, sign in (
            (self.own, self.mine, held, opposed, 1),
            (self.other, self.others, opposed, held, -1),
        ):
            found = [self._changed(self.chance.choice(most)[0]) for _ in range(budget.tried * 3 // 4)]
            found += [self._drawn(ships) for _ in range(budget.tried - len(found))]
            worths = [
                (sign * sum(share * self.played(*(new, old)[::sign]) for old, share in other), -number, new)
                for number, new in enumerate(found)
            ]
            for _, _, new in sorted(worths, reverse=True)[: budget.kept]:
                if new not in side:
                    side.append(new)

    def played(self, own: Orders, other: Orders) -> int:
        """The value of the position after a turn."""
        if (own, other) not in self.worth:
            judge = rules("shoot-em-up")
            by_seat: dict[int, list[tuple[int, str]]] = {}
            for ship, actions in own + other:
                by_seat.setdefault(ship // SHIPS + 1, []).append((ship, actions))
            given = {seat: judge.order(self.state, seat, _text(tuple(given))) for seat, given in by_seat.items()}
            after, _ = judge.turn(self.state, given)
            self.worth[own, other] = _valued(cast("State", after), self.seat)
        return self.worth[own, other]

    def _drawn(self, ships: Sequence[int]) -> Orders:
        weighted = self.chance.weighted
        return tuple((ship, "".join(ACTIONS[weighted(_WEIGHTS)] for _ in range(3))) for ship in ships)

    def _changed(self, orders: Orders) -> Orders:
        """The same orders except for one ship."""
        changed = self.chance.below(len(orders))
        (new,) = self._drawn([orders[changed][0]])
        return (*orders[:changed], new, *orders[changed + 1 :])


def _mixture(regrets: Sequence[int]) -> list[int]:
    """Shares by regret, of 65,536."""
    total = sum(regrets)
    if not total:
        return [_SHARES // len(regrets)] * len(regrets)
    return [regret * _SHARES // total for regret in regrets]


def _heaviest(orders: Sequence[Orders], weights: Sequence[int]) -> list[tuple[Orders, int]]:
    order = sorted(range(len(orders)), key=lambda number: (-weights[number], number))[:AGAINST]
    return [(orders[number], weights[number]) for number in order if weights[number]]


def _valued(state: State, seat: int) -> int:
    """The value of a position: ships above all; then nearness, with others before our guns, not us before theirs."""
    scores = state.scores
    own = scores[seat - 1]
    worth = _SHIP * own - _SHIP * (sum(scores) - own) // (len(scores) - 1)
    if state.result:
        winners = state.result.winners
        return worth + (0 if len(winners) != 1 else 2 * _SHIP if seat in winners else -2 * _SHIP)
    board = state.options.board
    rows = board.rows
    mine = [ship for ship in state.ships if ship.seat == seat]
    others = [ship for ship in state.ships if ship.seat != seat]
    theirs = {ship.square for ship in others}
    ours = {ship.square for ship in mine}
    for ship in mine:
        column, row = divmod(ship.square, rows)
        worth -= _NEAR * min(abs(column - other.square // rows) + abs(row - other.square % rows) for other in others)
        if board.ahead[ship.facing][ship.square] in theirs:
            worth += _AIMED
    return worth - _AIMED * sum(board.ahead[ship.facing][ship.square] in ours for ship in others)


assert FACINGS == "NESW"
