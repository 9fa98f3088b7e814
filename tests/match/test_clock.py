"""The arithmetic of time, row by row: time of day, daylight saving, year's end, weekends, stops, banks, reminders."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pbem.match.seat_clock import (
    VACATION,
    Clock,
    Stop,
    days_of_year,
    on_a_day,
    on_the_wall,
    vacation_stop,
    written,
)

D = 86400
WALL = datetime(2020, 1, 1)  # noqa: DTZ001 - a time on the wall
BERLIN, NEW_YORK, KOLKATA = "Europe/Berlin", "America/New_York", "Asia/Kolkata"
ZONES = ["UTC", BERLIN, NEW_YORK, KOLKATA, "Australia/Lord_Howe", "Pacific/Apia", "America/St_Johns"]
ZONES += ["Pacific/Chatham", "Pacific/Kiritimati", "Antarctica/Troll"]


def at(text: str, zone: str = "UTC") -> datetime:
    """The moment of a time on a wall: `2026-03-25 13:00`."""
    return datetime.fromisoformat(text).replace(tzinfo=ZoneInfo(zone))


def clock(since: str, days: float = 7, zone: str = BERLIN, **others: object) -> Clock:
    return Clock(at(since, zone), int(days * D), 3 * D, zone=zone, **others)  # type: ignore[arg-type]  # fields by name


class TestDeadlines:
    def test_daylight_saving_begins(self) -> None:
        """On 29 March 2026 the clocks of Berlin go from 2 to 3: the hour is missing, the time of day is kept."""
        deadline = clock("2026-03-25 13:00").deadline
        assert deadline == at("2026-04-01 13:00", BERLIN)
        assert deadline - at("2026-03-25 13:00", BERLIN).astimezone(UTC) == timedelta(days=7, hours=-1)

    def test_a_time_that_the_clock_jumps_over_is_as_much_later(self) -> None:
        assert clock("2026-03-22 02:30").deadline == at("2026-03-29 01:30", "UTC")
        assert written(at("2026-03-29 01:30"), BERLIN).startswith("Sunday 29 March 2026, 03:30 ")

    def test_a_time_that_the_clock_shows_twice_is_the_later_one(self) -> None:
        assert clock("2026-10-18 02:30").deadline == at("2026-10-25 01:30", "UTC")

    def test_a_time_that_the_clock_jumps_over_may_come_when_a_stop_has_begun(self) -> None:
        """On 24 April 2026 the clocks of Cairo go from midnight to 1, where a vacation begins."""
        vacation = vacation_stop(date(2026, 4, 24), date(2026, 4, 25), "Africa/Cairo", at("2026-04-23 12:00"))
        assert vacation.began == at("2026-04-23 22:00")
        short = clock("2026-04-23 20:48", days=1 / 6, zone="Africa/Cairo")
        assert short.deadline == at("2026-04-23 22:48")
        assert short.with_stop(vacation).deadline == at("2026-04-26 00:48", "Africa/Cairo")
        assert short.halted("undelivered", vacation.began).deadline is None

    @given(st.sampled_from(ZONES), st.datetimes(WALL, WALL.replace(year=2035)), st.integers(3600, 90 * D))
    def test_no_weekend_of_any_zone_is_over_before_the_earliest_of_all(
        self, zone: str, start: datetime, seconds: int
    ) -> None:
        since = start.replace(tzinfo=UTC)
        deadline = Clock(since, seconds, zone=zone, weekends=False).deadline
        earliest = Clock(since, seconds, weekends=False).floor(since, seconds)
        assert deadline is not None
        assert earliest is not None
        assert deadline - timedelta(days=4) < earliest <= deadline

    @given(st.sampled_from(ZONES), st.datetimes(WALL, WALL.replace(year=2035)), st.integers(3600, 90 * D))
    def test_hour_and_minute_hold_in_every_zone(self, zone: str, start: datetime, seconds: int) -> None:
        since = start.replace(tzinfo=UTC)
        deadline = Clock(since, seconds, zone=zone).deadline
        assert deadline is not None
        # A record's reader does not know the zone: no change of its clocks takes more than three hours.
        assert deadline >= since + timedelta(seconds=seconds) - timedelta(hours=3)
        wall = since.astimezone(ZoneInfo(zone)).replace(tzinfo=None) + timedelta(seconds=seconds)
        shown = deadline.astimezone(ZoneInfo(zone)).replace(tzinfo=None)
        assert wall <= shown <= wall + timedelta(hours=1)


class TestWeekends:
    def test_they_do_not_count(self) -> None:
        """Friday 1 May 2026, 18:00, and three days: until Wednesday."""
        assert clock("2026-05-01 18:00", 3, weekends=False).deadline == at("2026-05-06 18:00", BERLIN)

    def test_a_turn_that_comes_on_one_begins_on_monday(self) -> None:
        assert clock("2026-05-02 15:00", 1, weekends=False).deadline == at("2026-05-05 00:00", BERLIN)
        assert clock("2026-05-03 23:59", 1, weekends=False).deadline == at("2026-05-05 00:00", BERLIN)

    def test_grace_counts_them(self) -> None:
        friday = clock("2026-05-01 18:00", 5, weekends=False)
        assert friday.deadline == at("2026-05-08 18:00", BERLIN)
        assert friday.grace_ends == at("2026-05-11 18:00", BERLIN)


def holiday(first: str, last: str, now: str = "2026-01-01 00:00") -> Stop:
    return vacation_stop(date.fromisoformat(first), date.fromisoformat(last), BERLIN, at(now))


class TestVacations:
    def test_days_from_midnight_to_midnight(self) -> None:
        stop = holiday("2026-12-20", "2027-01-03")
        assert stop == Stop(at("2026-12-20 00:00", BERLIN), at("2027-01-04 00:00", BERLIN), VACATION)

    def test_one_that_begins_today_begins_now(self) -> None:
        assert holiday("2026-05-04", "2026-05-04", "2026-05-04 10:00").began == at("2026-05-04 10:00")

    def test_the_clock_stands_over_the_years_end(self) -> None:
        running = clock("2026-12-18 12:00")
        away = running.with_stops(VACATION, [holiday("2026-12-20", "2027-01-03")])
        assert running.deadline == at("2026-12-25 12:00", BERLIN)
        assert away.deadline == at("2027-01-09 12:00", BERLIN)

    def test_it_never_rescues_a_deadline_already_passed(self) -> None:
        late = clock("2026-05-01 12:00")
        assert late.with_stop(holiday("2026-05-09", "2026-05-20")).deadline == late.deadline
        assert late.with_stop(holiday("2026-05-09", "2026-05-20")).grace_ends == late.grace_ends

    def test_the_budget_counts_days_of_each_year_once(self) -> None:
        taken = [(date(2026, 12, 20), date(2027, 1, 3)), (date(2027, 1, 3), date(2027, 1, 4))]
        assert days_of_year(taken) == {2026: 12, 2027: 4}
        assert days_of_year([]) == {}


class TestOutages:
    @pytest.mark.parametrize(
        ("began", "ended", "deadline"),
        [
            ("2026-05-02 12:00", "2026-05-05 12:00", "2026-05-11 12:00"),
            ("2026-05-07 12:00", "2026-05-10 12:00", "2026-05-11 12:00"),  # over the deadline
            ("2026-05-08 12:00", "2026-05-11 12:00", "2026-05-08 12:00"),  # within the grace
            ("2026-04-20 12:00", "2026-05-02 12:00", "2026-05-09 12:00"),  # from before
        ],
    )
    def test_what_was_lost_is_given_back(self, began: str, ended: str, deadline: str) -> None:
        moved = clock("2026-05-01 12:00").with_stop(Stop(at(began, BERLIN), at(ended, BERLIN), "outage"))
        assert moved.deadline == at(deadline, BERLIN)
        expected = at("2026-05-14 12:00" if deadline == "2026-05-08 12:00" else deadline, BERLIN)
        assert moved.grace_ends == expected + timedelta(days=0 if deadline == "2026-05-08 12:00" else 3)

    def test_without_an_end_there_is_no_deadline(self) -> None:
        halted = clock("2026-05-01 12:00").with_stop(Stop(at("2026-05-02 12:00", BERLIN), None, "bounce"))
        assert (halted.deadline, halted.grace_ends, halted.reminders, halted.following()) == (None, None, (), None)
        assert halted.run(at("2026-07-01 00:00")) == D


class TestGifts:
    def test_from_now_on_when_the_deadline_has_passed(self) -> None:
        now = at("2026-05-09 08:00", BERLIN)
        assert clock("2026-05-01 12:00").given(3 * D, now).deadline == at("2026-05-12 08:00", BERLIN)
        over = clock("2026-05-01 12:00")
        assert over.deadline is not None
        assert over.given(3 * D, over.deadline).since == over.deadline, "at the deadline it has"


class TestBanks:
    def test_it_is_drawn_on_when_the_pace_is_over(self) -> None:
        banked = Clock(at("2026-05-01 12:00"), 24 * D, bank=21 * D)
        assert banked.deadline == at("2026-05-25 12:00")
        assert banked.left_in_bank(at("2026-05-03 12:00")) == 21 * D
        assert banked.left_in_bank(at("2026-05-04 12:00")) == 21 * D
        assert banked.left_in_bank(at("2026-05-06 12:00")) == 19 * D
        assert banked.left_in_bank(at("2026-06-30 12:00")) == 0

    def test_a_gift_is_used_before_it(self) -> None:
        banked = Clock(at("2026-05-01 12:00"), 24 * D, bank=21 * D).given(2 * D, at("2026-05-02 00:00"))
        assert banked.left_in_bank(at("2026-05-06 12:00")) == 21 * D


class TestReminders:
    def test_half_time_one_day_before_and_at_the_deadline(self) -> None:
        assert clock("2026-05-01 12:00").reminders == (
            at("2026-05-05 00:00", BERLIN),
            at("2026-05-07 12:00", BERLIN),
            at("2026-05-08 12:00", BERLIN),
        )

    def test_one_day_before_is_left_out_when_half_of_the_time_is_no_more(self) -> None:
        half, day, deadline = clock("2026-05-01 12:00", 2).reminders
        assert (half, day, deadline) == (at("2026-05-02 12:00", BERLIN), None, at("2026-05-03 12:00", BERLIN))

    def test_each_kind_once_and_never_in_a_heap(self) -> None:
        running = clock("2026-05-01 12:00")
        assert running.reminder(at("2026-05-04 23:59", BERLIN)) is None
        assert running.reminder(at("2026-05-05 00:00", BERLIN)) == "half"
        assert running.reminded_by(at("2026-05-05 00:00", BERLIN)).reminder(at("2026-05-07 11:00", BERLIN)) is None
        late = at("2026-05-08 12:00", BERLIN)
        assert running.reminder(late) == "deadline"
        assert running.reminded_by(late).reminder(late) is None
        # More time does not bring back what was sent.
        assert running.reminded_by(late).given(7 * D, at("2026-05-08 13:00")).reminder(at("2026-05-30 00:00")) is None


class TestZones:
    def test_written_out(self) -> None:
        assert written(at("2026-03-08 12:00"), BERLIN) == "Sunday 8 March 2026, 13:00 Europe/Berlin (UTC+1)"
        assert written(at("2026-07-08 12:00"), KOLKATA) == "Wednesday 8 July 2026, 17:30 Asia/Kolkata (UTC+5:30)"
        assert written(at("2026-07-08 02:00"), NEW_YORK) == "Tuesday 7 July 2026, 22:00 America/New_York (UTC-4)"
        assert written(at("2026-07-08 02:00"), "UTC") == "Wednesday 8 July 2026, 02:00 UTC"
        assert written(at("2026-12-08 02:00"), "America/St_Johns").endswith("22:30 America/St_Johns (UTC-3:30)")
        assert written(at("2026-12-08 02:00"), "Europe/London").endswith("02:00 Europe/London (UTC)")

    def test_the_day_on_a_calendar(self) -> None:
        assert on_a_day(at("2026-12-31 23:30"), BERLIN) == date(2027, 1, 1)

    def test_a_day_that_a_zone_left_out(self) -> None:
        """Samoa went from 29 to 31 December 2011; nobody loses more than the day that was not there."""
        assert on_the_wall(WALL.replace(2011, 12, 30, 12), "Pacific/Apia") == at("2011-12-30 22:00")


STOPS = st.lists(
    st.tuples(st.integers(0, 40 * 24), st.integers(0, 10 * 24), st.sampled_from([VACATION, "outage"])), max_size=4
)


@given(st.sampled_from(ZONES), st.booleans(), STOPS, st.integers(3600, 20 * D))
def test_a_clock_has_run_its_time_at_its_deadline(
    zone: str, weekends: bool, stops: list[tuple[int, int, str]], seconds: int
) -> None:
    since = at("2026-10-10 07:30")
    made = [Stop(since + timedelta(hours=b), since + timedelta(hours=b + n), why) for b, n, why in stops]
    running = Clock(since, seconds, D, zone=zone, weekends=weekends, stops=tuple(made))
    deadline = running.deadline
    assert deadline is not None
    assert not [stop for stop in made if stop.ended and stop.began < deadline < stop.ended]
    assert abs(running.run(deadline) - seconds) <= 3600  # an hour that the clock shows twice
    assert msgspec.convert(msgspec.to_builtins(running), Clock) == running
    half, day, last = running.reminders
    assert [time for time in (half, day, last) if time] == sorted(time for time in (half, day, last) if time)
    assert running.grace_ends is not None
    assert running.grace_ends >= deadline + timedelta(hours=23)
    # One more stop never brings a deadline forward.
    later = running.with_stop(Stop(since + timedelta(days=3), since + timedelta(days=5), "outage")).deadline
    assert later is not None
    assert later >= deadline
