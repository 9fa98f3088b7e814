"""Calls that share a commit: those that come while others are being written wait, and are written together next.

One fsync then serves many letters, and each caller still gets its answer only when its letter is on disk. If more
calls are about to come, those that are here wait a moment for them. No store and no mail in here. Implements
reliability.md, promise 1, at little cost.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Generic, TypeVar

from pbem.smtp.waiting import is_set_within

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

Item = TypeVar("Item")
Outcome = TypeVar("Outcome")

MOMENT = 0.002
"""Seconds that the first one waits for others; an fsync takes about as long."""


@dataclass(eq=False)
class GroupCommit(Generic[Item, Outcome]):
    """Carries out items in batches of `most`; `carry_out` returns their outcomes in order, or raises for all of them.

    An outcome that is an exception is raised in its waiting caller. `more` says whether others are about to come.
    """

    carry_out: Callable[[list[Item]], Awaitable[Sequence[Outcome | Exception]]]
    most: int
    more: Callable[[], bool]
    _enough: asyncio.Event = field(default_factory=asyncio.Event, init=False)
    _waiting: list[tuple[Item, asyncio.Future[Outcome]]] = field(default_factory=list, init=False)
    _work: asyncio.Task[None] | None = field(default=None, init=False)

    def __call__(self, item: Item) -> asyncio.Future[Outcome]:
        """Carry out an item, together with others; the future is done when the item is."""
        done: asyncio.Future[Outcome] = asyncio.get_running_loop().create_future()
        self._waiting.append((item, done))
        if self._work is None:
            self._work = asyncio.create_task(self._work_off(), name="together")
        elif not self._worth_waiting():
            self._enough.set()
        return done

    def _worth_waiting(self) -> bool:
        return len(self._waiting) < self.most and self.more()

    async def _work_off(self) -> None:
        while self._waiting:
            if self._worth_waiting():
                self._enough.clear()
                await is_set_within(self._enough, MOMENT)
            batch, self._waiting = self._waiting[: self.most], self._waiting[self.most :]
            try:
                outcomes = await self.carry_out([item for item, _ in batch])
            except Exception as error:
                outcomes = [error] * len(batch)
            for (_, done), outcome in zip(batch, outcomes, strict=True):
                if done.cancelled():
                    continue
                if isinstance(outcome, Exception):
                    done.set_exception(outcome)
                else:
                    done.set_result(outcome)
        self._work = None
