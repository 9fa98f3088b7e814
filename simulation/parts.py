"""Parts of a week that it may have or lack: each is a module of its own, named in the week's `parts`.

A part adds something to the world (a sealed match, a witness, a mailbox at a provider), and says at the end what of
it was promised and does not hold. The world calls the methods below, and knows nothing else of a part.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from random import Random

    from pbem.config.server import Config
    from pbem.store.database import Database
    from simulation.players import Habits, Player
    from simulation.world import World


class Spells:
    """Moods of somebody, good and bad ones, which last for hours: the first is good, and so are all after the week.

    `moods` has how long a spell of each lasts at most, in seconds; a better mood is named more than once.
    """

    def __init__(self, world: World, random: Random, moods: Sequence[tuple[str, float]], first: float) -> None:
        self._world = world
        self._random = random
        self._moods = moods
        self._mood = "well"
        self._ends = random.random() * first

    @property
    def mood(self) -> str:
        """What it is like now."""
        now = self._world.loop.time()
        while self._ends <= now:
            self._mood, longest = self._random.choice(self._moods)
            self._ends += self._random.random() * longest
        return self._mood if self._world.week.troubles and not self._world.hurried else "well"


class Part:
    """A part that does nothing."""

    name = ""
    """As the week names it."""
    often = 1.0
    """The probability that a week with other parts has it, too."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.random = world.random(f"part {self.name}")

    def configured(self, config: Config) -> Config:
        """The server's configuration, with what this part needs."""
        return config

    def player(self, name: str, habits: Habits) -> Player | None:  # noqa: ARG002 - most parts have none
        """Somebody of this name who plays, if that is this part's to say."""
        return None

    def newcomers(self) -> Iterator[Player]:
        """Further players, who are in none of the week's pairs."""
        yield from ()

    def has_left(self, player: str, match: str) -> bool:  # noqa: ARG002 - most parts have nobody who leaves
        """True if somebody else has a player's seat in a match now."""
        return False

    def may_read(self, player: str, match: str, at: float) -> bool:  # noqa: ARG002 - most parts change nothing
        """Whether somebody may read from some time on what a player of a match knows."""
        return False

    def terms(self, at: int) -> dict[str, str]:  # noqa: ARG002 - most parts have none
        """Further terms of a match, by its place among the week's games."""
        return {}

    def begin(self) -> None:
        """The server was started for the first time."""

    def die(self) -> None:
        """The server's machine died."""

    def play(self) -> None:
        """All players have accounts, and matches are proposed."""

    def take(self, recipient: str, raw: bytes) -> None:
        """The smarthost took a letter for somebody."""

    def go_back(self, database: Database) -> None:
        """The backup takes the place of this store."""

    @property
    def unfetched(self) -> set[bytes]:
        """The letters that were answered with 250, and that the server does not have yet."""
        return set()

    def finish(self) -> None:
        """The week is over: whatever is under way ends soon, and nothing new begins."""

    @property
    def waits(self) -> bool:
        """Whether something of this part is still under way after the week."""
        return False

    def broken(self) -> Iterator[str]:
        """Everything that was promised and does not hold."""
        yield from ()

    def close(self) -> None:
        """Close everything."""
