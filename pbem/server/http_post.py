"""A single HTTP request that posts something, with its limits of time and size.

It follows no redirection and uses no proxy of the environment. Whom to ask, and what an answer means, is decided
elsewhere.
"""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import socket
from typing import TYPE_CHECKING

from pbem.server.own_thread import begun

if TYPE_CHECKING:
    from collections.abc import Mapping

SILENCE = 10.0  # seconds without an octet
PATIENCE = 30.0  # seconds for one request and the whole answer
_HEADERS = {"Content-Type": "text/plain; charset=utf-8", "User-Agent": "pbem", "Connection": "close"}


class Unreachable(Exception):
    """Nobody answered; a later attempt may succeed."""


class _Call:
    """One request, in a thread of its own; `cut` ends it from another thread."""

    def __init__(
        self, connection: http.client.HTTPConnection, path: str, body: bytes, most: int, headers: Mapping[str, str]
    ) -> None:
        self._connection = connection
        self._path = path
        self._body = body
        self._most = most
        self._headers = {**_HEADERS, **headers}
        self._over = False
        self._socket: socket.socket | None = None

    def __call__(self) -> tuple[int, bytes]:
        connection = self._connection
        try:
            connection.connect()
            self._socket = connection.sock
            if self._over:
                raise Unreachable("no connection in time")
            connection.request("POST", self._path, self._body, self._headers)
            with connection.getresponse() as response:
                content = b""
                while len(content) <= self._most and (some := response.read1(self._most)):
                    content += some
                if len(content) > self._most:
                    raise Unreachable("the answer is too long")
                return response.status, content
        except (OSError, http.client.HTTPException, ValueError) as error:
            raise Unreachable(f"{type(error).__name__}: {error}") from error
        finally:
            connection.close()

    def cut(self) -> None:
        """Stop waiting for the other side."""
        self._over = True
        if self._socket is not None:
            with contextlib.suppress(OSError):
                socket.socket.shutdown(self._socket, socket.SHUT_RDWR)  # below TLS, which would wait


async def post(
    connection: http.client.HTTPConnection,
    path: str,
    body: bytes,
    most: int,
    headers: Mapping[str, str] | None = None,
) -> tuple[int, bytes]:
    """Post a body, and return the status and up to `most` octets of answer; raises `Unreachable`."""
    call = _Call(connection, path, body, most, headers or {})
    try:
        return await asyncio.wait_for(begun("post", call), PATIENCE)
    except TimeoutError:
        raise Unreachable("no answer in time") from None
    finally:
        call.cut()
