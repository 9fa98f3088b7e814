"""The DNS, as the server asks it for the keys of mail providers: it fails, is slow, and lies for hours."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from pbem.smtp.dns import TIMEOUT, DnsUnreachable

if TYPE_CHECKING:
    from random import Random

    from pbem.smtp.dns import Resolve
    from simulation.world import World

DAY = 86_400.0
MOODS = "well", "well", "well", "fails", "slow", "nothing", "revoked"
"""What a spell may be like; the last two are lies."""
LONGEST = {"nothing": 4 * 3600.0, "revoked": 4 * 3600.0}
"""How long a lie lasts at most, in seconds; the other spells last a day at most."""

FIRST = 6 * 3600.0
"""How long it is well at first, so that players get their accounts."""


class NameServer:
    """Answers as another would, in spells of good and bad moods."""

    def __init__(self, world: World, random: Random, resolve: Resolve) -> None:
        self._world = world
        self._random = random
        self._resolve = resolve
        self._spells = [(random.random() * FIRST, "well")]
        """When each spell ends, and what it is like."""

    @property
    def _mood(self) -> str:
        """What it is like now."""
        now, random = self._world.loop.time(), self._random
        while self._spells[-1][0] <= now:
            mood = random.choice(MOODS)
            self._spells.append((self._spells[-1][0] + random.random() * LONGEST.get(mood, DAY), mood))
        calm = self._world.hurried or not self._world.week.troubles
        return "well" if calm else self._spells[-1][1]

    async def resolve(self, name: str) -> str:
        """The TXT record of a name, or what it says instead; raises `DnsUnreachable`."""
        mood = self._mood
        if mood == "slow":
            await asyncio.sleep(TIMEOUT * self._random.random())
        if mood == "fails" or (mood == "slow" and self._random.random() < 0.5):
            raise DnsUnreachable("nobody answers")
        match mood:
            case "nothing":
                return ""
            case "revoked":
                return "v=DKIM1; k=rsa; p="
        return await self._resolve(name)
