"""The queries to the DNS for which letters wait: TXT records of DKIM keys.

Here live the only kind of query, the judgement of its answers (a record, none, or again later), and the task
that asks. The meaning of a record is judged elsewhere; no letter is read here. Calls to the store go through `run`,
because they may wait for the disk; time is handed in. Implements design.md, "The way of a letter": the desk never
waits on the network.
"""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import TYPE_CHECKING

import dns.asyncresolver
import dns.exception
import dns.name
import dns.resolver
import structlog

from pbem.store.errors import StoreError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from datetime import datetime

    from pbem.smtp.delivery import Run
    from pbem.store.lookups import Lookup, Lookups

__all__ = ["Asker", "Resolve", "Unreachable", "txt"]

if TYPE_CHECKING:
    Resolve = Callable[[str], Awaitable[str]]
    """Gives the TXT record of a name, "" when there is none; raises `Unreachable`."""

TIMEOUT = 10.0  # seconds for one question, the resolver's own second tries included
RETRIES = (timedelta(minutes=1), timedelta(minutes=5), timedelta(minutes=30))  # what is waited before each next try
AT_ONCE = 20  # questions under way
LONGEST_WAIT = 60.0  # seconds; how long a step of the system clock can go unnoticed
TROUBLE_WAIT = 5.0  # seconds before the store is asked again after it had trouble

log = structlog.get_logger()


class Unreachable(Exception):
    """No server could be asked just now; it may work later."""


def txt(resolver: dns.asyncresolver.Resolver | None = None) -> Resolve:
    """The DNS as this machine is configured to query it; answers are cached for their own time to live."""
    asked = resolver

    async def resolve(name: str) -> str:
        nonlocal asked
        try:
            if asked is None:  # not before it is needed: a machine without name servers may serve all the same
                asked = dns.asyncresolver.Resolver()
                asked.cache = dns.resolver.LRUCache()
            answer = await asked.resolve(dns.name.from_text(name), "TXT", lifetime=TIMEOUT)
        except (dns.resolver.NXDOMAIN, dns.resolver.NoAnswer, dns.resolver.YXDOMAIN):
            return ""
        except (dns.exception.DNSException, OSError, ValueError) as error:
            raise Unreachable(type(error).__name__) from None
        # RFC 6376 3.6.2.2: the strings of a record are joined without anything between; several records are none.
        records = [b"".join(record.strings) for record in answer]
        return records[0].decode("latin-1") if len(records) == 1 else ""

    return resolve


class Asker:
    """The task that makes the queries that are due, settles them, and wakes the desk."""

    def __init__(
        self,
        lookups: Lookups,
        resolve: Resolve,
        *,
        now: Callable[[], datetime],
        run: Run,
        settled: Callable[[], None],
        longest_wait: float = LONGEST_WAIT,
    ) -> None:
        self._lookups = lookups
        self._resolve = resolve
        self._now = now
        self._run = run
        self._settled = settled
        self._longest_wait = longest_wait
        self._stopping = False
        self._asking: asyncio.Future[list[None]] | None = None
        self.wake = asyncio.Event()

    def stop(self) -> None:
        """Begin to stop; queries under way are repeated after the next start."""
        self._stopping = True
        self.wake.set()
        if self._asking is not None:
            self._asking.cancel()

    async def work(self) -> None:
        """Ask until stopped."""
        while not self._stopping:
            self.wake.clear()
            wait = TROUBLE_WAIT
            try:
                wait = await self._round()
            except StoreError as error:
                log.error("store out of reach", trouble=type(error).__name__)
            if wait and not self._stopping:
                try:
                    await asyncio.wait_for(self.wake.wait(), wait)
                except TimeoutError:
                    continue

    async def _round(self) -> float:
        """Make all queries that are due; returns the seconds until there may be more."""
        due = await self._run(self._lookups.due, self._now(), AT_ONCE)
        if due:
            self._asking = asyncio.gather(*(self._ask(lookup) for lookup in due))
            try:
                await self._asking
            except asyncio.CancelledError:
                if not self._stopping:
                    raise
            self._settled()
            return 0.0
        following = await self._run(self._lookups.next_due)
        if following is None:
            return self._longest_wait
        return min(max((following - self._now()).total_seconds(), 0.05), self._longest_wait)

    async def _ask(self, lookup: Lookup) -> None:
        record: str | None = None
        try:
            record = await self._resolve(lookup.name)
        except Unreachable as error:
            log.warning("name server out of reach", tries=lookup.tries, trouble=str(error))
            if lookup.tries > 1:
                await self._run(self._lookups.postpone, lookup, self._now() + _pause(lookup.tries))
                return
        await self._run(self._lookups.settle, lookup, record, self._now())


def _pause(tries: int) -> timedelta:
    """The wait before the next try, with this many left, this one included."""
    return RETRIES[max(len(RETRIES) + 1 - tries, 0)]
