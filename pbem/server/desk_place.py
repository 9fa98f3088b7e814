"""The place where a desk works, as the daemon sees it: in a process of its own, or in a thread.

`desk_process` and `desk_thread` have such places, and `desks` those of a server.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from pbem.server.desk_opening import Supplies
    from pbem.store.write_turn import WriteTurn

__all__ = ["DeskPlace", "OpenPlace", "Resting", "Told"]


class DeskPlace(Protocol):
    """Where a desk works, as the daemon sees it."""

    deaths: int
    """How many of its processes ended that were not asked to."""

    @property
    def resting(self) -> bool:
        """Whether it found nothing to do when it last looked, and did not begin or was woken since."""

    async def open(self, turn: WriteTurn, lock: Sequence[int]) -> None:
        """Open the desk over an existing store, with the files that hold the store's lock.

        Raises `DeskError`, `StoreError`, `KeyFileError`, `BadDkimKey` and `ReaderError`.
        """

    async def work(self) -> None:
        """Handle letters until `stop`, and return when those in hand are done."""

    def wake(self) -> None:
        """Let the desk look at its inbox and its clock now."""

    def ease(self) -> None:
        """Let the desk use little of the processor for a moment, because letters pour in."""

    def stop(self) -> None:
        """Begin no further letter."""

    async def close(self) -> None:
        """Leave nothing running."""


@dataclass(frozen=True)
class Told:
    """The listeners to which the place of a desk reports."""

    worked: Callable[[], None]
    """It wrote something: there may be letters to send."""
    rests: Callable[[], None]
    """It found nothing more to do."""
    overlooked: Callable[[], None]
    """It had begun by itself when it was woken: until it looks again, somebody else should."""
    died: Callable[[str], Awaitable[object]]
    """The owner of what it had in hand is no more; another begins after this."""


class Resting:
    """Whether a desk rests, by what it was told and what it says, in whatever order the two meet."""

    def __init__(self, told: Told) -> None:
        self._told = told
        self._rests = False
        self._waking = False
        """Whether it was woken, and has not said so."""

    def __bool__(self) -> bool:
        return self._rests

    def wake(self) -> None:
        """It is being woken."""
        self._rests, self._waking = False, True

    def begins(self, *, woken: bool) -> None:
        """It says that it begins to look, because it was woken or by itself."""
        self._rests = False
        if woken:
            self._waking = False
        elif self._waking:
            self._told.overlooked()

    def rests(self) -> None:
        """It says that it found nothing more to do; what it was woken for may have come only then."""
        if not self._waking:
            self._rests = True
            self._told.rests()

    def ends(self) -> None:
        """It is no more."""
        self._rests = self._waking = False


class OpenPlace(Protocol):
    """Makes the place of a desk."""

    def __call__(self, supplies: Supplies, told: Told) -> DeskPlace:
        """A place in which the desk is not open yet."""
