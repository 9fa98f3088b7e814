"""A decision, what it stands on and what it writes: tried first, then written in one short transaction.

What takes long (a letter put into words, drawn and sealed) is a `Later`: it is made between the two, when nobody
waits for the store. Other desks may write meanwhile: a decision holds as long as each of its queries would give the
same rows again. Nothing here knows an engine; `Database.decide` does both halves. Implements design.md, "The way of a
letter".
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    Parameters = Sequence[object] | Mapping[str, object]
    Values = tuple[Any, ...]  # of a row; each has the type that its table gives the column

__all__ = ["Answer", "Later", "Read", "Script", "Write", "made", "meanwhile", "puts_off"]

T = TypeVar("T")
U = TypeVar("U")

_TABLE = re.compile(r"(?:INTO|UPDATE) (\w+)")
_WORD = re.compile(r"\w+")


class Later(Generic[T]):
    """A value to be written that takes time to make; `meanwhile` is what the decision itself finds in its place."""

    def __init__(self, make: Callable[[], T], meanwhile: T) -> None:
        self.meanwhile = meanwhile
        self._make = make
        self._made: list[T] = []

    def made(self) -> T:
        """The value, made once."""
        if not self._made:
            self._made.append(self._make())
        return self._made[0]

    def then(self, make: Callable[[T], U], meanwhile: U) -> Later[U]:
        """What is made of the value in its turn."""
        return Later(lambda: make(self.made()), meanwhile)


class Answer:
    """The rows that a query gave, one after the other, as a cursor gives them."""

    def __init__(self, rows: Sequence[Values], description: Sequence[Values]) -> None:
        self.rowcount = -1
        self.description = description
        self._rows = iter(rows)

    def __iter__(self) -> Iterator[Values]:
        return self._rows

    def fetchone(self) -> Values | None:
        """The next row, or None after the last."""
        return next(self._rows, None)

    def fetchall(self) -> list[Values]:
        """The rows that are left."""
        return list(self._rows)


class Read(NamedTuple):
    """One query, and the rows that it gave when the decision was tried."""

    sql: str
    parameters: Parameters
    rows: list[Values]


class Write(NamedTuple):
    """One statement, and what it did when it was tried: how many rows it changed, and which number it gave."""

    sql: str
    parameters: Parameters
    puts_off: bool
    """Whether anything in it takes time to make."""
    rows: int
    new: int | None = None


@dataclass(slots=True)
class Script:
    """What a decision asked and wrote, in order, and what else it stands on."""

    steps: list[Read | Write] = field(default_factory=list)
    stands_on: list[Callable[[], bool]] = field(default_factory=list)
    """What others may change meanwhile and no query shows: each says whether it holds still."""

    _unmade: set[str] = field(default_factory=set)
    """The tables in which values stand that are not made yet."""

    def wrote(self, write: Write) -> None:
        """Note a statement that was run."""
        self.steps.append(write)
        if write.puts_off and (table := _TABLE.search(write.sql)):
            self._unmade.add(table[1])

    def asked(self, read: Read) -> None:
        """Note a query that was run; not one that may have found what stands for a value that is not made yet."""
        if not self._unmade or self._unmade.isdisjoint(_WORD.findall(read.sql)):
            self.steps.append(read)

    def make(self) -> None:
        """Make all that was put off."""
        for step in self.steps:
            if isinstance(step, Write) and step.puts_off:
                made(step.parameters)

    @property
    def puts_off(self) -> bool:
        """Whether anything takes time to make."""
        return any(isinstance(step, Write) and step.puts_off for step in self.steps)


def puts_off(parameters: Parameters) -> bool:
    """Whether any value of a statement takes time to make; none that names its values puts one off."""
    return any(isinstance(value, Later) for value in parameters)


def made(parameters: Parameters) -> Parameters:
    """The values of a statement that puts some off, as they are written."""
    return [value.made() if isinstance(value, Later) else value for value in parameters]


def meanwhile(parameters: Parameters) -> Parameters:
    """The values of such a statement as it is tried."""
    return [value.meanwhile if isinstance(value, Later) else value for value in parameters]
