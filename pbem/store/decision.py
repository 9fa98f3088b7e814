"""A decision and what it writes: tried first, then written in one short transaction.

What takes long (a letter put into words, drawn and sealed) is a `Later`: it is made between the two, when nobody
waits for the store. Nothing here knows SQLite; `Database.decide` does both halves. Implements design.md, "The way of
a letter".
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Generic, NamedTuple, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    Parameters = Sequence[object] | Mapping[str, object]

__all__ = ["Later", "Script", "Write", "made", "meanwhile", "puts_off"]

T = TypeVar("T")
U = TypeVar("U")


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
    """What a decision writes, in order, and what else it stands on."""

    writes: list[Write] = field(default_factory=list)
    stands_on: list[tuple[Callable[[], object], object]] = field(default_factory=list)
    """What others may change meanwhile: how it is looked up, and what was found."""

    def make(self) -> None:
        """Make all that was put off."""
        for write in self.writes:
            if write.puts_off:
                made(write.parameters)

    @property
    def puts_off(self) -> bool:
        """Whether anything takes time to make."""
        return any(write.puts_off for write in self.writes)


def puts_off(parameters: Parameters) -> bool:
    """Whether any value of a statement takes time to make; none that names its values puts one off."""
    return any(isinstance(value, Later) for value in parameters)


def made(parameters: Parameters) -> Parameters:
    """The values of a statement that puts some off, as they are written."""
    return [value.made() if isinstance(value, Later) else value for value in parameters]


def meanwhile(parameters: Parameters) -> Parameters:
    """The values of such a statement as it is tried."""
    return [value.meanwhile if isinstance(value, Later) else value for value in parameters]
