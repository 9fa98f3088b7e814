"""Games for two in which each player has a side of their own, with secrets: their position."""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, NamedTuple, Protocol, Self, TypeVar

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pbem.games import Orders, Report, Result


class _Side(Protocol):
    @property
    def score(self) -> int:
        """The score of the player whose side it is."""


TheAgreed = TypeVar("TheAgreed")
TheSide = TypeVar("TheSide", bound=_Side)


class TwoSides(NamedTuple, Generic[TheAgreed, TheSide]):
    """A position at the start of the turn that is due; both seats order in every turn."""

    options: TheAgreed
    turn: int
    sides: tuple[TheSide, TheSide]
    result: Result | None = None
    told: tuple[tuple[Report, ...], ...] | None = None
    """The reports on which conditions of orders rest, by turn; None where they are not known."""

    @property
    def due(self) -> Mapping[int, Orders | None]:
        """Both seats."""
        return {} if self.result else {1: None, 2: None}

    @property
    def remaining(self) -> tuple[int, int]:
        """Both seats: the game is over when one has nothing left."""
        return 1, 2

    @property
    def scores(self) -> tuple[int, int]:
        """The scores of seats 1 and 2."""
        return self.sides[0].score, self.sides[1].score

    def with_side(self, seat: int, side: TheSide) -> Self:
        """The same position with another side of this seat."""
        return self._replace(sides=(side, self.sides[1]) if seat == 1 else (self.sides[0], side))
