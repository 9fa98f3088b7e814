"""The rules of the games, slow and literal, from `templates/<game>/rules.txt` and sections 7.2, 8 and 11.3."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

Report = dict[str, Any]
Options = dict[str, Any]
"""The options of a game that differ from the default, in the order of the record (7.2)."""


class Refused(Exception):
    """A text that the rules refuse, by the ruling of its first fault."""

    def __init__(self, ruling: int, reason: str) -> None:
        super().__init__(f"ruling {ruling}: {reason}")
        self.ruling = str(ruling)


def demand(condition: object, ruling: int, reason: str) -> None:
    if not condition:
        raise Refused(ruling, reason)


class Result(NamedTuple):
    winner: int
    scores: tuple[int, ...]
    reason: str = "rules"


def best(scores: Sequence[int]) -> Result:
    """The highest score wins; several of them draw."""
    winner = scores.index(max(scores)) + 1 if list(scores).count(max(scores)) == 1 else 0
    return Result(winner, tuple(scores))


class Position(ABC):
    """A game at the start of a turn, or over; `play` resolves a turn in place."""

    turn = 1
    result: Result | None = None
    told: list[list[Report]] | None = None
    """The reports on which conditions rest, by turn; None in a sealed game."""

    @property
    @abstractmethod
    def scores(self) -> tuple[int, ...]: ...

    @property
    @abstractmethod
    def due(self) -> dict[int, str | None]:
        """The seats that order in this turn, and the forced text of those without a choice."""

    @property
    def remaining(self) -> list[int]:
        return [1, 2]

    def leaves(self, _seat: int) -> bool:
        """A seat resigns; whether the others play on without it."""
        return False

    @abstractmethod
    def order(self, seat: int, text: str) -> str:
        """The orders in their canonical form."""

    @abstractmethod
    def store(self, seat: int, turn: int, text: str, /) -> None:
        """Refuse orders that no position would accept, 0: in any turn (6.4)."""

    def branch(self, _seat: int, _text: str) -> int:
        """The number of the branch that counts in legal conditional orders, or 0."""
        return 0

    @abstractmethod
    def play(self, orders: Mapping[int, str]) -> list[Report]:
        """The turn of these orders: its reports."""


class Step(NamedTuple):
    """A step that was told (11.3)."""

    turn: int
    seat: int
    step: str
    lines: tuple[str, ...]


class Falsehood(NamedTuple):
    turn: int
    step: str
    ruling: str


class Paper(NamedTuple):
    """The paper of a step: its name, its heads, and the steps that its head `to` may answer (11.1)."""

    name: str
    heads: tuple[str, ...]
    to: tuple[str, ...] = ()

    @property
    def told(self) -> list[str]:
        """The heads that a letter gives: not those that everybody knows."""
        return [head for head in self.heads if head not in {"rules", "setup"}]


class Table(ABC):
    """A sealed game, as far as it was told; `enter` changes it in place."""

    papers: ClassVar[Mapping[str, Paper]]
    reveals = True
    turn = 1
    result: Result | None = None
    remaining: Sequence[int] = (1, 2)

    def __init__(self, options: Options) -> None:
        self.options = options
        self.played: list[list[Report]] = []

    @property
    @abstractmethod
    def scores(self) -> tuple[int, ...]: ...

    @property
    @abstractmethod
    def due(self) -> dict[int, str]:
        """The seats that owe a step, and which is their first."""

    @abstractmethod
    def judge(self, seat: int, step: str, text: str) -> tuple[str, ...]:
        """The lines of a step that is due: formed, ordered, and no contradiction to what was told."""

    @abstractmethod
    def enter(self, seat: int, step: str, lines: Sequence[str]) -> None: ...


class Owner(ABC):
    """One seat of a sealed game with its secrets, beside the table as it was told."""

    table: Table

    @abstractmethod
    def lines(self, step: str, orders: str) -> tuple[str, ...]:
        """The answers that the seat must give now."""

    @abstractmethod
    def follow(self, seat: int, step: str) -> None:
        """The table has entered this step."""

    @abstractmethod
    def ruling(self, step: str, right: Sequence[str], told: Sequence[str]) -> int:
        """The ruling that the first differing line breaks (11.4)."""


class Rules(Protocol):
    """A module of this package."""

    EDITIONS: range
    SEATS: range

    def options(self, given: Mapping[str, Any], seats: int, /) -> Options: ...
    def carry(self, options: Options, scores: Sequence[int], /) -> Options: ...
    def setup(self, options: Options, seat: int, text: str, /) -> str: ...
    def begin(self, options: Options, setups: Sequence[str], /) -> Position: ...
    def table(self, options: Options, /) -> Table: ...
    def owner(self, table: Table, seat: int, setup: str, /) -> Owner: ...


def rules(game: str) -> Rules:
    from verifier.rules import dueling_masters, shoot_em_up, spaceships  # noqa: PLC0415 - they import this module

    found: dict[str, Rules] = {
        "spaceships": spaceships,
        "dueling-masters": dueling_masters,
        "shoot-em-up": shoot_em_up,
    }
    return found[game]


GAMES = ("spaceships", "dueling-masters", "shoot-em-up")


def first_false(
    game: Rules, options: Options, seat: int, setup: str, orders: Mapping[int, str], steps: Sequence[Step]
) -> Falsehood | None:
    """The first step of the seat that does not follow from its secrets and the other's visible steps (11.4)."""
    table = game.table(options)
    try:
        owner = game.owner(table, seat, game.setup(options, seat, setup))
    except Refused as refused:
        return Falsehood(0, "setup", refused.ruling)
    for turn, by, step, lines in steps:
        if by == seat and step != "commit":
            try:
                right = owner.lines(step, orders.get(turn, ""))
            except Refused as refused:
                return Falsehood(turn, step, refused.ruling)
            if right != lines:
                return Falsehood(turn, step, str(owner.ruling(step, right, lines)))
        table.enter(by, step, lines)
        owner.follow(by, step)
    return None


def first_difference(right: Sequence[str], told: Sequence[str]) -> tuple[str, str]:
    longest = max(len(right), len(told))
    pairs = zip([*right, *[""] * (longest - len(right))], [*told, *[""] * (longest - len(told))], strict=True)
    return next(pair for pair in pairs if pair[0] != pair[1])


def settled(position: Position, orders: Mapping[int, Mapping[int, str]]) -> list[dict[int, str]]:
    """Play a revealed game again, by seat the orders of each turn: what was ordered in the turns that counted.

    After two turns in which nobody had a choice, nothing changes any more, and it is played on without orders.
    """
    played: list[dict[int, str]] = []
    forced = 0
    while position.result is None:
        due = position.due
        asked = [seat for seat, text in due.items() if text is None]
        if forced < 2 and not all(position.turn in orders[seat] for seat in due):
            break
        if forced >= 2 and asked:
            break
        forced = 0 if asked else forced + 1
        texts = {seat: position.order(seat, orders[seat].get(position.turn, "")) for seat in due}
        position.play(texts)
        played.append(texts)
    return played
