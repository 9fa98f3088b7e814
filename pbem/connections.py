"""The choice of the connection to end when all are taken; servers with a thread for each connection.

So nobody keeps others out by coming first, with many addresses, or by sending a little now and then. This module does
not look into connections. Implements reliability.md, "Limits", and case 33.
"""

from __future__ import annotations

import socket
import socketserver
import sys
import threading
import time
from collections import Counter
from contextlib import suppress
from typing import TYPE_CHECKING, Protocol, TypeVar

from pbem.networks import network_of

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    Asked = socket.socket | tuple[bytes, socket.socket]  # as socketserver has it

SHARES = 4  # networks among which connections are divided when all are taken
PATIENCE = 1.0  # seconds of silence after which a connection makes room for another when all are taken
BUSY = 10.0  # seconds without a result after which it does so however much it says


class Connection(Protocol):
    """A connection, as far as it is compared with others."""

    network: str

    @property
    def silent(self) -> float:
        """For how many seconds the client has been silent."""

    @property
    def without_result(self) -> float:
        """For how many seconds it has achieved nothing: since it began, or since the last thing that it came for."""

    @property
    def may_be_ended(self) -> bool:
        """Return whether the client would lose only time, and is not one of ours."""


_Any = TypeVar("_Any", bound=Connection)


def least_important(connections: Collection[_Any], most: int, per_address: int = 1) -> _Any | None:
    """The connection that makes room for another when all are taken; None if each is worth more than a new one.

    First of a network that holds more than its share, then of those that have been silent for a while, the
    longest silent one; then the one that has been without a result for longest, if that is long.
    """
    held = Counter(one.network for one in connections)
    share = max(most // SHARES, per_address)
    candidates = [one for one in connections if one.may_be_ended]
    least = min(candidates, key=lambda one: (held[one.network] <= share, -one.silent), default=None)
    if least is None or held[least.network] > share or least.silent > PATIENCE:
        return least
    least = max(candidates, key=lambda one: one.without_result)
    return least if least.without_result > BUSY else None


class _Served:
    """A connection with a thread. It is there for one answer: each moment until then counts as silence."""

    def __init__(self, request: Asked, address: str) -> None:
        self.network = network_of(address)
        self.may_be_ended = True
        self.request = request
        self._began = time.monotonic()

    @property
    def silent(self) -> float:
        return time.monotonic() - self._began

    without_result = silent

    def end(self) -> None:
        """Cut the connection: its thread finds that the client has gone away."""
        if isinstance(self.request, socket.socket):
            with suppress(OSError):  # it ended meanwhile
                self.request.shutdown(socket.SHUT_RDWR)


class LimitedThreads(socketserver.ThreadingMixIn, socketserver.TCPServer):
    """A server with a thread for each connection; when all are taken, one makes room for another, if any may."""

    daemon_threads = True
    request_queue_size = 64  # beyond it a client comes again after a second
    at_once = 16
    longest = 30.0  # seconds for a whole connection

    def __init__(self, place: tuple[str, int], handler: Callable[..., socketserver.BaseRequestHandler]) -> None:
        self._served: dict[Asked, _Served] = {}
        self._count = threading.Lock()
        super().__init__(place, handler)

    def process_request(self, request: Asked, client_address: object) -> None:
        """Serve a connection if there is room for one more."""
        assert isinstance(client_address, tuple)
        if self._admits(request, str(client_address[0])):
            super().process_request(request, client_address)
        else:
            self.shutdown_request(request)

    def _admits(self, request: Asked, address: str) -> bool:
        with self._count:
            if len(self._served) >= self.at_once:
                least = least_important(self._served.values(), self.at_once)
                if least is None:
                    return False
                self._end(least)
            self._served[request] = _Served(request, address)
        return True

    def _end(self, served: _Served) -> None:
        del self._served[served.request]
        served.end()

    def keep(self, request: Asked) -> None:
        """Let a connection make room for none any more: its request is here, and the answer waits for no client."""
        with self._count:
            if served := self._served.get(request):
                served.may_be_ended = False

    def service_actions(self) -> None:
        """End connections that take too long; `serve_forever` calls this again and again."""
        with self._count:
            for served in list(self._served.values()):
                if served.silent > self.longest:
                    self._end(served)

    def handle_error(self, request: Asked, client_address: object) -> None:
        """Report what is wrong with us, and not a client that has gone away."""
        if not isinstance(sys.exception(), OSError):
            super().handle_error(request, client_address)

    def shutdown_request(self, request: Asked) -> None:
        """Close a connection, and count it no more."""
        with self._count:
            self._served.pop(request, None)
        super().shutdown_request(request)
