"""A desk in a thread of the daemon's own process, if a test wants no other process."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from functools import partial
from typing import TYPE_CHECKING

from pbem.server.desk_opening import opened
from pbem.server.desk_place import Resting

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pbem.server.desk_opening import Supplies
    from pbem.server.desk_place import Told
    from pbem.server.desk_work import Work
    from pbem.store.write_turn import WriteTurn

__all__ = ["OwnThread"]


class OwnThread:
    """A desk in this process."""

    deaths = 0

    @property
    def resting(self) -> bool:
        """Whether it found nothing to do when it last looked, and did not begin or was woken since."""
        return bool(self._resting)

    def __init__(self, supplies: Supplies, told: Told) -> None:
        self._resting = Resting(told)
        self._supplies = supplies
        self._told = told
        self._thread = ThreadPoolExecutor(1, "desk")
        self._stack = ExitStack()
        self._work: Work | None = None

    async def open(self, turn: WriteTurn, _lock: Sequence[int]) -> None:
        """Open the desk in its thread."""
        loop = asyncio.get_running_loop()

        def worked() -> None:
            loop.call_soon_threadsafe(self._told.worked)

        def rests() -> None:
            loop.call_soon_threadsafe(self._resting.rests)

        def begins(woken: bool) -> None:
            loop.call_soon_threadsafe(partial(self._resting.begins, woken=woken))

        made = opened(self._supplies, turn, worked, rests, begins)
        self._work = await loop.run_in_executor(self._thread, self._stack.enter_context, made)

    async def work(self) -> None:
        """Handle letters until `stop`."""
        assert self._work is not None
        await asyncio.get_running_loop().run_in_executor(self._thread, self._work)

    def wake(self) -> None:
        """Let the desk look at its inbox and its clock now."""
        if self._work is not None:
            self._resting.wake()
            self._work.wake()

    def ease(self) -> None:
        """Let the desk take little of the processor for a moment."""
        if self._work is not None:
            self._work.ease()

    def stop(self) -> None:
        """Begin no further letter."""
        if self._work is not None:
            self._work.stop()

    async def close(self) -> None:
        """End the thread."""
        self._thread.shutdown()
        self._stack.close()
