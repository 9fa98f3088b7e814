"""A task that asks others whatever is due, in rounds, and keeps their answers.

Here lives what all askers share: the questions under way, when they ask again, what wakes them, how they stop.
Each asker decides what to ask, and what an answer means. Calls to the store go through `run`, because they may wait
for the disk; time is handed in.
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Generic, TypeVar

import structlog

from pbem.smtp.delivery import TROUBLE_WAIT
from pbem.smtp.waiting import is_set_within
from pbem.store.errors import StoreError

if TYPE_CHECKING:
    from datetime import datetime

    from pbem.smtp.delivery import Means

log = structlog.get_logger()

Question = TypeVar("Question")


class Asking(ABC, Generic[Question]):
    """Asks whatever is due until it is stopped; `wake` is set when there is more.

    A question that nobody answers keeps no other waiting: the end of each wakes us, and makes room for another.
    """

    def __init__(self, means: Means) -> None:
        self._means = means
        self._stopping = False
        self._under_way: dict[asyncio.Task[None], Question] = {}
        self.wake = asyncio.Event()

    def stop(self) -> None:
        """Begin to stop; questions under way are asked again after the next start."""
        self._stopping = True
        self.wake.set()

    async def work(self) -> None:
        """Ask until stopped."""
        while not self._stopping:
            self.wake.clear()
            wait = TROUBLE_WAIT
            try:
                wait = await self._round()
            except StoreError as error:
                log.error("store out of reach", trouble=type(error).__name__)
            await is_set_within(self.wake, wait)
        for task in self._under_way:
            task.cancel()
        await asyncio.gather(*self._under_way, return_exceptions=True)

    @abstractmethod
    async def _round(self) -> float:
        """Begin the questions that are due; returns the seconds until there may be more."""

    @abstractmethod
    async def _ask(self, question: Question) -> None:
        """Ask a question, and keep the answer."""

    def _begin(self, question: Question) -> None:
        task = asyncio.create_task(self._settle(question))
        self._under_way[task] = question
        task.add_done_callback(self._ended)

    async def _settle(self, question: Question) -> None:
        try:
            await self._ask(question)
        except StoreError as error:
            log.error("store out of reach", trouble=type(error).__name__)
            await asyncio.sleep(TROUBLE_WAIT)

    def _ended(self, task: asyncio.Task[None]) -> None:
        del self._under_way[task]
        self.wake.set()

    def _until(self, following: datetime | None) -> float:
        """Seconds until the next question is due, if there is one."""
        if following is None:
            return self._means.longest_wait
        return min(max((following - self._means.now()).total_seconds(), 0.05), self._means.longest_wait)
