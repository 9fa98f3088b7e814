"""The rules interface: what every game offers to the rest of `pbem`, and the register of games.

Here live the `Game` protocol, `Refused` with its `Fault`s, `Result`, and the look-up of a game and its parts by name.
A game is pure: text in, new state and reports out. No clock, no randomness, no files, no mail, no logging, and no
import from another room. What a game can do beside is in `parts`, games of other packages in `outside`. Implements
design.md, "The rules interface", and docs/games.md.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol, TypeVar

from pbem.phrase import Phrase

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

INTERFACE = 1
"""The number of this interface; a game of another package says for which it is written."""

Report = dict[str, Any]
"""The outcome of one step of a turn: a JSON object as record-format.md describes it for the game."""


class Fault(NamedTuple):
    """One fault in what a player wrote: the rule it breaks, the token as written, and a sentence."""

    rule: str
    """Number of the ruling in the game's rules page, such as "12", or the name of an option."""
    token: str | None
    """The offending token or line as the player wrote it; None when something is missing."""
    message: Phrase
    line: int | None = None
    """1-based line of the text in which the token stands."""


class Refused(Exception):
    """A player's text is illegal; carries all faults, in the order in which they were written."""

    def __init__(self, *faults: Fault) -> None:
        super().__init__("; ".join(fault.message for fault in faults))
        self.faults = faults


def refuse(faults: Iterable[Fault]) -> None:
    """Raise `Refused` with these faults, if there are any."""
    if found := tuple(faults):
        raise Refused(*found)


class Result(NamedTuple):
    """The result of a game: the seats that share the win equally, in order (none: nobody won), and all scores."""

    winners: tuple[int, ...]
    scores: tuple[int, ...]
    reason: str = "rules"

    @staticmethod
    def of(scores: tuple[int, ...]) -> Result:
        """The result of these scores: the highest wins, and those who have it share."""
        return Result(tuple(seat for seat, score in enumerate(scores, start=1) if score == max(scores)), scores)

    @property
    def places(self) -> tuple[int, ...]:
        """The place of each seat: winners share the first, the others follow by their scores; all if nobody won."""
        first = self.winners or range(1, len(self.scores) + 1)
        ranks = [(seat in first, 0 if seat in first else score) for seat, score in enumerate(self.scores, start=1)]
        return tuple(1 + sum(other > own for other in ranks) for own in ranks)


def faults(judge: Callable[..., object], *arguments: object) -> tuple[Fault, ...]:
    """The faults that a judge finds; none when what was written is legal."""
    try:
        judge(*arguments)
    except Refused as refused:
        return refused.faults
    return ()


def beyond(most: int, turn: int, rule: str) -> tuple[Fault, ...]:
    """The fault in orders for a turn after the last that a game can have."""
    if turn <= most:
        return ()
    return (Fault(rule, f"turn {turn}", Phrase("the game has at most {max_turns} turns", max_turns=most)),)


class Options(Protocol):
    """The agreed options of one game, defaults filled in."""

    @property
    def seats(self) -> int:
        """Number of seats in the game."""

    @property
    def changed(self) -> Mapping[str, object]:
        """Only the options agreed otherwise than default, canonical, in the record's order: TOML values."""


class Setup(Protocol):
    """One seat's judged setup."""

    @property
    def text(self) -> str:
        """The canonical notation: what is stored and hashed. No final line end."""


class NoSetup(NamedTuple):
    """The setup of each seat in a game without secret setups."""

    text: str = ""

    @classmethod
    def judge(cls, text: str) -> NoSetup:
        """The setup of this text; raises `Refused` if there is any."""
        if text.strip():
            raise Refused(Fault("setup", text.strip(), Phrase("this game has no setups")))
        return cls()


class Orders(Protocol):
    """One seat's judged orders of one turn."""

    @property
    def text(self) -> str:
        """The canonical notation: what is stored and hashed. No final line end."""


class State(Protocol):
    """A position: the result of all orders so far. Immutable."""

    @property
    def options(self) -> Options:
        """The agreed options."""

    @property
    def turn(self) -> int:
        """The 1-based number of the turn that is due (of the last turn played, once the game is over)."""

    @property
    def due(self) -> Mapping[int, Orders | None]:
        """The seats that order in this turn, in seat order: forced orders, or None to ask. Empty when over."""

    @property
    def remaining(self) -> tuple[int, ...]:
        """The seats still in the game, in order: a seat that is out orders nothing more, but still gets reports."""

    @property
    def scores(self) -> tuple[int, ...]:
        """The scores of the position, in seat order."""

    @property
    def result(self) -> Result | None:
        """The result by the rules, or None while the game is not over."""


class ShownReports(list[Report]):
    """The reports of one turn as one reader may read them.

    `memory` is for a game's `view`: the result of this turn and all those before it, so that the next turn's view
    continues from there and need not begin with the first turn again.
    """

    memory: Any = None
    kept: bool = False
    """True if the memory stays, because the turns before this one may be gone."""


TheOptions = TypeVar("TheOptions", bound=Options)
TheSetup = TypeVar("TheSetup", bound=Setup)
Orders_co = TypeVar("Orders_co", bound=Orders, covariant=True)
TheState = TypeVar("TheState", bound=State)


class Game(Protocol[TheOptions, TheSetup, Orders_co, TheState]):
    """The rules of one game, stateless, in its own types: seven methods. Source: design.md, "The rules interface".

    What else a game can do is in optional parts: see `parts`.
    """

    name: str
    title: str
    editions: tuple[int, ...]
    """The editions of the rulings that can be played, oldest first; an edition never changes."""
    seats: tuple[int, ...]
    """The numbers of seats that the game can have."""
    empty_orders: bool
    """True if a seat may always order nothing at all, with an empty text: what is played for a missed turn."""
    secret_setups: bool = True
    """False if a game begins at once: nobody is asked for a setup, and that of each seat is the empty text."""
    chance: bool = False
    """True if turns are played with dice or cards: `turn` gets a `pbem.games.draws.Draws` as its last argument."""
    secret_chance: bool = False
    """True if some of what is drawn, such as a hand of cards, or of the orders of such a turn is not for everybody:
    then nobody else can compute it before the game is revealed. Otherwise whoever knows the orders of a turn, or
    tries a few, can check at once whether what was drawn follows from them."""

    def options(self, raw: Mapping[str, object], seats: int) -> TheOptions:
        """Fill in defaults; raises `Refused` on unknown keys, wrong values or a wrong number of seats."""

    def setup(self, options: TheOptions, seat: int, text: str) -> TheSetup:
        """Parse and judge one setup, alone; raises `Refused` with all faults."""

    def begin(self, options: TheOptions, setups: Sequence[TheSetup]) -> TheState:
        """The position before turn 1, from the setups in seat order."""

    def order(self, state: TheState, seat: int, text: str) -> Orders_co:
        """Parse and judge one seat's orders against the turn's start; raises `Refused` with all faults."""

    turn: Callable[..., tuple[TheState, list[Report]]]
    """Resolve a turn: `turn(self, state, orders)`, or with `chance` `turn(self, state, orders, chance)`, from the
    position and the orders by seat. Total: never raises on judged orders of exactly the seats that are due."""

    def show(self, report: Report, seat: int | None) -> Report | None:
        """The part of a report that this seat (None: the public) may read; None for nothing. Deny by default."""

    def carry(self, options: TheOptions, result: Result) -> TheOptions:
        """The options of the next game of a continued match: the same where nothing is carried over."""
        del result
        return options


Rules = Game[Options, Setup, Orders, State]
"""The rules of any game, whatever its types."""


BUILT_IN: Final[Mapping[str, str]] = {
    "spaceships": "pbem.games.spaceships",
    "dueling-masters": "pbem.games.dueling_masters",
    "shoot-em-up": "pbem.games.shoot_em_up",
}
"""The games of this package: pages know their rules, and a match of them is played by the version that it names."""

GAMES: dict[str, str] = {**BUILT_IN}
"""The games by name and the module that holds each one's `RULES`, with those that were enabled; each module is
imported when first asked for."""


@cache
def rules(game: str) -> Rules:
    """The rules of a game by its name; raises KeyError for an unknown game."""
    found: Rules = import_module(GAMES[game]).RULES
    return found


@cache
def part_of(game: str, part: str) -> Any:
    """An optional part of a game, None if it has none; raises KeyError for an unknown game."""
    return part_in(GAMES[game], part)


def part_in(package: str, part: str) -> Any:
    """The part of this name in a game's package: a module, imported now, or a name in `__init__`; None if neither."""
    module = f"{package}.{part}"
    try:
        return import_module(module)
    except ModuleNotFoundError as missing:
        if missing.name != module:
            raise
    return getattr(import_module(package), part, None)


def titles() -> dict[str, str]:
    """The games by name, with their titles."""
    return {name: rules(name).title for name in GAMES}
