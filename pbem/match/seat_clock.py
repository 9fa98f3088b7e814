"""The arithmetic of time: how long a seat's clock has run, when it runs out, and what is due before and after.

Pure: no match, no mail, no reading of the system's clock; every moment is handed in. A clock follows its player's
local time: seven days end at the same time of day, whatever daylight saving does in between. It stands while a
`Stop` lasts (a vacation, an outage of the server, a letter that could not be delivered) and, if that was agreed, at
weekends. Implements protocol.md, "A match", the clock.
"""

from __future__ import annotations

from collections import Counter, deque
from datetime import UTC, date, datetime, timedelta
from functools import lru_cache
from math import ceil
from operator import attrgetter
from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from pbem.phrase import Moment, Phrase

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from zoneinfo import ZoneInfo


DAY = 86400
"""Seconds of a day of the calendar."""

VACATION = "vacation"
"""The reason of a stop that its player asked for: it never rescues a deadline already passed, so grace runs on."""

REMINDERS = ("half", "day", "deadline")
"""The kinds of reminders, in the order in which they come."""


SLACK = timedelta(hours=3)
"""More than any change of a zone's clocks takes from the days between: see `floor`."""


class Stop(msgspec.Struct, frozen=True, array_like=True):
    """A time in which a clock stands, and why; without an end, it stands until further notice."""

    began: datetime
    ended: datetime | None
    reason: str


class Calendar(msgspec.Struct, frozen=True):
    """A player's calendar: the zone of the wall clock, and the announced vacations, as stops."""

    zone: str = "UTC"
    vacations: tuple[Stop, ...] = ()


class Clock(msgspec.Struct, frozen=True):
    """One seat's clock for a request: since when, and how many seconds it may run.

    `bank` of these seconds are the seat's bank, used last. `answered` is when the answer came in,
    as long as it counts; `reminded` is how many of `REMINDERS` were dealt with.
    """

    since: datetime
    time: int
    grace: int = 0
    bank: int = 0
    zone: str = "UTC"
    weekends: bool = True
    stops: tuple[Stop, ...] = ()
    reminded: int = 0
    answered: datetime | None = None

    @property
    def deadline(self) -> datetime | None:
        """The end of the time; None while the clock stands without an end."""
        return self.after(self.since, self.time)

    @property
    def grace_ends(self) -> datetime | None:
        """The end of the grace after the deadline: neither vacations nor weekends lengthen it."""
        deadline = self.deadline
        if deadline is None:
            return None
        unasked = tuple(stop for stop in self.stops if stop.reason != VACATION)
        return replace(self, stops=unasked, weekends=True).after(deadline, self.grace)

    @property
    def reminders(self) -> tuple[datetime | None, ...]:
        """The time of each of `REMINDERS`; None for `one day before` if half of the time is no longer than that."""
        deadline = self.deadline
        if deadline is None:
            return ()
        half = self.after(self.since, self.time // 2)
        day = self.after(self.since, self.time - DAY) if self.time > 2 * DAY else None
        return half, day, deadline

    def reminder(self, now: datetime) -> str | None:
        """The reminder that is due: the last one whose time has come, unless it was dealt with."""
        come = self._come(now)
        return REMINDERS[come - 1] if come > self.reminded else None

    def reminded_by(self, now: datetime) -> Clock:
        """The clock after all reminders whose time has come were dealt with: none of them is ever sent again."""
        return replace(self, reminded=max(self.reminded, self._come(now)))

    def _come(self, now: datetime) -> int:
        times = enumerate(self.reminders, start=1)
        return max((number for number, time in times if time is not None and time <= now), default=0)

    def following(self) -> datetime | None:
        """The next moment at which something is due: a reminder, or the end of grace."""
        for time in self.reminders[self.reminded :]:
            if time is not None:
                return time
        return self.grace_ends

    def run(self, until: datetime) -> int:
        """The seconds that the clock has run until then."""
        total = timedelta()
        for began, ended in self._pieces(self.since):
            end = self._wall(until)
            if began >= end:
                break
            total += min(ended, end) - began if ended else end - began
        return int(total.total_seconds())

    def left_in_bank(self, until: datetime, *, at_least: bool = False) -> int:
        """The rest of the bank if the answer came in then; at least that, whatever the zone and unknown stops."""
        ran = int((until + SLACK - self.since).total_seconds()) if at_least else self.run(until)
        drawn = max(0, ran - (self.time - self.bank))
        return max(0, self.bank - drawn)

    def given(self, seconds: int, now: datetime, *, missed: bool = False) -> Clock:
        """The clock with a gift of time: on top of what is left, or from now on if the deadline was missed or passed.

        It brings no reminder: reminders whose time would have been earlier are left out.
        """
        deadline = self.deadline
        if missed or (deadline is not None and deadline <= now):
            return replace(self, since=now, time=seconds, bank=0)
        return replace(self, time=self.time + seconds).reminded_by(now)

    def with_stops(self, reason: str, stops: Iterable[Stop]) -> Clock:
        """The clock with these stops of one reason, in place of those it had."""
        others = [stop for stop in self.stops if stop.reason != reason]
        return replace(self, stops=tuple(sorted([*others, *stops], key=_by_time)))

    def with_stop(self, stop: Stop) -> Clock:
        """The clock with one more stop."""
        return replace(self, stops=tuple(sorted([*self.stops, stop], key=_by_time)))

    def halted(self, reason: str, began: datetime) -> Clock:
        """The clock, stopped from then on for one more reason, until `released`."""
        if [stop for stop in self.stops if stop.ended is None and stop.reason == reason]:
            return self
        return self.with_stop(Stop(began, None, reason))

    def released(self, reason: str, now: datetime) -> Clock:
        """The clock running again, as far as this reason goes."""
        stops = [
            replace(stop, ended=max(now, stop.began)) if stop.reason == reason and stop.ended is None else stop
            for stop in self.stops
        ]
        return replace(self, stops=tuple(stops))

    def floor(self, start: datetime, seconds: int) -> datetime | None:
        """The earliest moment at which this many seconds can be over in any zone, if the zone is not known."""
        zones = (self.zone,) if self.weekends else _WHOLE_HOURS
        over = [end for zone in zones if (end := replace(self, zone=zone).after(start, seconds)) is not None]
        return min(over) - SLACK if over else None

    # The walk along the wall clock: naive local times, so that a day is a day of the calendar.

    @lru_cache(maxsize=4096)  # noqa: B019 - a clock is a value: what it keeps alive is a few hundred octets
    def after(self, start: datetime, seconds: int) -> datetime | None:
        """The moment at which the clock, started then, has run this many seconds.

        Zero seconds are over at once, even where the clock stands.
        """
        if not seconds:
            return start
        left = timedelta(seconds=seconds)
        for began, ended in self._pieces(start):
            if ended is None or began + left <= ended:
                return self._not_in_a_stop(on_the_wall(began + left, self.zone))
            left -= ended - began
        return None

    def _not_in_a_stop(self, time: datetime) -> datetime | None:
        # A time that the wall clock skips or shows twice is the later one, and a stop may have begun before it.
        for stop in self.stops:
            if stop.began < time and (stop.ended is None or time < stop.ended):
                left = ceil((time - stop.began).total_seconds())
                return self.after(stop.ended, left) if stop.ended else None
        return time

    def _pieces(self, start: datetime) -> Iterator[tuple[datetime, datetime | None]]:
        """The stretches of wall time in which the clock runs, from a moment on; the last one has no end."""
        at = self._wall(start)
        walls = [(self._wall(stop.began), self._wall(stop.ended) if stop.ended else _NEVER) for stop in self.stops]
        stops = deque(sorted((began, ended) for began, ended in walls if began < ended))
        while at < _NEVER:
            if stops and stops[0][0] <= at:
                at = max(at, stops.popleft()[1])
                continue
            if not self.weekends and at.weekday() >= 5:
                at = _midnight(at.date() + timedelta(days=7 - at.weekday()))
                continue
            ahead = [stops[0][0]] if stops else []
            if not self.weekends:
                ahead.append(_midnight(at.date() + timedelta(days=5 - at.weekday())))
            if not ahead:
                yield at, None
                return
            yield at, min(ahead)
            at = min(ahead)

    def _wall(self, time: datetime) -> datetime:
        return time.astimezone(_zone(self.zone)).replace(tzinfo=None)


_NEVER = datetime.max  # noqa: DTZ901 - a time on the wall
"""The end, on the wall, of a stop that has none."""

_WHOLE_HOURS = tuple(f"Etc/GMT{hours:+}" for hours in range(-14, 13))
"""The zones of whole hours: the weekends of any zone are near those of one of these."""

_by_time = attrgetter("began", "reason")


def _midnight(day: date) -> datetime:
    return datetime(day.year, day.month, day.day)  # noqa: DTZ001 - a time on the wall


@lru_cache(maxsize=256)
def _zone(name: str) -> ZoneInfo:
    from zoneinfo import ZoneInfo

    return ZoneInfo(name)


def zone_named(text: str) -> str | None:
    """The name of a zone as the list of zones writes it, ignoring case; None if there is none."""
    return _zones().get(text.lower())


@lru_cache(maxsize=1)
def _zones() -> dict[str, str]:
    from zoneinfo import available_timezones

    # The machine's own list has `localtime` and the like, which mean something else elsewhere.
    names = {name for name in available_timezones() if "/" in name or name in {"UTC", "GMT"}}
    return {name.lower(): name for name in names if not name.startswith(("posix/", "right/", "SystemV/"))}


def on_the_wall(time: datetime, zone: str) -> datetime:
    """The moment (UTC) at which a wall clock of the zone shows this naive time.

    A time that the clock shows twice is the later one; a time that it skips is later by as much: both in favour of
    the player.
    """
    return max(time.replace(tzinfo=_zone(zone), fold=fold).astimezone(UTC) for fold in (0, 1))


def on_a_day(time: datetime, zone: str) -> date:
    """The day in the zone."""
    return time.astimezone(_zone(zone)).date()


def vacation_stop(first: date, last: date, zone: str, now: datetime) -> Stop:
    """The stop of a vacation: from the first day's beginning, or from now, to the last day's end."""
    began = max(on_the_wall(_midnight(first), zone), now)
    return Stop(began, on_the_wall(_midnight(last + timedelta(days=1)), zone), VACATION)


def days_of_year(vacations: Iterable[tuple[date, date]]) -> dict[int, int]:
    """The number of different days that these vacations take of each year, first and last days included."""
    days = {first + timedelta(days=day) for first, last in vacations for day in range((last - first).days + 1)}
    return dict(sorted(Counter(day.year for day in days).items()))


@lru_cache
def written(time: datetime, zone: str) -> Phrase:
    """The local time in the zone, written out: `Sunday 8 March 2026, 13:00 Europe/Berlin (UTC+1)`."""
    local = time.astimezone(_zone(zone))
    offset = local.utcoffset() or timedelta()
    minutes = int(offset.total_seconds()) // 60
    hours, rest = divmod(abs(minutes), 60)
    from_utc = f"UTC{'+' if minutes > 0 else '-'}{hours}{f':{rest:02}' if rest else ''}" if minutes else "UTC"
    place = f"{zone} ({from_utc})" if zone != "UTC" else "UTC"
    return Phrase("{moment} {place}", moment=Moment(local), place=place)
