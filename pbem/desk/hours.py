"""A player's hours: zone, vacations, gifts of time, and claims against the silent.

Implements protocol.md, "Commands" (`set timezone`, `vacation`, `extend`, `claim`) and "A match", the clock.
"""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING

from pbem.desk.answer import Answer
from pbem.desk.clerk import duration
from pbem.desk.places import placed
from pbem.desk.table import Tables
from pbem.desk.timekeeper import TIMEZONE
from pbem.games import Fault, Refused
from pbem.match.clock import days_of_year, on_a_day, vacation_stop, written, zone_named
from pbem.match.events import claimed, extended, moved, vacation
from pbem.match.state import RUNNING
from pbem.match.step import Step
from pbem.phrase import Phrase
from pbem.store.database import stamp
from pbem.store.players import VacationRow

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from datetime import datetime

    from pbem.config import Clock as ClockConfig
    from pbem.desk.answer import Caller
    from pbem.desk.archive import Archive
    from pbem.desk.clerk import Clerk
    from pbem.desk.timekeeper import Timekeeper
    from pbem.mail.commands import Command
    from pbem.match.step import World
    from pbem.store.players import Players

__all__ = ["Hours"]

_AHEAD = 366
"""How many days ahead a vacation may be announced."""


class Hours(Tables):
    """The hours of a server's players."""

    def __init__(  # noqa: PLR0913, PLR0917 - the desk's own parts
        self,
        players: Players,
        archive: Archive,
        clerk: Clerk,
        world: Callable[[datetime], World],
        clock: ClockConfig,
        time: Timekeeper,
    ) -> None:
        super().__init__(players, archive, clerk, world)
        self._clock = clock
        self._time = time
        self.commands: Mapping[str, Callable[[Caller, Command], Answer]] = {
            "set": self._set,
            "vacation": self._vacation,
            "extend": self._extend,
            "claim": self._claim,
        }

    def _set(self, caller: Caller, command: Command) -> Answer:
        assert caller.player is not None
        name, value = command.arguments["setting"]
        if name == TIMEZONE:
            zone = zone_named(value)
            if zone is None:
                raise Refused(
                    Fault("set", value, Phrase("no such time zone; write one such as Europe/Berlin or UTC"))
                )
            value = zone
        self._players.choose(caller.player.name, name, value)
        if (name, value) == ("mail", "each"):
            self._clerk.hurry(caller.player.name, caller.now)
        now = written(caller.now, value) if name == TIMEZONE else None
        return Answer("set", {"name": name, "value": value, "now": now})

    def _vacation(self, caller: Caller, command: Command) -> Answer:
        assert caller.player is not None
        player, now = caller.player.name, caller.now
        zone = self._time.zone(player)
        today = on_a_day(now, zone)
        said = None
        if command.arguments.get("off"):
            if not self._players.vacations(player, stamp(now)):
                raise Refused(Fault("vacation", "off", Phrase("no vacation of yours lasts or is to come")))
            self._players.call_off(player, stamp(now), today.isoformat())
        else:
            said = self._days(player, command, today)
            stop = vacation_stop(*said, zone, now)
            assert stop.ended is not None
            row = VacationRow(said[0].isoformat(), said[1].isoformat(), stamp(stop.began), stamp(stop.ended))
            self._players.take_vacation(player, row)
        for number in self._archive.matches.of_player(player, RUNNING):
            seated = self._seated(number, player)
            step = Step(seated.match, self._world(now))
            moved.catch_up(step)
            clock = step.match.clocks.get(seated.seat)
            stops = self._time.calendar(player, clock.since if clock else now).vacations
            vacation.announce(step, seated.seat, stops, said)
            self._commit(seated, step)
        rows = self._players.vacations(player, stamp(now))
        deadlines = self._deadlines(player)
        left = self._clock.vacation_days - self._taken(player).get(today.year, 0)
        return Answer("vacation", {"vacations": rows, "left": left, "year": today.year, "deadlines": deadlines})

    def _deadlines(self, player: str) -> dict[str, Phrase]:
        """The player's deadlines, written out, by match."""
        found = {}
        for number in self._archive.matches.of_player(player, RUNNING):
            seated = self._seated(number, player)
            clock = seated.match.clocks.get(seated.seat)
            if clock and clock.deadline and seated.match.asked(seated.seat):
                found[seated.match.id] = written(clock.deadline, clock.zone)
        return found

    def _days(self, player: str, command: Command, today: date) -> tuple[date, date]:
        """The days of a vacation, once they are no others' and within each year's budget."""
        given = command.arguments["first"], command.arguments["last"]
        try:
            first, last = map(date.fromisoformat, given)
        except ValueError:
            raise Refused(Fault("vacation", " to ".join(given), Phrase("there is no such day"))) from None
        faults = []
        if first < today:
            faults.append(
                Fault("vacation", given[0], Phrase("a vacation cannot begin before today, {today}", today=today))
            )
        if last < first:
            faults.append(Fault("vacation", given[1], Phrase("a vacation ends after it began")))
        if (last - today).days > _AHEAD:
            faults.append(Fault("vacation", given[1], Phrase("that is more than a year ahead")))
        others = [(row.first, row.last) for row in self._players.vacations(player)]
        faults += [
            Fault(
                "vacation",
                None,
                Phrase(
                    "you have a vacation from {other} to {end}; call it off first: `vacation off`",
                    other=other,
                    end=end,
                ),
            )
            for other, end in others
            if other <= given[1] and given[0] <= end
        ]
        if not faults:
            budget = self._clock.vacation_days
            faults += [
                Fault(
                    "vacation",
                    None,
                    Phrase(
                        "{days} days of vacation in {year}, and {budget} a year are allowed",
                        days=days,
                        year=year,
                        budget=budget,
                    ),
                )
                for year, days in self._taken(player, (first, last)).items()
                if days > budget
            ]
        if faults:
            raise Refused(*faults)
        return first, last

    def _taken(self, player: str, *more: tuple[date, date]) -> dict[int, int]:
        """How many days of vacation the player takes in each year."""
        rows = self._players.vacations(player)
        return days_of_year([*((date.fromisoformat(row.first), date.fromisoformat(row.last)) for row in rows), *more])

    def _extend(self, caller: Caller, command: Command) -> Answer:
        seated = self._table(caller, command)
        step = Step(seated.match, self._world(caller.now))
        said = placed(caller, command, seated.match, seated.seat)
        to = extended.extend(step, seated.seat, command.arguments["time"], said, caller.signed)
        self._commit(seated, step)
        facts = {"to": [seated.match.name(seat) for seat in to], "time": duration(command.arguments["time"])}
        return Answer("extend", facts | self._facts(seated), match=seated.place)

    def _claim(self, caller: Caller, command: Command) -> Answer:
        seated = self._table(caller, command)
        step = Step(seated.match, self._world(caller.now))
        claimed.claim(step, seated.seat, placed(caller, command, seated.match, seated.seat), caller.signed)
        self._commit(seated, step)
        return Answer("claim", self._facts(seated), match=seated.place)
