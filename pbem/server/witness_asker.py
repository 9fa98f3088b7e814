"""Asks witnesses by HTTP: posts what the desk wants cosigned, and keeps the answers for the desk.

Here live a single request, with its limits of time and size, and the task that makes requests. The desk decides what
an answer means. The store is not locked during a request. Implements docs/witnesses.md, "Witnesses by
HTTP", and C2SP tlog-witness, add-checkpoint, as a log speaks it.
"""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import socket
import ssl
from datetime import timedelta
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import structlog

from pbem.server.own_thread import begun
from pbem.smtp.rounds import Asking

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from pbem.smtp.delivery import Means
    from pbem.store.witness_requests import WitnessRequest, WitnessRequests

if TYPE_CHECKING:
    Post = Callable[[str, bytes], Awaitable[tuple[int, bytes]]]
    """Posts a body to a URL, and returns the status and the answer's body. Raises `WitnessUnreachable`."""

SILENCE = 10.0  # seconds without an octet
PATIENCE = 30.0  # seconds for one request and the whole answer
MOST = 16 * 1024  # octets of an answer: sixteen signatures, as long as any, have less
FIRST_RETRY, LONGEST_RETRY = timedelta(minutes=1), timedelta(hours=1)
LEASE = timedelta(minutes=2)  # seconds until another process repeats the requests of one that died
_LATER = frozenset({408, 425, 429})

log = structlog.get_logger()


class WitnessUnreachable(Exception):
    """No witness answered; a later attempt may succeed."""


class _Call:
    """One request, in a thread of its own; `cut` ends it from another thread."""

    def __init__(self, url: str, body: bytes) -> None:
        place = urlsplit(url)
        self._path = f"{place.path.rstrip('/')}/add-checkpoint"
        self._body = body
        self._over = False
        self._socket: socket.socket | None = None
        self._connection = (
            http.client.HTTPSConnection(place.netloc, timeout=SILENCE, context=ssl.create_default_context())
            if place.scheme == "https"
            else http.client.HTTPConnection(place.netloc, timeout=SILENCE)
        )

    def __call__(self) -> tuple[int, bytes]:
        connection = self._connection
        try:
            connection.connect()
            self._socket = connection.sock
            if self._over:
                raise WitnessUnreachable("no connection in time")
            headers = {"Content-Type": "text/plain; charset=utf-8", "User-Agent": "pbem", "Connection": "close"}
            connection.request("POST", self._path, self._body, headers)
            with connection.getresponse() as response:
                content = b""
                while len(content) <= MOST and (some := response.read1(MOST)):
                    content += some
                if len(content) > MOST:
                    raise WitnessUnreachable("the answer is too long")
                return response.status, content
        except (OSError, http.client.HTTPException, ValueError) as error:
            raise WitnessUnreachable(f"{type(error).__name__}: {error}") from error
        finally:
            connection.close()

    def cut(self) -> None:
        """Stop waiting for the other side."""
        self._over = True
        if self._socket is not None:
            with contextlib.suppress(OSError):
                socket.socket.shutdown(self._socket, socket.SHUT_RDWR)  # below TLS, which would wait


async def posted(url: str, body: bytes) -> tuple[int, bytes]:
    """A request over this machine's network, without redirections and without proxies from the environment."""
    call = _Call(url, body)
    try:
        return await asyncio.wait_for(begun("witness", call), PATIENCE)
    except TimeoutError:
        raise WitnessUnreachable("no answer in time") from None
    finally:
        call.cut()


class WitnessAsker(Asking["WitnessRequest"]):
    """The task that asks what is due, keeps the answers, and wakes the desk; `urls` has the witnesses' by name."""

    def __init__(self, requests: WitnessRequests, urls: Mapping[str, str], means: Means, post: Post = posted) -> None:
        super().__init__(means)
        self._requests = requests
        self._urls = urls
        self._post = post

    async def _round(self) -> float:
        following, now = await self._means.run(self._requests.next_due), self._means.now()
        if following is not None and following <= now:
            for request in await self._means.run(self._requests.due, now, now + LEASE):
                self._begin(request)
            following = await self._means.run(self._requests.next_due)
        return self._until(following)

    async def _ask(self, asked: WitnessRequest) -> None:
        url = self._urls.get(asked.witness)
        if url is None:  # no witness of ours any more
            await self._means.run(self._requests.settle, asked, 0, "")
            return
        try:
            status, content = await self._post(url, asked.request.encode())
            if status >= 500 or status in _LATER or not (status == 200 or status >= 400):
                raise WitnessUnreachable(f"HTTP {status}")
        except WitnessUnreachable as error:
            log.warning("witness out of reach", witness=asked.witness, tries=asked.tries, trouble=str(error))
            wait = min(FIRST_RETRY * 2 ** min(asked.tries - 1, 6), LONGEST_RETRY)
            await self._means.run(self._requests.postpone, asked, self._means.now() + wait)
            return
        await self._means.run(self._requests.settle, asked, status, _plain(content))
        self._means.settled()


def _plain(content: bytes) -> str:
    """An answer as text, without control characters other than line ends: a stranger wrote it."""
    return "".join(char for char in content.decode("utf-8", "replace") if char.isprintable() or char == "\n")
