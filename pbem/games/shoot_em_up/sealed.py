"""Shoot 'em up Spaceships without a referee: setups and orders are committed to, and then opened to all.

The board is open, so nobody has to answer for anything, and nothing is left to be revealed. Here live the public
table and the owner's side. Implements docs/sealed.md; rulings 5-8 of Shoot 'em up Spaceships.

Setups are opened in turn 0, in any order. From then on all seats but the last commit to their orders; the last opens
its own, and then the others do. The seat that opens last knows the outcome, and commits to the next turn in the same
letter.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from pbem.games import ShownReports
from pbem.games.sealed import COMMIT, Own, Paper, SealedGame
from pbem.games.shoot_em_up import RULES, action, knowledge
from pbem.games.shoot_em_up.action import State
from pbem.games.shoot_em_up.board import Options
from pbem.games.shoot_em_up.notation import Orders, Setup
from pbem.grown import Grown

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from pbem.games import Result
    from pbem.games.sealed import Falsehood, SealedStep
    from pbem.games.shoot_em_up.knowledge import View


_WORDS: Final = {"setup": 3, "open": 2}
"""The number of words in a line of a step: `A c1 N`, `A: FMS`."""


class Table(NamedTuple):
    """The public facts of a sealed game of Shoot 'em up Spaceships."""

    options: Options
    setups: Mapping[int, Setup]
    """The opened ones by seat."""
    state: State | None = None
    """The position, once all setups are opened."""
    committed: frozenset[int] = frozenset()
    opened: Mapping[int, Orders] = {}
    """Both of the turn that is due."""
    played: Grown[ShownReports] = Grown()

    @property
    def position(self) -> State:
        """The position as far as it is known."""
        ships = tuple(ship for _, setup in sorted(self.setups.items()) for ship in setup.ships)
        return self.state or State(self.options, 0, ships)

    @property
    def turn(self) -> int:
        """The turn that is due, 0 while setups are opened."""
        return self.position.turn

    @property
    def due(self) -> dict[int, None]:
        """The seats that owe a step."""
        return {seat: None for seat in self.remaining if _owed(self, seat)}

    @property
    def remaining(self) -> tuple[int, ...]:
        """The seats still in the game."""
        return self.state.remaining if self.state else tuple(range(1, self.options.seats + 1))

    @property
    def scores(self) -> tuple[int, ...]:
        """Each seat's ships left."""
        return self.position.scores

    @property
    def result(self) -> Result | None:
        """The result of the game, which is public."""
        return self.state.result if self.state else None


def _owed(table: Table, seat: int) -> tuple[str, ...]:
    if table.result or seat not in table.remaining:
        return ()
    *commit, opens = table.remaining
    done: Mapping[int, object] = table.opened if table.state else table.setups
    if seat in done:
        return ()
    if not table.state:
        step = "setup"
    elif not table.committed.issuperset(commit):
        return (COMMIT,) if seat != opens and seat not in table.committed else ()
    elif seat != opens and opens not in done:
        return ()
    else:
        step = "open"
    last = done.keys() >= set(table.remaining) - {seat}
    return (step, COMMIT) if last and seat != opens else (step,)


def _finished(table: Table) -> Table:
    """The same table or, if no step of this turn is missing, that of the next turn."""
    if table.state is None:
        if len(table.setups) < table.options.seats:
            return table
        setups = [table.setups[seat] for seat in sorted(table.setups)]
        return table._replace(state=action.begin(table.options, setups))
    if not table.opened.keys() >= set(table.remaining):
        return table
    state, reports = action.resolve(table.state, table.opened)
    return table._replace(
        state=state, committed=frozenset(), opened={}, played=table.played.and_(ShownReports(reports))
    )


OwnSide = Own[State, Orders]


def _read(table: Table, seat: int, step: str, text: str) -> Setup | Orders:
    """The setup or orders that a step opens; raises `Refused`."""
    if step == "setup":
        return RULES.setup(table.options, seat, text)
    return RULES.order(table.position, seat, text)


class SealedShootEmUp(SealedGame[Options, Table, State, Orders]):
    """The rules of Shoot 'em up Spaceships as played sealed; stateless."""

    game = RULES
    papers: Mapping[str, Paper] = {
        "setup": Paper("setup", ("rules", "salt")),
        "open": Paper("orders", ("setup", "salt")),
    }
    reveals = False

    owed = staticmethod(_owed)

    def begin(self, options: Options) -> Table:
        """The table before any setup is opened: turn 0."""
        return Table(options, {})

    def judge(self, table: Table, seat: int, step: str, text: str) -> tuple[str, ...]:
        """The canonical lines of a step; raises `Refused` with all faults, as a referee finds them."""
        if step == COMMIT:
            return ()
        words, each = text.split(), _WORDS[step]  # however mail broke the lines
        lines = (" ".join(words[place : place + each]) for place in range(0, len(words), each))
        return tuple(_read(table, seat, step, "\n".join(lines)).text.split("\n"))

    def enter(self, table: Table, seat: int, step: str, lines: Iterable[str]) -> Table:
        """The table after a step; total on judged lines."""
        if step == COMMIT:
            return table._replace(committed=table.committed | {seat})
        read = _read(table, seat, step, "\n".join(lines))
        if isinstance(read, Setup):
            return _finished(table._replace(setups={**table.setups, seat: read}))
        return _finished(table._replace(opened={**table.opened, seat: read}))

    def view(self, table: Table, seat: int | None) -> View:
        """The view of everybody; for a seat also which of its ships need orders."""
        return knowledge.view(table.position, seat, table.played)

    def own(self, options: Options, seat: int, setup: str, orders: Mapping[int, str], table: Table) -> OwnSide:
        """The player's setup and orders; raises `Refused`."""
        own: OwnSide = Own(seat, RULES.setup(options, seat, setup), table.position)
        return own if table.result else self.ordered(own, orders)

    def lines(self, own: OwnSide, _table: Table, step: str) -> tuple[str, ...]:
        """The lines of a step; raises `Refused` if orders are missing."""
        if step == COMMIT:
            return ()
        if step == "setup":
            return tuple(own.setup.text.split("\n"))
        return tuple(own.orders("8").text.split("\n"))

    def own_view(self, own: OwnSide, table: Table) -> View:
        """Everything that this player knows, which is what everybody knows."""
        return self.view(table, own.seat)

    def first_false(
        self, options: Options, seat: int, setup: str, orders: Mapping[int, str], steps: Iterable[SealedStep]
    ) -> Falsehood | None:
        """None: what is opened was committed to, and nothing else is told."""


SEALED: Final = SealedShootEmUp()
