"""The queries to the DNS for which letters wait: TXT records of DKIM keys, and the task that asks.

An answer is a record, none, or again later; its meaning is judged elsewhere. Implements design.md, "The way of a
letter": the desk never waits on the network.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import structlog

from pbem.smtp.rounds import Asker
from pbem.store.questions import RANKS

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    import dns.asyncresolver

    from pbem.smtp.rounds import TaskServices
    from pbem.store.questions import Lookup, Lookups

    Resolve = Callable[[str], Awaitable[str]]
    """Gives the TXT record of a name, "" when there is none; raises `DnsUnreachable`."""

TIMEOUT = 10.0  # seconds for one question, the resolver's own second tries included
RETRIES = (timedelta(minutes=1), timedelta(minutes=5), timedelta(minutes=30))  # what is waited before each next try
CACHED = 100  # answers: anybody's letter names records, and one of 64 KB takes 130 KB of memory
AT_ONCE = 40  # queries under way
OTHERS = 30  # of them for letters that are not from players' addresses
EACH = 4  # of them for letters of one sender
IN_SIGHT = 500  # among how many that are due room is found for others than a sender of many

log = structlog.get_logger()


class DnsUnreachable(Exception):
    """No server could be asked just now; it may work later."""


def txt(resolver: dns.asyncresolver.Resolver | None = None) -> Resolve:
    """The DNS as this machine is configured to query it; answers are cached for their own time to live."""
    asked = resolver

    async def resolve(name: str) -> str:
        nonlocal asked
        import dns.asyncresolver
        import dns.exception
        import dns.name
        import dns.resolver

        try:
            if asked is None:  # not before it is needed: a machine without name servers may serve all the same
                asked = dns.asyncresolver.Resolver()
                asked.cache = dns.resolver.LRUCache(CACHED)
            answer = await asked.resolve(dns.name.from_text(name), "TXT", lifetime=TIMEOUT)
        except (dns.resolver.NXDOMAIN, dns.resolver.NoAnswer, dns.resolver.YXDOMAIN):
            return ""
        except (dns.exception.DNSException, OSError, ValueError) as error:
            raise DnsUnreachable(type(error).__name__) from None
        # RFC 6376 3.6.2.2: the strings of a record are joined without anything between; several records are none.
        records = [b"".join(record.strings) for record in answer]
        return records[0].decode("latin-1") if len(records) == 1 else ""

    return resolve


class DnsAsker(Asker["Lookup"]):
    """The task that makes the queries that are due, settles them, and wakes the desk.

    Those for letters from players' addresses come first.
    """

    def __init__(self, lookups: Lookups, resolve: Resolve, services: TaskServices) -> None:
        super().__init__(services)
        self._lookups = lookups
        self._resolve = resolve

    async def _round(self) -> float:
        now = self._services.now()
        for rank in RANKS:
            for lookup in await self._services.run(self._lookups.due, now, rank, IN_SIGHT):
                if not self._stopping and self._has_room(lookup):
                    self._begin(lookup)
        return self._until(await self._services.run(self._lookups.next_due, now))

    def _has_room(self, lookup: Lookup) -> bool:
        """Return whether a query is not under way yet, and may be, beside those of its sender, and of strangers."""
        under_way = self._under_way.values()
        return (
            all((one.inbox, one.name) != (lookup.inbox, lookup.name) for one in under_way)
            and len(under_way) < AT_ONCE
            and (lookup.rank > 0 or sum(one.rank == 0 for one in under_way) < OTHERS)
            and sum(one.sender == lookup.sender for one in under_way) < EACH
        )

    async def _ask(self, lookup: Lookup) -> None:
        record: str | None = None
        try:
            record = await self._resolve(lookup.name)
        except DnsUnreachable as error:
            log.warning("name server out of reach", tries=lookup.tries, trouble=str(error))
            if lookup.tries > 1:
                pause = RETRIES[max(len(RETRIES) + 1 - lookup.tries, 0)]
                await self._services.run(self._lookups.postpone, lookup, self._services.now() + pause)
                return
        await self._services.run(self._lookups.settle, lookup, record, self._services.now())
        self._services.settled()
