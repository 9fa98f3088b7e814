"""A task that asks others whatever is due, in rounds, and keeps their answers.

Here lives what all askers share: when they ask again, what wakes them, how they stop. Each asker decides what to ask,
and what an answer means. Calls to the store go through `run`, because they may wait for the disk; time is
handed in.
"""

from __future__ import annotations

import asyncio
import contextlib
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

import structlog

from pbem.smtp.delivery import TROUBLE_WAIT
from pbem.store.errors import StoreError

if TYPE_CHECKING:
    from collections.abc import Coroutine, Iterable
    from datetime import datetime

    from pbem.smtp.delivery import Means

__all__ = ["Asking"]

log = structlog.get_logger()


class Asking(ABC):
    """Asks whatever is due until it is stopped; `wake` is set when there is more."""

    def __init__(self, means: Means) -> None:
        self._now = means.now
        self._run = means.run
        self._settled = means.settled
        self._longest_wait = means.longest_wait
        self._stopping = False
        self._asking: asyncio.Future[list[None]] | None = None
        self.wake = asyncio.Event()

    def stop(self) -> None:
        """Begin to stop; questions under way are asked again after the next start."""
        self._stopping = True
        self.wake.set()
        if self._asking is not None:
            self._asking.cancel()

    async def work(self) -> None:
        """Ask until stopped."""
        while not self._stopping:
            self.wake.clear()
            wait = TROUBLE_WAIT
            try:
                wait = await self._round()
            except StoreError as error:
                log.error("store out of reach", trouble=type(error).__name__)
            if wait and not self._stopping:
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(self.wake.wait(), wait)

    @abstractmethod
    async def _round(self) -> float:
        """Ask whatever is due; returns the seconds until there may be more."""

    async def _ask_all(self, questions: Iterable[Coroutine[None, None, None]]) -> None:
        """Ask all at once, and wait for the answers, unless this task is stopping."""
        self._asking = asyncio.gather(*questions)
        try:
            await self._asking
        except asyncio.CancelledError:
            if not self._stopping:
                raise

    def _until(self, following: datetime | None) -> float:
        """Seconds until the next question is due, if there is one."""
        if following is None:
            return self._longest_wait
        return min(max((following - self._now()).total_seconds(), 0.05), self._longest_wait)
