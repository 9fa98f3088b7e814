"""Asks witnesses by HTTP: posts what the desk wants cosigned, and keeps the answers for the desk.

Here lives the task that makes requests, each by `http_post`. The desk decides what an answer means. The store is not
locked during a request. Implements docs/witnesses.md, "Witnesses by HTTP", and C2SP tlog-witness, add-checkpoint, as
a log speaks it.
"""

from __future__ import annotations

import http.client
import ssl
from datetime import timedelta
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import structlog

from pbem.server.http_post import SILENCE, Unreachable, post
from pbem.smtp.rounds import Asking

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from pbem.smtp.delivery import Means
    from pbem.store.witness_requests import WitnessRequest, WitnessRequests

if TYPE_CHECKING:
    Post = Callable[[str, bytes], Awaitable[tuple[int, bytes]]]
    """Posts a body to a URL, and returns the status and the answer's body. Raises `Unreachable`."""

MOST = 16 * 1024  # octets of an answer: sixteen signatures, as long as any, have less
FIRST_RETRY, LONGEST_RETRY = timedelta(minutes=1), timedelta(hours=1)
LEASE = timedelta(minutes=2)  # seconds until another process repeats the requests of one that died
_LATER = frozenset({408, 425, 429})

log = structlog.get_logger()


async def posted(url: str, body: bytes) -> tuple[int, bytes]:
    """A request over this machine's network, without redirections and without proxies from the environment."""
    place = urlsplit(url)
    connection = (
        http.client.HTTPSConnection(place.netloc, timeout=SILENCE, context=ssl.create_default_context())
        if place.scheme == "https"
        else http.client.HTTPConnection(place.netloc, timeout=SILENCE)
    )
    return await post(connection, f"{place.path.rstrip('/')}/add-checkpoint", body, MOST)


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
                raise Unreachable(f"HTTP {status}")
        except Unreachable as error:
            log.warning("witness out of reach", witness=asked.witness, tries=asked.tries, trouble=str(error))
            wait = min(FIRST_RETRY * 2 ** min(asked.tries - 1, 6), LONGEST_RETRY)
            await self._means.run(self._requests.postpone, asked, self._means.now() + wait)
            return
        await self._means.run(self._requests.settle, asked, status, _plain(content))
        self._means.settled()


def _plain(content: bytes) -> str:
    """An answer as text, without control characters other than line ends: a stranger wrote it."""
    return "".join(char for char in content.decode("utf-8", "replace") if char.isprintable() or char == "\n")
