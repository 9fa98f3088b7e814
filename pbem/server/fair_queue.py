"""The turns at a place where letters are examined before they are stored: a party with many waits for itself alone.

Implements reliability.md, "Limits" and case 34.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import AsyncIterator


class Crowded(Exception):
    """Too many: come again later."""


class FairQueue:
    """The turns at one place, where at most `each` of one party, and `in_all`, may be or wait."""

    def __init__(self, each: int, in_all: int) -> None:
        self._each = each
        self._in_all = in_all
        self._here: Counter[str] = Counter()
        self._turns: dict[str, asyncio.Lock] = {}

    @asynccontextmanager
    async def turn_of(self, party: str) -> AsyncIterator[None]:
        """The turn of one of this party, once earlier ones of the same party are gone; raises `Crowded`."""
        if self._here[party] >= self._each or self._here.total() >= self._in_all:
            raise Crowded
        self._here[party] += 1
        try:
            async with self._turns.setdefault(party, asyncio.Lock()):
                yield
        finally:
            self._here[party] -= 1
            if not self._here[party]:
                del self._here[party], self._turns[party]
