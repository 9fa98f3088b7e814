"""Admission of connections, counted by their clients: who is let in, who makes room, and who is answered 421.

Sessions are seen from outside here: who they are, how long they have been silent, and how they are ended. Implements
reliability.md, "Limits", and case 33.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import TYPE_CHECKING, Protocol, cast

import structlog

from pbem.connections import Connection, least_important

if TYPE_CHECKING:
    from collections.abc import Callable

    from pbem.config.limits import Limits

LOG_EVERY = 10.0  # seconds between lines in the log about connections that are too many

TOO_MANY = "421 4.7.0 too many connections"
OTHERS_WAIT = "421 4.7.0 others wait, come again"

log = structlog.get_logger()


class Counted(Connection, Protocol):
    """A session, as it is counted and ended."""

    address: str
    ended: asyncio.Future[None]
    """Done when it is over."""

    def make_room(self) -> None:
        """End at once, because others wait."""

    def dismiss(self, reply: str) -> None:
        """End, with this reply."""


class Admission:
    """The sessions of one server, and how many each client may have."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self.sessions: set[Counted] = set()
        self.per_address: Counter[str] = Counter()
        self.writing: set[Counted] = set()
        """The sessions with a letter that has begun and is not all here: others may wait a moment for theirs."""
        self._turned_away = 0
        self._log_again = 0.0

    def admits(self, address: str) -> bool:
        """True if there is room for one more connection from there; a silent one may be closed for it."""
        # A client on a Unix socket is our own mail server, and has no address.
        if address and self.per_address[address] >= self._limits.connections_per_address:
            return False
        if len(self.sessions) < self._limits.connections:
            return True
        # The least important connection makes room, if there is one.
        least = least_important(self.sessions, self._limits.connections, self._limits.connections_per_address)
        if least is None:
            return False
        self.turned_away("connection ended: others wait", least.address)
        self.sessions.discard(least)
        least.make_room()
        return True

    def enter(self, session: Counted) -> None:
        """Count a session that begins."""
        self.sessions.add(session)
        self.per_address[session.address] += 1

    def leave(self, session: Counted) -> None:
        """Count a session no more."""
        self.sessions.discard(session)
        self.writing.discard(session)
        self.per_address[session.address] -= 1
        if not self.per_address[session.address]:
            del self.per_address[session.address]

    def turned_away(self, event: str, address: str) -> None:
        """Log that connections are too many, or misused: only now and then, because there may be many more."""
        self._turned_away += 1
        now = asyncio.get_running_loop().time()
        if now >= self._log_again:
            log.warning(event, peer=address, count=self._turned_away)
            self._turned_away, self._log_again = 0, now + LOG_EVERY

    async def dismiss_all(self, reply: str) -> None:
        """End all sessions, and wait until they are over."""
        for session in list(self.sessions):
            session.dismiss(reply)
        await asyncio.gather(*(session.ended for session in self.sessions))


class AdmissionProtocol(asyncio.Protocol):
    """Lets a connection in, or turns it away cheaply: a session is costly to make; `begin` makes it."""

    def __init__(self, admission: Admission, begin: Callable[[str, asyncio.Transport], None]) -> None:
        self._admission = admission
        self._begin = begin

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Let a new connection in, or say 421."""
        transport = cast("asyncio.Transport", transport)
        peer = transport.get_extra_info("peername")
        address = str(peer[0]) if isinstance(peer, tuple) else ""
        if self._admission.admits(address):
            self._begin(address, transport)
            return
        self._admission.turned_away("connection refused: too many", address)
        transport.write(TOO_MANY.encode("ascii") + b"\r\n")
        transport.close()
