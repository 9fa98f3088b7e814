"""Asks drand for the signatures that the lots of tournaments wait for, checks them, and keeps them for the desk.

A signature that does not hold is none: with it, `pbem verify` would convict this server. The check takes seconds of
the processor, in a thread, and the store is not locked meanwhile. Implements docs/bundle.md, 12.5, and drand's HTTP
interface (`/HASH/public/ROUND`).
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Annotated

import msgspec
import structlog

from pbem.server.http_call import Unreachable, fetched
from pbem.server.own_thread import begun
from pbem.server.witness_asker import pause
from pbem.smtp.rounds import Asking
from pbem.tournament import lot

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from pbem.smtp.delivery import Means
    from pbem.store.beacons import AwaitedBeacon, Beacons

    Fetch = Callable[[str], Awaitable[tuple[int, bytes]]]
    """Returns the status and the body at a URL. Raises `Unreachable`."""

LEASE = timedelta(minutes=5)  # until another process asks again for what one that died had asked

log = structlog.get_logger()


class _Round(msgspec.Struct, frozen=True):
    """An answer of drand's, as far as it matters here."""

    round: int
    signature: Annotated[str, msgspec.Meta(pattern=r"\A[0-9a-f]{96}\Z")]


class BeaconAsker(Asking["AwaitedBeacon"]):
    """The task that asks the beacon at `url` for rounds that are out, keeps them, and wakes the desk."""

    def __init__(self, beacons: Beacons, url: str, means: Means, fetch: Fetch = fetched) -> None:
        super().__init__(means)
        self._beacons = beacons
        self._url = url.rstrip("/")
        self._fetch = fetch

    async def _round(self) -> float:
        following, now = await self._means.run(self._beacons.next_due), self._means.now()
        if following is not None and following <= now:
            for awaited in await self._means.run(self._beacons.due, now, now + LEASE):
                self._begin(awaited)
            following = await self._means.run(self._beacons.next_due)
        return self._until(following)

    async def _ask(self, asked: AwaitedBeacon) -> None:
        try:
            signature = await self._signature(asked.round)
        except Unreachable as error:
            log.warning("beacon out of reach", tournament=f"t{asked.tournament}", trouble=str(error))
            await self._means.run(self._beacons.postpone, asked, self._means.now() + pause(asked.tries))
            return
        await self._means.run(self._beacons.settle, asked, signature, self._means.now())
        self._means.settled()

    async def _signature(self, round_: int) -> str:
        """The signature of a round, checked; raises `Unreachable`."""
        status, content = await self._fetch(f"{self._url}/{lot.NETWORK}/public/{round_}")
        if status != 200:
            raise Unreachable(f"HTTP {status}")
        try:
            found = msgspec.json.decode(content, type=_Round)
        except (ValueError, RecursionError) as error:
            raise Unreachable("the answer is no round of drand's") from error
        beacon = {"round": round_, "key": lot.QUICKNET}
        if found.round != round_ or not await begun("beacon", lambda: lot.holds(beacon, found.signature)):
            raise Unreachable("the signature does not hold")
        return found.signature
