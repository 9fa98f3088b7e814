"""The sealed interface: what a game needs in order to be played without a referee who knows secrets, and its look-up.

Owners keep setup and orders to themselves and answer for their own side. Here live the `SealedGame` protocol and what
the games have in common in which owners answer: the `Table` of public facts that they work on, `Paper`,
`SealedStep` and `Falsehood`. What each step says is in the game's module `sealed`. There are no hashes, letters or
clocks here: text in, new table out. Implements docs/sealed.md.
"""

from __future__ import annotations

from itertools import zip_longest
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, Protocol, TypeVar, cast

from pbem.games import Fault, Game, Options, Orders, Refused, Setup, State, TheState, part_of, parts
from pbem.games.two_sides import TwoSides
from pbem.phrase import Phrase

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from pbem.games import Report, Result, Rules, ShownReports
    from pbem.grown import Grown


COMMIT = "commit"
"""The step that has no lines: it is the hash of the paper that the same seat's next step of this turn brings."""


class Paper(NamedTuple):
    """The name of a step's paper, and its lines between `player` and its block."""

    name: str
    """In its first line, `pbem sealed NAME 1`, at the head of its block, and in a bundle's paths."""
    heads: tuple[str, ...]
    """Some of `rules`, `setup`, `after`, `orders`, `to`, `own` and `salt`, in the paper's order.

    A letter's section has them in the same order before the lines, but for `rules` and `setup`, which all know.
    """
    to: tuple[str, ...] = ()
    """The steps that `to` may cite: it is the other seat's latest paper of this turn among them."""
    empty: bool = False
    """True if it may have no lines: a seat that orders nothing opens nothing and gets no answers."""

    @property
    def values(self) -> tuple[str, ...]:
        """The heads that a letter's section has to give."""
        return tuple(head for head in self.heads if head not in ("rules", "setup"))

    @property
    def ordered(self) -> bool:
        """True if it follows from its turn's orders."""
        return "orders" in {self.name, *self.heads}


class SealedStep(NamedTuple):
    """One step of a sealed game as it was entered."""

    turn: int
    seat: int
    step: str
    lines: tuple[str, ...]
    """Canonical, as `judge` gave them; none for `commit`."""


class Falsehood(NamedTuple):
    """The first step in which a seat told something else than its own setup and orders say."""

    turn: int
    """0 for the setup."""
    step: str
    """The step that was false: `setup`, or a key of `SealedRules.papers`."""
    ruling: str
    """Number of the ruling in the game's rules page that was broken."""


class Settled(NamedTuple):
    """The true end of a game, which only the setups and orders of all seats can show."""

    orders: tuple[Mapping[int, str], ...]
    """The canonical orders by seat of each turn that counts: fewer turns than were played where the rules had ended
    the game unseen, more where nobody could have chosen in those that were left."""
    result: Result | None
    """None where the rules had not ended it."""
    scores: tuple[int, ...]
    """The scores after these turns, in seat order."""


class Table(State, Protocol):
    """The public state of a sealed game: everything that all have been told, and no secret. Immutable.

    As a `State`: `due` has the seats that owe a step, each with None; `turn` is the turn to which the next step
    belongs (0 while setups are opened, if a game does that); `scores` are those that have been told. There is a
    `result` once the game is over by what was told: its winner and scores hold only if `settled` gives the same.
    """

    @property
    def position(self) -> Any:
        """The position in the game's own type, as far as all know it: nothing that is secret is in it."""

    @property
    def played(self) -> Grown[ShownReports]:
        """The reports of each finished turn, merged from the seats' papers: equal to those of `Rules.turn`.

        Everybody knows all of them here, so `Rules.show` has nothing to remove.
        """


TheOrders = TypeVar("TheOrders", bound=Orders)


class Own(NamedTuple, Generic[TheState, TheOrders]):
    """A player's own side at the start of the turn that is due, from the player's secrets."""

    seat: int
    setup: Setup
    state: TheState
    """The position in which only this seat's side is true: what is secret of the others is not in it."""
    given: Mapping[int, TheOrders] = {}
    """The player's orders by turn, those of the turn that is due if they are known."""

    def orders(self, rule: str) -> TheOrders:
        """The orders of the turn that is due; raises `Refused`, naming a ruling, if they are not known."""
        turn = self.state.turn
        if turn not in self.given:
            raise Refused(Fault(rule, None, Phrase("the orders of turn {turn} are missing", turn=turn)))
        return self.given[turn]


Options_contra = TypeVar("Options_contra", bound=Options, contravariant=True)
TheTable = TypeVar("TheTable", bound=Table)
ThePosition = TypeVar("ThePosition", bound=TwoSides[Any, Any])


class SealedGame(Protocol[Options_contra, TheTable, TheState, TheOrders]):
    """The rules of one game as played sealed, stateless, in its own types. Source: docs/sealed.md.

    A match calls `begin`, and then `judge` and `enter` for each step that `owed` names. A player calls
    `own`, `order` and `lines`. When everything is revealed, `first_false` judges one seat and `settled` the game.
    """

    game: Game[Any, Any, TheOrders, TheState]
    """The rules by which setups and orders are judged."""
    papers: Mapping[str, Paper]
    """The paper that a step makes, in the order of a turn; `commit` makes none."""
    reveals: bool
    """True if anything is secret until the end, so that a reveal is asked for when the game is over."""

    def begin(self, options: Options_contra) -> TheTable:
        """The table once every seat has committed to a setup."""

    def owed(self, table: TheTable, seat: int) -> tuple[str, ...]:
        """The steps that a seat owes now, in order, all in one letter; none if it is another seat's turn.

        The first is due in any case. The others are due unless an earlier answer changes that:
        ask again after each that was entered.
        """

    def judge(self, table: TheTable, seat: int, step: str, text: str) -> tuple[str, ...]:
        """The canonical lines of a step's paper, from a text whose line ends mean nothing.

        The step must be the first that the seat owes. Raises `Refused` with all faults: form, cells, and
        contradictions with what was told before. The empty text of `commit` has no lines.
        """

    def enter(self, table: TheTable, seat: int, step: str, lines: Iterable[str]) -> TheTable:
        """The table after a step: total on judged lines. The last step of a turn adds its reports to `played`."""

    def view(self, table: TheTable, seat: int | None) -> Mapping[str, object]:
        """The game's `view` for the public, the same for every reader."""
        del seat
        return parts.view(self.game, table.position, None, table.played)

    def own(
        self, options: Options_contra, seat: int, setup: str, orders: Mapping[int, str], table: TheTable
    ) -> Own[TheState, TheOrders]:
        """The position of the player's own side, from setup and orders by turn (those of the present turn, if known).

        Raises `Refused` for an illegal setup or orders, and if those of a turn that was opened are missing.
        """

    def asks(self, own: Own[TheState, TheOrders], table: TheTable) -> bool:
        """True if the player has to decide on orders for the turn that is due before the next step can be made.

        Not if `own` knows them, if there is no choice, or while only answers are owed.
        """
        return table.turn not in own.given and self.owed(table, own.seat)[:1] in ((COMMIT,), ("open",), ("departs",))

    def order(self, own: Own[TheState, TheOrders], text: str) -> str:
        """The canonical text of orders for the turn that is due; raises `Refused` with all faults."""
        return self.game.order(own.state, own.seat, text).text

    def ordered(self, own: Own[TheState, TheOrders], orders: Mapping[int, str]) -> Own[TheState, TheOrders]:
        """The same with the orders of the turn that is due, if they are known or forced; raises `Refused`."""
        state, seat = own.state, own.seat
        if seat not in state.due:
            return own
        forced = cast("TheOrders | None", state.due[seat])
        judged = self.game.order(state, seat, orders[state.turn]) if state.turn in orders else forced
        return own._replace(given={**own.given, state.turn: judged}) if judged else own

    def lines(self, own: Own[TheState, TheOrders], table: TheTable, step: str) -> tuple[str, ...]:
        """The lines of a step that is owed, as an honest owner writes them; none for `commit`.

        Raises `Refused` if orders of the turn that is due are needed and `own` was not given them.
        """

    def orders(self, own: Own[TheState, TheOrders], turn: int) -> str:
        """The canonical text of the orders of a turn, as its paper has it; raises KeyError if they are unknown."""
        return own.given[turn].text

    def own_view(self, own: Own[TheState, TheOrders], table: TheTable) -> Mapping[str, object]:
        """Everything that this player knows at the start of the turn that is due: the `view` of the refereed game."""

    def recalled(self, own: Own[TheState, TheOrders], table: TheTable) -> TheState:
        """The position as `own_view` shows it, for orders to be judged: a game that is played sealed recalls one."""
        return cast("TheState", parts.recalled(self.game, self.own_view(own, table), own.seat))

    def first_false(
        self, options: Options_contra, seat: int, setup: str, orders: Mapping[int, str], steps: Iterable[SealedStep]
    ) -> Falsehood | None:
        """The first of a seat's steps that contradicts its own setup and orders; None for an honest seat.

        `steps` are those of all seats, as they were entered. Pure; total on judged steps and on any texts.
        """


SealedRules = SealedGame[Options, Table, Any, Any]
"""The sealed rules of any game, whatever its types."""


class Answering(SealedGame[Options_contra, TheTable, ThePosition, TheOrders], Protocol):
    """The rules of a sealed game for two in which owners answer for their own side."""

    def side_after(self, own: Own[ThePosition, TheOrders], reports: list[Report]) -> Any:
        """The player's side after a turn with these reports."""

    def ruling(self, step: SealedStep, honest: tuple[str, ...]) -> str:
        """The ruling that a step broke, of which an honest owner would have written these lines."""

    def own(
        self, options: Options_contra, seat: int, setup: str, orders: Mapping[int, str], table: TheTable
    ) -> Own[ThePosition, TheOrders]:
        """The player's own side at the start of the turn that is due; raises `Refused`."""
        own = self._begun(options, seat, setup)
        for number, reports in enumerate(table.played, start=1):
            last = number == len(table.played)
            own = self._after(self.ordered(own, orders), reports, over=last and table.result is not None)
        return own if table.result else self.ordered(own, orders)

    def own_view(self, own: Own[ThePosition, TheOrders], table: TheTable) -> Mapping[str, object]:
        """Everything that this player knows, as in the refereed game."""
        state = table.position.with_side(own.seat, own.state.sides[own.seat - 1])
        return parts.view(self.game, state, own.seat, table.played)

    def first_false(
        self, options: Options_contra, seat: int, setup: str, orders: Mapping[int, str], steps: Iterable[SealedStep]
    ) -> Falsehood | None:
        """The first step with a paper that an honest owner of these orders would have told differently."""
        table = self.begin(options)
        try:
            own = self._begun(options, seat, setup)
        except Refused as refused:
            return Falsehood(0, "setup", refused.faults[0].rule)
        for step in steps:
            if step.seat == seat and step.step in self.papers:
                try:
                    own = self.ordered(own, orders)
                    honest = self.lines(own, table, step.step)
                except Refused as refused:
                    return Falsehood(step.turn, step.step, refused.faults[0].rule)
                if honest != step.lines:
                    return Falsehood(step.turn, step.step, self.ruling(step, honest))
            played = len(table.played)
            table = self.enter(table, step.seat, step.step, step.lines)
            if len(table.played) > played:
                own = self._after(own, table.played[-1], over=table.result is not None)
        return None

    def _begun(self, options: Options_contra, seat: int, setup: str) -> Own[ThePosition, TheOrders]:
        """The player's own side as the game begins; raises `Refused`."""
        judged = self.game.setup(options, seat, setup)
        side = self.game.begin(options, (judged, judged)).sides[0]
        return Own(seat, judged, self.begin(options).position.with_side(seat, side))

    def _after(
        self, own: Own[ThePosition, TheOrders], reports: list[Report], *, over: bool
    ) -> Own[ThePosition, TheOrders]:
        """The player's own side after a turn with these reports, at the start of the next one."""
        state = own.state.with_side(own.seat, self.side_after(own, reports))
        return own._replace(state=state._replace(turn=state.turn + (not over)))


def misplaced(lines: Sequence[str], wanted: Sequence[str], end: str, is_answer: Callable[[str], bool]) -> list[Fault]:
    """The faults in the form of answers, of which each is to begin with the words wanted, and others with `end`.

    Raises `Refused` where a line is about something else: what follows would be, too.
    """
    faults = []
    for line, what in zip_longest(lines, wanted, fillvalue=None):
        due = Phrase("a line about {what} is due here", what=what or end)
        if line is None:
            faults.append(Fault("sealed", None, due))
        elif not f"{line} ".startswith(f"{what or end} "):
            raise Refused(Fault("sealed", line, due))
        elif not is_answer(line):
            faults.append(Fault("sealed", line, Phrase("this is not a line of an answer")))
    return faults


def sealed_rules(game: str) -> SealedRules | None:
    """The sealed rules of a game by its name, None if it has none; raises KeyError for an unknown game."""
    module = part_of(game, "sealed")
    return cast("SealedRules", module.SEALED) if module else None


def settled(
    rules: Rules, options: Options, setups: Mapping[int, str], orders: Mapping[int, Mapping[int, str]]
) -> Settled:
    """The end of a game of honest seats, from their setups and orders by turn, as a referee would have played it.

    Turns are played as long as all orders due in them are there; after two turns in which nobody could choose, even
    without orders, because nothing changes any more. Raises `Refused` if anything is illegal.
    """
    state = rules.begin(options, [rules.setup(options, seat, setups[seat]) for seat in range(1, options.seats + 1)])
    turns: list[Mapping[int, str]] = []
    forced = 0
    while state.due:
        given = dict(state.due)
        told = all(state.turn in orders[seat] for seat in given)
        if not told and forced < 2:
            break
        forced = forced + 1 if all(given.values()) else 0
        if told:
            given = {seat: rules.order(state, seat, orders[seat][state.turn]) for seat in given}
        judged = {seat: found for seat, found in given.items() if found}
        turns.append({seat: found.text for seat, found in judged.items()})
        state, _ = rules.turn(state, judged)
    return Settled(tuple(turns), state.result, state.scores)
