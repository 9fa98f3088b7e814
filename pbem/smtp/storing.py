"""The storing of letters, and the replies to it: 250 after a letter is stored, and never before; in groups.

A letter is handed on as envelope and bytes to an `Accept`, which stores it. Those that come while others are being
written are written together next (`GroupCommit`). Implements reliability.md, promises 1 and 2.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Generic, TypeVar

import structlog

from pbem.smtp.rounds import is_set_within
from pbem.store.errors import BusyError, FullError
from pbem.store.inbox import Envelope

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pbem.failpoints import Failpoints

Accept = Callable[[Envelope, bytes], Awaitable[None]]
"""Stores one letter; returns when it is on disk, and raises when it is not.

In the daemon, `keep_or_refuse` (`Daemon._intake` in `pbem/server/daemon.py`): `Daemon._keep`, then `Inbox.put_all`.
"""

MOMENT = 0.002
"""Seconds that the first of a group waits for others; an fsync takes about as long."""

log = structlog.get_logger()
Item = TypeVar("Item")
Result = TypeVar("Result")


class Refusal(Exception):
    """Raised by `accept` to answer a letter with a 4xx or 5xx reply of its own; nothing was stored."""

    def __init__(self, reply: str) -> None:
        super().__init__(reply)
        self.reply = reply


class Storing:
    """The letters that are being stored; `reference` makes a new reference for a fault of ours."""

    def __init__(self, accept: Accept, reference: Callable[[], str], points: Failpoints) -> None:
        self._accept = accept
        self._reference = reference
        self._points = points
        self._at_work: set[asyncio.Future[None]] = set()

    async def store(self, envelope: Envelope, raw: bytes) -> str:
        """Store a letter and return the reply.

        A client that hangs up cancels its session, never the storing: the letter is stored whole, and the
        client's retry is recognised.
        """
        self._points("message read")
        storing = asyncio.ensure_future(self._accept(envelope, raw))
        self._at_work.add(storing)
        storing.add_done_callback(self._stored)
        try:
            await asyncio.shield(storing)
            self._points("letter stored")
        except Refusal as refusal:
            return refusal.reply
        except BusyError:
            return self.trouble("451 4.3.0 busy, come again", None)
        except FullError as error:
            return self.trouble("452 4.3.1 no room, come again", error)  # RFC 3463 3.4: mail system full
        except Exception as error:
            return self.trouble("451 4.3.0 local trouble, come again", error)
        log.debug("letter stored", octets=len(raw), recipients=len(envelope.recipients))
        return "250 2.0.0 stored"

    def trouble(self, reply: str, error: BaseException | None) -> str:
        """Log our own fault under a new reference, and return a 4xx reply that names only that reference."""
        reference = self._reference()
        log.error("intake trouble", reference=reference, reply=reply[:3], exc_info=error)
        return f"{reply} (reference {reference})"

    def _stored(self, storing: asyncio.Future[None]) -> None:
        self._at_work.discard(storing)
        if not storing.cancelled():
            storing.exception()  # a client that hung up does not ask for it, nor does the shield (Python 3.11)

    async def finish(self) -> None:
        """Wait for the letters that are being stored."""
        if self._at_work:
            await asyncio.wait(self._at_work)


@dataclass(eq=False)
class GroupCommit(Generic[Item, Result]):
    """Carries out items in batches of `most`; `carry_out` returns their outcomes in order, or raises for all of them.

    An outcome that is an exception is raised in its waiting caller. `more` says whether others are about to come.
    """

    carry_out: Callable[[list[Item]], Awaitable[Sequence[Result | Exception]]]
    most: int
    more: Callable[[], bool]
    _enough: asyncio.Event = field(default_factory=asyncio.Event, init=False)
    _waiting: list[tuple[Item, asyncio.Future[Result]]] = field(default_factory=list, init=False)
    _work: asyncio.Task[None] | None = field(default=None, init=False)

    def __call__(self, item: Item) -> asyncio.Future[Result]:
        """Carry out an item, together with others; the future is done when the item is."""
        done: asyncio.Future[Result] = asyncio.get_running_loop().create_future()
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
