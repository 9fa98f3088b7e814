"""Players whose topics beside the mail are told that something is due; the host fails, is slow, and loses answers."""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from hashlib import sha256
from typing import TYPE_CHECKING

from msgspec.structs import replace
from world.promises import answered_by

from pbem.config.server import NotifyConfig
from pbem.server.http_call import PATIENCE, RETRIES, Unreachable
from simulation.parts import Part, Spells

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pbem.config.server import Config
    from simulation.players import Player
    from simulation.world import World

HOUR = 3600.0
HOST = "ntfy.example"
MOODS = [("well", 24 * HOUR), ("well", 24 * HOUR), ("away", 12 * HOUR), ("slow", 24 * HOUR), ("full", 6 * HOUR)]
CODE = re.compile(r"`set notify ([a-z0-9]+)`")
DUE = re.compile(
    r"Something is due from you(, until [A-Z][a-z]+ \d+ [A-Z][a-z]+ \d{4}, \d\d:\d\d \S+( \(UTC\S*\))?)?\."
    r"\s+The letter is in your mailbox\.",
)
"""All that may be said there."""
OFTEN = 24 * HOUR
"""The time between two attempts of a player to have a topic."""


class Topics(Part):
    """The topics of players with keys, at one host."""

    name = "notices"

    def __init__(self, world: World) -> None:
        super().__init__(world)
        self._spells = Spells(world, self.random, MOODS, 6 * HOUR)
        self._posts: list[tuple[float, str, str]] = []
        """When a text came to a topic."""
        self._confirmed: dict[str, float] = {}
        """By topic: when the first code was brought back."""
        self._off: dict[str, str] = {}
        """By the Message-ID of the letter that ends it: the topic."""
        self._ended: dict[str, float] = {}
        world.tell = self.tell

    def configured(self, config: Config) -> Config:
        return replace(config, notify=NotifyConfig(hosts=(HOST,)))

    def play(self) -> None:
        for player in self.world.players.values():
            if player.signs:
                self._ask(player, _url(player))
                if self.random.random() < 0.3:
                    self.world.loop.call_later(
                        self.random.random() * self.world.week.days * 24 * HOUR, self._end, player
                    )

    def _ask(self, player: Player, url: str) -> None:
        """Ask for notices, again each day until they are confirmed."""
        if url not in self._confirmed and url not in self._off.values() and not self.world.hurried:
            player.say(f"set notify {url}")
            self.world.loop.call_later(OFTEN, self._ask, player, url)

    def _end(self, player: Player) -> None:
        """Have no more of them, once nothing is under way that would have them again."""
        pending = [sent for sent in player.memory.in_state("ready", "sent") if sent.command == "set"]
        if pending:
            self.world.loop.call_later(HOUR, self._end, player)
        elif not self.world.hurried:
            self._off[player.say("set notify off")] = _url(player)

    async def tell(self, url: str, _title: str, text: str) -> int:
        """The host: the status of its answer; raises `Unreachable`."""
        mood, random = self._spells.mood, self.random
        await asyncio.sleep(random.random() * (PATIENCE if mood == "slow" else 1))
        if mood == "away":
            raise Unreachable("nobody answers")
        if mood == "full":
            return 429
        self._posts.append((self.world.loop.time(), url, text))
        self.world.note("posted", url, sha256(text.encode()).hexdigest()[:16])
        self._bring_back(url, text)
        if mood == "slow" and random.random() < 0.5:
            raise Unreachable("the answer was lost")
        return 200

    def _bring_back(self, url: str, text: str) -> None:
        found, player = CODE.search(text), next(one for one in self.world.players.values() if _url(one) == url)
        if found is not None and not self.world.hurried:
            wait = self.random.random() * self.world.week.leisure
            self.world.loop.call_later(wait, self._confirm, player, found[1])

    def _confirm(self, player: Player, code: str) -> None:
        if not self.world.hurried:
            player.say(f"set notify {code}")
            self._confirmed.setdefault(_url(player), self.world.loop.time())

    def take(self, recipient: str, raw: bytes) -> None:  # noqa: ARG002 - a Message-ID is enough
        if self._off.keys() - self._ended.keys():
            told = set(answered_by(raw))
            for name in self._off:
                if sha256(name.encode()).hexdigest() in told:
                    self._ended.setdefault(name, self.world.loop.time())

    def broken(self) -> Iterator[str]:
        """Nothing but a code comes before that is brought back, never a word of a match, nothing after the end."""
        figures, games = self.world.figures, len(self.world.week.games)
        # Whatever is due on days off is due at their end, what is late in one match is told with all others, and no
        # turn begins before an earlier one, if the clock is set back: then many letters say the same time.
        many = figures.vacations or figures.steps or games > 1 or "tournament" in self.world.has
        letters = len(self.world.taken) if many else 2 * games * (1 + figures.restores)
        most = letters * (1 + len(RETRIES)) + figures.kills + figures.power_cuts
        for (url, text), number in Counter((url, text) for _, url, text in self._posts).items():
            if number > most:
                yield f"{url} was told {number} times, and {most} are possible: {text!r}"
        for at, url, text in self._posts:
            if CODE.search(text) is None and at < self._confirmed.get(url, float("inf")):
                yield f"{url} was told before it was confirmed: {text!r}"
            if CODE.search(text) is None and DUE.fullmatch(text) is None:
                yield f"{url} was told more than that something is due: {text!r}"
            for name, ended in self._ended.items():
                lost = self.world.operator.has_lost(name)
                if self._off[name] == url and at > ended + PATIENCE and not lost:
                    yield f"{url} was told after its end: {text!r}"


def _url(player: Player) -> str:
    return f"https://{HOST}/{player.name}s_phone"
