"""The turns of the current game: orders, the head that letters had printed, and what was reported.

Implements design.md, "The rules interface": a state is the replay of its orders.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

import msgspec

from pbem.games import Report, Told

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


class Reports(tuple[Report, ...]):
    """The reports of one turn; what each reader may read of them is computed once."""

    shown: dict[int | None, Told]

    def __new__(cls, reports: Iterable[Report]) -> Self:
        """The reports in their order."""
        made = super().__new__(cls, reports)
        made.shown = {}
        return made


class Played(msgspec.Struct, frozen=True):
    """A played turn: the head that letters had printed for it, the orders by seat, and its reports."""

    prev: str
    orders: Mapping[int, str]
    reports: Reports | None
    """None once a later turn holds what every reader knows: see `Match.folded`."""
    chance: str = ""
    """The seed of what chance dealt in this turn, in a game with dice or cards."""
