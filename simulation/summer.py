"""A change to summer time or back, and players who are on vacation around it, and read no mail."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

from world.promises import misses

from simulation.parts import Part

if TYPE_CHECKING:
    from collections.abc import Iterator

    from simulation.players import Player
    from simulation.world import World

HOUR = 3600.0
CHANGES = (
    (date(2026, 3, 8), "America/New_York"),
    (date(2026, 3, 29), "Europe/Berlin"),
    (date(2026, 4, 5), "Australia/Lord_Howe"),
    (date(2026, 4, 24), "Africa/Cairo"),
    (date(2026, 10, 25), "Europe/Berlin"),
)
"""When clocks change, and where: by half an hour on Lord Howe; at midnight in Cairo, so that the day has none."""
ELSEWHERE = "UTC", "Asia/Kolkata", "Pacific/Auckland"
OFTEN = 0.5 * HOUR
"""How often a player looks whether the own vacation is granted."""


class Summer(Part):
    """The week is one of a change, some players live where it happens, and most take some days off."""

    name = "summer"
    often = 0.5

    def __init__(self, world: World) -> None:
        super().__init__(world)
        self._day, self._where = self.random.choice(CHANGES)
        change = datetime(self._day.year, self._day.month, self._day.day, 1, tzinfo=ZoneInfo(self._where))
        before = timedelta(days=self.random.random() * min(world.week.days, 4.0))
        world.began = (change - before).astimezone(UTC).replace(second=0, microsecond=0)
        self._zones: dict[str, ZoneInfo] = {}
        self._letters: dict[str, str] = {}
        """By player: the letter with the zone, and then the one that asks for the vacation."""
        self._vacations: dict[str, tuple[date, date]] = {}

    def play(self) -> None:
        for name, player in self.world.players.items():
            if player.signs:
                zone = self.random.choice((self._where, self._where, *ELSEWHERE))
                self._zones[name] = ZoneInfo(zone)
                self._letters[name] = player.say(f"set timezone {zone}")
                self._look_soon(player)

    def _look_soon(self, player: Player) -> None:
        self.world.loop.call_later(OFTEN, self._look, player)

    def _look(self, player: Player) -> None:
        """Ask for a vacation once the zone is set, and leave once that is granted."""
        if self.world.hurried:
            return
        sent = player.memory.by_message_id(self._letters[player.name])
        if sent is None or sent.state != "done":
            self._look_soon(player)
        elif sent.form.startswith("set "):
            first = self.world.now().astimezone(self._zones[player.name]).date()
            first += timedelta(days=self.random.randint(0, 1))
            last = first + timedelta(days=self.random.randint(0, 2))
            self._vacations[player.name] = first, last
            self._letters[player.name] = player.say(f"vacation {first} to {last}")
            self._look_soon(player)
        else:
            self._leave(player)

    def _leave(self, player: Player) -> None:
        """Read no mail from the first day's beginning to the last day's end, by the clock on the player's wall."""
        first, last = self._vacations[player.name]
        began, ended = (self._midnight(player, day) for day in (first, last + timedelta(days=1)))
        player.away = max(began, self.world.loop.time()), ended
        self.world.note(player.name, "is away", int(began), int(ended))
        self.world.figures.vacations += 1

    def _midnight(self, player: Player, day: date) -> float:
        """When a day begins, in seconds of the loop: if the clock skips that, when it shows anything of the day."""
        zone = self._zones[player.name]
        times = [datetime(day.year, day.month, day.day, tzinfo=zone, fold=fold).astimezone(UTC) for fold in (0, 1)]
        return (max(times) - self.world.began).total_seconds()

    def broken(self) -> Iterator[str]:
        """Nobody misses a deadline on a day off."""
        forgotten = {name for name, sent in self._letters.items() if self.world.operator.has_lost(sent)}
        for (match, _), proved in self.world.proved.items():
            for entry, name in misses(proved):
                player = self.world.players[name]
                if name not in forgotten and player.away[0] < player.away[1]:
                    at = (datetime.fromisoformat(entry.body["deadline"]) - self.world.began).total_seconds()
                    if player.away[0] < at < player.away[1]:
                        yield f"{match}: {player.name} missed a deadline on a day off: {entry.body}"
