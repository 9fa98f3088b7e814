"""One request by HTTP, as this server makes them of witnesses and topics: with limits of time and size.

Without redirections, and without proxies from the environment. Others decide what to ask, and what an answer means.
"""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import socket
import ssl
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from pbem.server.own_thread import begun

if TYPE_CHECKING:
    from collections.abc import Callable

    Connected = Callable[[str], http.client.HTTPConnection]

SILENCE = 10.0  # seconds without an octet
PATIENCE = 30.0  # seconds for one request and the whole answer
MOST = 16 * 1024  # octets of an answer: sixteen signatures, as long as any, have less
_LATER = frozenset({408, 425, 429})


class Unreachable(Exception):
    """Nobody answered; a later attempt may succeed."""


class _Call:
    """One request, in a thread of its own; `cut` ends it from another thread."""

    def __init__(self, url: str, body: bytes, title: str, connected: Connected) -> None:
        self._path = urlsplit(url).path
        self._body = body
        self._title = title
        self._over = False
        self._socket: socket.socket | None = None
        self._connection = connected(url)

    def __call__(self) -> tuple[int, bytes]:
        connection = self._connection
        try:
            connection.connect()
            self._socket = connection.sock
            if self._over:
                raise Unreachable("no connection in time")
            headers = {"User-Agent": "pbem", "Connection": "close", "Content-Type": "text/plain; charset=utf-8"}
            if self._title:
                headers["Title"] = self._title
            connection.request("POST", self._path, self._body, headers)
            with connection.getresponse() as response:
                content = b""
                while len(content) <= MOST and (some := response.read1(MOST)):
                    content += some
                if len(content) > MOST:
                    raise Unreachable("the answer is too long")
                return response.status, content
        except OSError as error:
            raise Unreachable(f"{type(error).__name__}: {error}") from error
        except (http.client.HTTPException, ValueError) as error:  # whose text is the other side's
            raise Unreachable(type(error).__name__) from error
        finally:
            connection.close()

    def cut(self) -> None:
        """Stop waiting for the other side."""
        self._over = True
        if self._socket is not None:
            with contextlib.suppress(OSError):
                socket.socket.shutdown(self._socket, socket.SHUT_RDWR)  # below TLS, which would wait


def connection_to(url: str) -> http.client.HTTPConnection:
    """A connection to the host of a URL, at whatever address it has."""
    place = urlsplit(url)
    if place.scheme == "https":
        return http.client.HTTPSConnection(place.netloc, timeout=SILENCE, context=ssl.create_default_context())
    return http.client.HTTPConnection(place.netloc, timeout=SILENCE)


async def fetched(url: str, body: bytes, title: str = "", connected: Connected = connection_to) -> tuple[int, bytes]:
    """Status and body of the answer to what is posted. Raises `Unreachable`.

    `connected` makes the connection to a URL, which is not open yet; a `title` is told as a header.
    """
    call = _Call(url, body, title, connected)
    try:
        return await asyncio.wait_for(begun("http", call), PATIENCE)
    except TimeoutError:
        raise Unreachable("no answer in time") from None
    finally:
        call.cut()


def is_passing(status: int) -> bool:
    """True for a status that says to come again."""
    return status >= 500 or status in _LATER


def demand_answer(status: int) -> None:
    """Raise `Unreachable` for a status that says to come again, or nothing about what was asked."""
    if is_passing(status) or not (status == 200 or status >= 400):
        raise Unreachable(f"HTTP {status}")
