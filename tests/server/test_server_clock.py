"""The rule of the clock: it never runs backwards, and stops if it leaps and nobody vouches for it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest

from pbem.config.mail import SmarthostConfig
from pbem.config.server import ClockConfig, Config
from pbem.server.server_clock import Machine, ServerClock
from pbem.store import noted_time
from pbem.store.database import Database
from pbem.store.sqlite import Sqlite

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

START = datetime(2026, 3, 1, 12, tzinfo=UTC)
MINUTE, HOUR, DAY, YEAR = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1), timedelta(days=365)
CONFIG = Config(server="play.example")


@dataclass
class Bench:
    """A machine whose clock is set by hand, and the store of its server."""

    database: Database
    wall: datetime = START
    boot: int = 1
    seconds: float = 100.0
    synchronised: bool = False

    def __post_init__(self) -> None:
        self.machine = Machine(
            lambda: self.wall, lambda: (f"boot {self.boot}", self.seconds), lambda: self.synchronised
        )

    def clock(self, config: Config = CONFIG) -> ServerClock:
        """The clock of a process that begins."""
        clock = ServerClock(self.machine, config)
        clock.look(self.database)
        return clock

    def go(self, time: timedelta) -> None:
        """Time goes by, whatever anybody does."""
        self.wall += time
        self.seconds += time.total_seconds()

    def reboot(self, time: timedelta) -> None:
        """The machine is off for so long."""
        self.wall += time
        self.boot, self.seconds = self.boot + 1, 1.0

    def note(self, clock: ServerClock) -> None:
        """The desk decides something."""
        with self.database.transaction():
            clock.note(self.database)


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    with Database(tmp_path / "store.sqlite") as database:
        bench = Bench(database)
        bench.note(bench.clock())
        yield bench


def test_time_goes_by_and_never_back(bench: Bench) -> None:
    clock = bench.clock()
    bench.go(MINUTE)
    assert clock() == START + MINUTE
    bench.wall -= 30 * MINUTE
    assert clock() == START + MINUTE
    assert clock.behind == 30 * MINUTE
    bench.go(29 * MINUTE)
    assert clock() == START + MINUTE
    bench.go(2 * MINUTE)
    assert clock() == START + 2 * MINUTE
    assert clock.leap is None


@pytest.mark.parametrize("by", [59 * MINUTE, -59 * MINUTE])
def test_less_than_an_hour_is_no_leap(bench: Bench, by: timedelta) -> None:
    clock = bench.clock()
    bench.wall += by
    assert clock() == max(START, START + by)
    assert clock.leap is None


@pytest.mark.parametrize("by", [2 * HOUR, YEAR, -2 * HOUR, -DAY, -YEAR])
@pytest.mark.parametrize("again", [False, True])
def test_a_leap_stops_it_until_it_is_right(bench: Bench, by: timedelta, *, again: bool) -> None:
    """A server that is started anew knows as much, while its machine is up."""
    clock = bench.clock()
    bench.wall += by
    bench.go(MINUTE)
    clock = bench.clock() if again else clock
    assert clock() == START + MINUTE, "what the machine counted"
    assert clock.leap is not None
    assert clock.leap.by == by
    assert (clock.leap.noted, clock.leap.wall) == (START, bench.wall)
    assert clock.stops()
    bench.note(clock)
    bench.wall -= by
    bench.go(MINUTE)
    assert bench.clock()() == clock() == START + 2 * MINUTE
    assert not clock.stops()


def test_after_a_boot_a_day_is_no_leap(bench: Bench) -> None:
    """Nobody knows how long the machine was off."""
    bench.reboot(23 * HOUR)
    assert bench.clock()() == START + 23 * HOUR
    bench.reboot(2 * HOUR)
    clock = bench.clock()
    assert (clock(), clock.leap is None) == (START, False)
    bench.go(HOUR)
    assert clock() == START, "the last noted time"
    assert clock.for_retries() == START + HOUR, "else the letter that tells the operator would be tried once"


def test_what_the_desk_knows_of_a_leap_is_known_where_it_cannot_be_told(bench: Bench) -> None:
    """A command on another machine of the store knows of it, and so does one that cannot tell boots apart."""
    desk = bench.clock()
    bench.wall += 2 * HOUR
    assert desk.stops()
    assert desk.leap is not None
    with bench.database.transaction():
        noted_time.note_stop(bench.database, desk.leap)
    assert bench.clock().stop == desk.leap
    other = Bench(bench.database, bench.wall, boot=7)
    assert other.clock().leap is None
    assert other.clock().stop == desk.leap
    other.clock().accept(bench.database)
    assert desk.look(bench.database) == START + 2 * HOUR
    assert not desk.stops()
    assert other.clock().stop is None


def test_an_earlier_snapshot_of_a_machine_takes_no_time_back(bench: Bench) -> None:
    bench.go(3 * HOUR)
    clock = bench.clock()
    bench.note(clock)
    bench.seconds -= 2 * HOUR.total_seconds()
    assert bench.clock().leap is None
    bench.wall += 2 * HOUR
    assert bench.clock()() == START + 3 * HOUR


@pytest.mark.parametrize("by", [2 * HOUR, YEAR])
@pytest.mark.parametrize("how", ["synchronised", "trusted", "trial"])
def test_a_leap_ahead_for_which_somebody_vouches_is_believed(bench: Bench, how: str, by: timedelta) -> None:
    config = {
        "synchronised": CONFIG,
        "trusted": Config(server="play.example", clock=ClockConfig(trusted=True)),
        "trial": Config(server="play.example", smarthost=SmarthostConfig(maildirs="mail")),
    }[how]
    clock = bench.clock(config)
    bench.synchronised = how == "synchronised"
    bench.wall += by
    assert clock() == START + by
    assert clock.leap is None
    bench.note(clock)
    bench.synchronised = False
    assert bench.clock()() == START + by


def test_after_a_leap_back_that_is_vouched_for_time_stands_still_until_it_is_reached(bench: Bench) -> None:
    bench.synchronised = True
    clock = bench.clock()
    bench.wall -= DAY
    assert clock() == START
    bench.note(clock)
    bench.synchronised = False
    for one in (clock, bench.clock()):
        assert (one(), one.leap, one.behind) == (START, None, DAY)
    bench.go(DAY + MINUTE)
    assert clock() == START + MINUTE


@pytest.mark.parametrize("by", [YEAR, -DAY])
def test_the_operator_accepts_it(bench: Bench, by: timedelta) -> None:
    """Also after a boot; and all processes of the server hear of it."""
    desk = bench.clock()
    bench.wall += by
    bench.reboot(timedelta())
    restarted = bench.clock()
    assert desk.stops()
    assert restarted.stops()
    bench.clock().accept(bench.database)
    for clock in (desk, restarted, bench.clock()):
        assert clock.look(bench.database) == max(START, START + by)
        assert not clock.stops()


def test_what_one_server_vouches_for_others_believe(bench: Bench) -> None:
    """They share a database, and only one of their machines can tell."""
    sure, other = bench.clock(), bench.clock()
    bench.wall += 2 * HOUR
    assert other.stops()
    bench.synchronised = True
    sure.look(bench.database)
    bench.synchronised = False
    assert other.look(bench.database) == START + 2 * HOUR
    assert not other.stops()


def test_servers_that_share_a_database_go_by_its_clock_and_by_the_seconds_that_go_by(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Sqlite, "time", lambda _, _here: START)
    bench.wall, bench.synchronised = START + YEAR, True
    clock = bench.clock()
    assert clock() == START
    bench.seconds += 2.5
    assert clock() == START + timedelta(seconds=2.5)


@pytest.mark.parametrize(("wrong_by", "synchronised"), [(YEAR, True), (2 * HOUR, False), (timedelta(), True)])
def test_a_server_vouches_for_the_databases_clock_if_its_own_agrees(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wrong_by: timedelta, *, synchronised: bool
) -> None:
    """The database's was two hours behind, and is set right, or the other way round."""
    with Database(tmp_path / "store.sqlite") as database:
        monkeypatch.setattr(Sqlite, "time", lambda _, _here: START - 2 * HOUR)
        clock = Bench(database, START + wrong_by, synchronised=synchronised).clock()
        monkeypatch.setattr(Sqlite, "time", lambda _, _here: START)
        assert clock.look(database) == (START if not wrong_by else START - 2 * HOUR)
        assert clock.stops() is bool(wrong_by)
        assert (noted_time.read(database) is None) is bool(wrong_by), "the others believe what one vouches for"
