"""The rules of the games, slow and literal, from `templates/<game>/rules.txt` and sections 7.2, 8 and 11.3."""

from __future__ import annotations

import importlib
import re
from abc import ABC, abstractmethod
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from types import ModuleType

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
    winners: tuple[int, ...]
    scores: tuple[int, ...]
    reason: str = "rules"


def best(scores: Sequence[int]) -> Result:
    """The highest score wins; several of them share."""
    return Result(tuple(seat for seat, score in enumerate(scores, 1) if score == max(scores)), tuple(scores))


class Position(ABC):
    """A game at the start of a turn, or over; `play` resolves a turn in place."""

    turn = 1
    pace = Fraction(1)
    """The fraction of the agreed pace for the turn that is due."""
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
    pace = Fraction(1)
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


GAMES = ("spaceships", "dueling-masters", "shoot-em-up")


def rules(game: str) -> ModuleType:
    """The module of a game, with what it accepts as options, setups and orders."""
    return importlib.import_module(f"verifier.rules.{game.replace('-', '_')}")


def first_false(
    game: ModuleType, options: Options, seat: int, setup: str, orders: Mapping[int, str], steps: Sequence[Step]
) -> Falsehood | None:
    """The first step of the seat that does not follow from its secrets and the other's visible steps (11.4)."""
    table = game.Table(options)
    try:
        owner = game.Owner(table, seat, game.setup(options, seat, setup))
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


# 8.5 Conditional orders: their form, and the branch that counts.

KEYWORDS = {"if", "then", "else", "and", "or", "not"}


class Word(NamedTuple):
    said: str
    start: int
    end: int


def words_of(text: str) -> list[Word]:
    """The words of a text without comments; keywords in small letters."""
    words = [Word(found[0], *found.span()) for found in re.finditer(r"[^\s,;]+", text)]
    return [word._replace(said=word.said.lower()) if word.said.lower() in KEYWORDS else word for word in words]


def bare(text: str) -> str:
    return re.sub(r"#[^\n\r]*", " ", text)


def is_conditional(text: str) -> bool:
    return [word.said for word in words_of(bare(text))[:1]] == ["if"]


def split(words: Sequence[Word], at: str) -> list[list[Word]]:
    parts: list[list[Word]] = [[]]
    for word in words:
        if word.said == at:
            parts.append([])
        else:
            parts[-1].append(word)
    return parts


def until(words: list[Word], end: str) -> list[Word]:
    """The words before the next one that is `end`, which are taken."""
    at = next((at for at, word in enumerate(words) if word.said == end), len(words))
    taken, words[:] = words[:at], words[at:]
    return taken


def are_plain(words: Sequence[Word]) -> bool:
    return bool(words) and not any(word.said in KEYWORDS for word in words)


def branches_of(text: str, ruling: int, holds: Callable[[Sequence[str]], bool]) -> list[tuple[bool, str]]:
    """The orders of each branch, and whether its condition holds."""
    text = bare(text)
    rest, branches, atoms = words_of(text), list[tuple[bool, str]](), 0
    while rest:
        last = rest[0].said != "if"
        fits = last
        if not last:
            condition = until(rest, "then")[1:]
            demand(rest, ruling, "no `then`")
            del rest[0]
            for joint in split(condition, "or"):
                whole = True
                for one in split(joint, "and"):
                    negated = bool(one) and one[0].said == "not"
                    atom = one[1:] if negated else one
                    demand(are_plain(atom), ruling, "no atom")
                    whole &= holds([word.said for word in atom]) != negated
                    atoms += 1
                fits |= whole
        orders = until(rest, "else")
        demand(are_plain(orders), ruling, "no orders")
        demand(not rest or (len(rest) > 1 and not last), ruling, "no branch behind `else`")
        branches.append((fits, text[orders[0].start : orders[-1].end]))
        del rest[:1]
    demand(atoms <= 16 and len(branches) <= 8, ruling, "too many")
    return branches


def chosen(text: str, ruling: int, holds: Callable[[Sequence[str]], bool]) -> tuple[int, str]:
    """The number and the orders of the branch that counts; the ruling after this one is about having none."""
    branches = branches_of(text, ruling, holds)
    number = next((at for at, (counts, _) in enumerate(branches, 1) if counts), 0)
    if not number:
        raise Refused(ruling + 1, "no condition holds")
    return number, branches[number - 1][1]


class Conditional(Position):
    """A position of a game that has conditional orders."""

    RULING: ClassVar[int]
    """The ruling on the form of conditions; the next one is on the branch that counts."""

    @abstractmethod
    def plain(self, seat: int, text: str) -> str:
        """Orders without conditions in their canonical form."""

    @abstractmethod
    def holds(self, seat: int, atom: Sequence[str]) -> bool: ...

    def counting(self, seat: int, text: str) -> tuple[int, str]:
        found = chosen(text, self.RULING, lambda atom: self.holds(seat, atom))
        demand(self.told is not None, self.RULING + 1, "no conditions here")
        return found

    def branches(self, seat: int, text: str) -> list[str]:
        if not is_conditional(text):
            return [text]
        return [orders for _, orders in branches_of(text, self.RULING, lambda atom: self.holds(seat, atom))]

    def branch(self, seat: int, text: str) -> int:
        return self.counting(seat, text)[0] if is_conditional(text) else 0

    def order(self, seat: int, text: str) -> str:
        if not is_conditional(text):
            return self.plain(seat, text)
        _, orders = self.counting(seat, text)
        try:
            return self.plain(seat, orders)
        except Refused as refused:
            raise Refused(self.RULING + 1, "the branch that counts is not legal") from refused
