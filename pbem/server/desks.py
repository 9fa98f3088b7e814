"""The desks of a server, as one: they share its inbox, and a new letter wakes one that rests.

No desk leads: each looks at letters and at the clock; if two decide the same thing at once, one of them decides
again. Each works at a place of its own (`desk_place`). Implements design.md, "The way of a letter".
"""

from __future__ import annotations

import asyncio
import os
import time
from dataclasses import replace
from typing import TYPE_CHECKING

from pbem.server.desk_place import Told

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from pbem.server.desk_opening import Supplies
    from pbem.server.desk_place import DeskPlace, OpenPlace
    from pbem.store.write_turn import WriteTurn

__all__ = ["MOST", "Desks", "usual"]

MOST = 4
"""How many desks there are at the most where nobody says how many: each takes room in memory, and all one disk."""

STRETCH = 0.1
MANY = 25
"""So many letters in so many seconds are a flood: who brings them waits for the intake, and nobody for the desk."""


def usual() -> int:
    """As many desks as this process has cores, and no more than `MOST`."""
    return min(len(os.sched_getaffinity(0)), MOST)


class Desks:
    """Several desks, each at its own place."""

    def __init__(
        self,
        number: int,
        open_place: OpenPlace,
        supplies: Supplies,
        worked: Callable[[], None],
        died: Callable[[str], Awaitable[object]],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._clock = clock
        self._since = 0.0
        self._came = 0
        """How many letters came since then."""
        self._more = False
        """Whether something came while nobody rested."""
        told = Told(worked, self._rests, self.wake, died)
        self._places: list[DeskPlace] = [
            open_place(replace(supplies, share=(one, number)), told) for one in range(number)
        ]

    @property
    def deaths(self) -> int:
        """How many of their processes ended without being told to."""
        return sum(place.deaths for place in self._places)

    async def open(self, turn: WriteTurn, lock: Sequence[int]) -> None:
        """Open them over an existing store; raises what `DeskPlace.open` raises."""
        for place in self._places:
            await place.open(turn, lock)

    async def work(self) -> None:
        """Handle letters until `stop`, and return when what was in hand is done."""
        await asyncio.gather(*(place.work() for place in self._places))

    def wake(self) -> None:
        """Let a desk look at inbox and clock: one that rests, or else the next one to rest."""
        resting = next((place for place in self._places if place.resting), None)
        self._more = resting is None
        if resting is not None:
            resting.wake()

    def came(self, letters: int) -> None:
        """Letters came in: let a desk look, and make all desks rest more than they work while many come."""
        now = self._clock()
        if now - self._since > STRETCH:
            self._since, self._came = now, 0
        self._came += letters
        if self._came >= MANY:
            self._since, self._came = now, 0
            for place in self._places:
                place.ease()
        self.wake()

    def stop(self) -> None:
        """Begin no further letter."""
        for place in self._places:
            place.stop()

    async def close(self) -> None:
        """Leave nothing running."""
        for place in self._places:
            await place.close()

    def _rests(self) -> None:
        if self._more:
            self.wake()
