"""Asks witnesses by HTTP: posts what the desk wants cosigned, and keeps the answers for the desk.

The desk decides what an answer means. The store is not locked during a request. Implements docs/witnesses.md,
"What is asked", and C2SP tlog-witness, add-checkpoint, as a log speaks it.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import structlog

from pbem.server.http_call import Unreachable, demand_answer
from pbem.smtp.rounds import Asking

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from pbem.smtp.delivery import Means
    from pbem.store.questions import WitnessRequest, WitnessRequests

    Post = Callable[[str, bytes], Awaitable[tuple[int, bytes]]]
    """Posts a body to a URL, and returns the status and the answer's body. Raises `Unreachable`."""

FIRST_RETRY, LONGEST_RETRY = timedelta(minutes=1), timedelta(hours=1)
LEASE = timedelta(minutes=2)  # seconds until another process repeats the requests of one that died

log = structlog.get_logger()


class WitnessAsker(Asking["WitnessRequest"]):
    """The task that asks what is due, keeps the answers, and wakes the desk; `urls` has the witnesses' by name."""

    def __init__(self, requests: WitnessRequests, urls: Mapping[str, str], means: Means, post: Post) -> None:
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
            status, content = await self._post(f"{url.rstrip('/')}/add-checkpoint", asked.request.encode())
            demand_answer(status)
        except Unreachable as error:
            log.warning("witness out of reach", witness=asked.witness, tries=asked.tries, trouble=str(error))
            await self._means.run(self._requests.postpone, asked, self._means.now() + pause(asked.tries))
            return
        await self._means.run(self._requests.settle, asked, status, _plain(content))
        self._means.settled()


def pause(tries: int) -> timedelta:
    """The pause after so many attempts in vain."""
    factor: int = 2 ** min(tries - 1, 6)
    return min(FIRST_RETRY * factor, LONGEST_RETRY)


def _plain(content: bytes) -> str:
    """An answer as text, without control characters other than line ends: a stranger wrote it."""
    return "".join(char for char in content.decode("utf-8", "replace") if char.isprintable() or char == "\n")
