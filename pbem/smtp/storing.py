"""The storing of letters, the replies to it, and 250 among them: after a letter is stored, and never before.

A letter is handed on as envelope and bytes to an `Accept`, which stores it. Nothing is read or decided here.
Implements reliability.md, promises 1 and 2.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

import structlog

from pbem.store.errors import BusyError, FullError
from pbem.store.inbox import Envelope

if TYPE_CHECKING:
    from pbem.failpoints import Failpoints
    from pbem.smtp.trouble import Trouble

Accept = Callable[[Envelope, bytes], Awaitable[None]]
"""Stores one letter; returns when it is on disk, and raises when it is not.

In the daemon, `keep_or_refuse` (`Daemon._intake` in `pbem/server/daemon.py`): `Daemon._keep`, then `Inbox.put_all`.
"""

log = structlog.get_logger()


class Refusal(Exception):
    """Raised by `accept` to answer a letter with a 4xx or 5xx reply of its own; nothing was stored."""

    def __init__(self, reply: str) -> None:
        super().__init__(reply)
        self.reply = reply


class Storing:
    """The letters that are being stored."""

    def __init__(self, accept: Accept, trouble: Trouble, points: Failpoints) -> None:
        self._accept = accept
        self._trouble = trouble
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
        storing.add_done_callback(self._at_work.discard)
        try:
            await asyncio.shield(storing)
            self._points("letter stored")
        except Refusal as refusal:
            return refusal.reply
        except BusyError:
            return self._trouble.reply("451 4.3.0 busy, come again", None)
        except FullError as error:
            return self._trouble.reply("452 4.3.1 no room, come again", error)  # RFC 3463 3.4: mail system full
        except Exception as error:
            return self._trouble.reply("451 4.3.0 local trouble, come again", error)
        log.debug("letter stored", octets=len(raw), recipients=len(envelope.recipients))
        return "250 2.0.0 stored"

    async def finish(self) -> None:
        """Wait for the letters that are being stored."""
        if self._at_work:
            await asyncio.wait(self._at_work)
