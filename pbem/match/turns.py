"""The turns of the current game: the latest in memory, earlier ones fetched on demand.

A match that grew in memory has all of its turns; one that comes from the store has the latest, and knows how many
there were. Nothing here knows where the others are kept. Implements design.md, "The rules interface": a state is the
replay of its orders.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain, islice
from operator import eq
from typing import TYPE_CHECKING, Self, overload

from pbem.games import Report, Told

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

__all__ = ["Past", "Played", "Reports", "Turns"]


class Reports(tuple[Report, ...]):
    """The reports of one turn; what each reader may read of them is computed once."""

    shown: dict[int | None, Told]

    def __new__(cls, reports: Iterable[Report]) -> Self:
        """The reports in their order."""
        made = super().__new__(cls, reports)
        made.shown = {}
        return made


@dataclass(frozen=True, slots=True)
class Played:
    """A played turn: the head that letters had printed for it, the orders by seat, and its reports."""

    prev: str
    orders: Mapping[int, str]
    reports: Reports


class Past:
    """The first turns of a game, this many, fetched at once and only once."""

    def __init__(self, count: int, fetch: Callable[[], Sequence[Played]]) -> None:
        self.count = count
        self._fetch = fetch
        self._turns: tuple[Played, ...] | None = None

    @property
    def turns(self) -> tuple[Played, ...]:
        """All of them."""
        if self._turns is None:
            self._turns = tuple(self._fetch()) if self.count else ()
            assert len(self._turns) == self.count, "these are not the turns that were played"
        return self._turns


class Turns(Sequence[Played]):
    """The turns of a game so far, oldest first. Immutable."""

    __slots__ = ("_late", "_past", "at_hand")

    at_hand: int
    """How many of them need not be fetched."""

    def __init__(self, late: Iterable[Played] = (), past: Past | None = None) -> None:
        self._late = list(late)
        self._past = past or Past(0, tuple)
        self.at_hand = len(self._late)

    def and_(self, turn: Played) -> Turns:
        """These turns and one more."""
        made = Turns(past=self._past)
        # Who grew out of these shares their list, or a thousand matches of a thousand turns would fill the memory.
        made._late = self._late if len(self._late) == self.at_hand else self._late[: self.at_hand]
        made._late.append(turn)
        made.at_hand = self.at_hand + 1
        return made

    def __len__(self) -> int:
        return self._past.count + self.at_hand

    @overload
    def __getitem__(self, at: int) -> Played: ...

    @overload
    def __getitem__(self, at: slice) -> tuple[Played, ...]: ...

    def __getitem__(self, at: int | slice) -> Played | tuple[Played, ...]:
        """One turn, counted from 0, or several; earlier turns are fetched only if they are needed."""
        wanted = range(len(self))[at]
        if isinstance(wanted, int):
            return self._one(wanted)
        return tuple(self._one(number) for number in wanted)

    def _one(self, number: int) -> Played:
        late = number - self._past.count
        return self._late[late] if late >= 0 else self._past.turns[number]

    def __iter__(self) -> Iterator[Played]:
        return chain(self._past.turns, islice(self._late, self.at_hand))

    def __reversed__(self) -> Iterator[Played]:
        """The latest first."""
        yield from map(self._late.__getitem__, range(self.at_hand - 1, -1, -1))
        yield from reversed(self._past.turns)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Turns) and len(self) == len(other) and all(map(eq, self, other))

    __hash__ = None  # type: ignore[assignment]  # what was ordered and told is in dictionaries
