"""A desk in a thread of the daemon's own process, where a test wants no other process."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import TYPE_CHECKING

from pbem.server.desk_work import opened

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pbem.server.desk_work import Supplies, Work


class OwnThread:
    """A desk in this process."""

    deaths = 0

    def __init__(self, supplies: Supplies, worked: Callable[[], None]) -> None:
        self._supplies = supplies
        self._worked = worked
        self._thread = ThreadPoolExecutor(1, "desk")
        self._stack = ExitStack()
        self._work: Work | None = None

    async def open(self, _lock: Sequence[int]) -> None:
        loop = asyncio.get_running_loop()

        def worked() -> None:
            loop.call_soon_threadsafe(self._worked)

        made = opened(self._supplies, worked)
        self._work = await loop.run_in_executor(self._thread, self._stack.enter_context, made)

    async def work(self) -> None:
        """Handle letters until `stop`."""
        assert self._work is not None
        await asyncio.get_running_loop().run_in_executor(self._thread, self._work)

    def wake(self) -> None:
        """Let the desk look at its inbox and its clock now."""
        if self._work is not None:
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
        self._thread.shutdown()
        self._stack.close()
