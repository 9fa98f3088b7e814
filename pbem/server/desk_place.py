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

__all__ = ["DeskPlace", "OpenPlace", "Told"]


class DeskPlace(Protocol):
    """Where a desk works, as the daemon sees it."""

    deaths: int
    """How many of its processes ended that were not asked to."""

    resting: bool
    """Whether it found nothing to do when it last looked, and was not woken since."""

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
    died: Callable[[str], Awaitable[object]]
    """The owner of what it had in hand is no more; another begins after this."""


class OpenPlace(Protocol):
    """Makes the place of a desk."""

    def __call__(self, supplies: Supplies, told: Told) -> DeskPlace:
        """A place in which the desk is not open yet."""
