"""The place where the desk works, as the daemon sees it: a process of its own, see `desk_process`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pbem.server.desk_opening import Supplies

    OpenPlace = Callable[[Supplies, Callable[[], None]], "DeskPlace"]
    """Makes a place in which the desk is not open yet; the second is called after the desk wrote something."""


class DeskPlace(Protocol):
    """The place of the desk, as the daemon sees it."""

    deaths: int
    """The number of its processes that ended without being asked to."""

    async def open(self, lock: Sequence[int]) -> None:
        """Open the desk over an existing store, with the files that hold the store's lock.

        Raises `DeskError`, `StoreError`, `KeyFileError`, `BadDkimKey` and `ReaderError`.
        """

    async def work(self) -> None:
        """Handle letters until `stop`, and return when the leased ones are done."""

    def wake(self) -> None:
        """Let the desk look at its inbox and its clock now."""

    def ease(self) -> None:
        """Let the desk use little of the processor for a moment, because letters pour in."""

    def stop(self) -> None:
        """Begin no further letter."""

    async def close(self) -> None:
        """Leave nothing running."""
