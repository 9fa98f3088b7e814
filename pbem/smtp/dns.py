"""The queries to the DNS for which letters wait: TXT records of DKIM keys.

Here live the only kind of query, the judgement of its answers (a record, none, or again later), and the task
that asks. The meaning of a record is judged elsewhere; no letter is read here. Calls to the store go through `run`,
because they may wait for the disk; time is handed in. Implements design.md, "The way of a letter": the desk never
waits on the network.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import dns.asyncresolver
import dns.exception
import dns.name
import dns.resolver
import structlog

from pbem.smtp.asking import Asking
from pbem.smtp.delivery import LONGEST_WAIT

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


class Asker(Asking):
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
        super().__init__(now=now, run=run, settled=settled, longest_wait=longest_wait)
        self._lookups = lookups
        self._resolve = resolve

    async def _round(self) -> float:
        """Make all queries that are due; returns the seconds until there may be more."""
        following = await self._run(self._lookups.next_due)
        if following is None or following > self._now():
            return self._until(following)
        due = await self._run(self._lookups.due, self._now(), AT_ONCE)
        await self._ask_all(self._ask(lookup) for lookup in due)
        self._settled()
        return 0.0

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
