"""The DNS, as the server asks it for the keys of mail providers: it fails, is slow, and lies for hours."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from pbem.smtp.dns import TIMEOUT, DnsUnreachable
from simulation.parts import Spells

if TYPE_CHECKING:
    from random import Random

    from pbem.smtp.dns import Resolve
    from simulation.world import World

HOUR = 3600.0
MOODS = [("well", 24 * HOUR)] * 3 + [
    ("fails", 24 * HOUR),
    ("slow", 24 * HOUR),
    ("nothing", 4 * HOUR),
    ("revoked", 4 * HOUR),
]
"""The last two are lies: there is no such key, or it is no good any more."""
FIRST = 6 * HOUR
"""How long it is well at most at first, so that players get their accounts."""


class NameServer:
    """Answers as another would, in its moods."""

    def __init__(self, world: World, random: Random, resolve: Resolve) -> None:
        self._random = random
        self._resolve = resolve
        self._spells = Spells(world, random, MOODS, FIRST)

    async def resolve(self, name: str) -> str:
        """The TXT record of a name, or what it says instead; raises `DnsUnreachable`."""
        mood = self._spells.mood
        if mood == "slow":
            await asyncio.sleep(TIMEOUT * self._random.random())
        if mood == "fails" or (mood == "slow" and self._random.random() < 0.5):
            raise DnsUnreachable("nobody answers")
        if mood == "nothing":
            return ""
        return "v=DKIM1; k=rsa; p=" if mood == "revoked" else await self._resolve(name)
