"""A clock that leaps: nothing is decided until somebody vouches for it, and nobody loses time by that.

Implements reliability.md, case 38. `tests/server/test_server_clock.py` has the rule; whole weeks with such clocks are
simulated (simulation/).
"""

from __future__ import annotations

import threading
from datetime import datetime, timedelta
from email.utils import format_datetime
from typing import TYPE_CHECKING

import pytest
from in_a_box.referee import START, Mailbox, Referee
from judges.honest import accused

from pbem.desk.letter_handling import WorkingDesk
from pbem.match.transcript import Entry
from pbem.server.desk_work import Supplies, Work
from pbem.server.server_clock import Machine, ServerClock
from pbem.store import noted_time
from pbem.store.database import from_db

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


MINUTE, HOUR, DAY, YEAR = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1), timedelta(days=365)
LEAPT, OUTAGE = "[pbem] The server's clock leapt: nothing is decided", "[pbem] An outage: all deadlines move"


class Clocked(Referee):
    """A referee whose desk and intake go by the clock of a machine, which is set by hand."""

    def __init__(self, folder: Path) -> None:
        self.wall, self.boot, self.seconds, self.synchronised = START, 1, 100.0, False
        super().__init__(folder)
        self.operator = self.person("operator")
        self.people[self.config.operator] = self.operator
        self.work()

    def open_desk(self) -> None:
        super().open_desk()
        self.database.engine.time = lambda here: here  # type: ignore[method-assign]  # a shared database has its own
        self.inbox.release_all()
        machine = Machine(lambda: self.wall, lambda: (f"boot {self.boot}", self.seconds), lambda: self.synchronised)
        self.clock = ServerClock(machine, self.config)
        supplies = Supplies(self.config, machine, event=threading.Event)
        self._work = Work(WorkingDesk(self.desk), self.database, supplies, lambda: None)
        self.clock.look(self.database)

    @property
    def now(self) -> datetime:
        """The time at which the intake receives a letter."""
        return self.clock()

    @now.setter
    def now(self, now: datetime) -> None:
        assert now == START

    def work(self) -> None:
        self.clock.look(self.database)
        while not self._work._handle_batch() or self.look_up():
            pass
        self.collect()

    def wait(self, time: timedelta) -> None:
        """Time goes by on the machine, whatever its clock shows."""
        end = self.seconds + time.total_seconds()
        while self.seconds < end:
            step = min(600.0, end - self.seconds)
            self.seconds += step
            self.wall += timedelta(seconds=step)
            self.work()

    def reboot(self) -> None:
        """The machine is off for a moment."""
        self.boot, self.seconds = self.boot + 1, 1.0
        self.open_desk()
        self.work()

    def told(self) -> list[str]:
        return [str(letter["Subject"]) for letter in self.operator.letters]

    def types(self) -> list[str]:
        return [Entry.read(row.entry).type for row in self.desk.archive.matches.entries(1)]

    def state(self) -> tuple[object, ...]:
        """The state that only a decision changes, and the noted times."""
        done = self.database.scalar("SELECT count(*) FROM inbox WHERE state = 'done'")
        return noted_time.read(self.database), self.desk.time.ago(START, HOUR), self.types(), done


@pytest.fixture
def referee(tmp_path: Path) -> Iterator[Clocked]:
    referee = Clocked(tmp_path)
    yield referee
    referee.close()


def half_played(referee: Clocked) -> tuple[Mailbox, Mailbox]:
    """A match in which Ann has answered, and a day is left to Bob, who would lose."""
    ann, bob = referee.begun("pace: 2d\ngrace: 1h\nmiss: forfeit\nsettle: 0")
    referee.turn((ann, "Gx3"))
    referee.wait(DAY)
    return ann, bob


def received(referee: Clocked) -> datetime:
    return from_db(referee.database.scalar("SELECT max(received) FROM inbox"))


STOPS = [(YEAR, True), (2 * HOUR, False), (YEAR, False), (-DAY, False), (-DAY, True)]


@pytest.mark.parametrize(("by", "boots"), STOPS)
def test_nothing_is_decided_while_the_clock_is_wrong(referee: Clocked, by: timedelta, *, boots: bool) -> None:
    """And when it is right again, all goes on, and Bob has as much time as he had before."""
    ann, bob = half_played(referee)
    before, noted, letters = referee.state(), referee.now, (len(ann.letters), len(bob.letters))
    referee.wall += by
    if boots:
        referee.reboot()
    referee.wait(3 * HOUR)
    referee.send(bob, bob.filled("orders", ""), follow=False)
    assert received(referee) == (noted if boots else noted + 3 * HOUR)
    referee.wait(3 * HOUR)
    assert referee.state() == before
    assert (len(ann.letters), len(bob.letters)) == letters
    assert referee.told() == [LEAPT]
    assert ("leapt ahead" in referee.operator.text) is (by > timedelta())
    if boots:  # and again
        referee.reboot()
    assert referee.told() == [LEAPT]
    referee.wall -= by
    referee.work()
    assert referee.types()[-2:] == ["moved", "turn"]
    assert referee.told() == [LEAPT, OUTAGE]
    assert referee.match().turn == 2
    referee.send(bob, "resign m1 match\n")
    assert accused(referee) == []


@pytest.mark.parametrize(
    ("by", "boots", "accepted"), [(YEAR, True, True), (YEAR, False, False), (-DAY, False, True), (-DAY, True, False)]
)
def test_once_it_is_vouched_for_all_goes_on_by_it(
    referee: Clocked, by: timedelta, *, boots: bool, accepted: bool
) -> None:
    """The time that it took away is given back."""
    half_played(referee)
    noted = referee.now
    referee.synchronised = not accepted
    referee.wall += by
    if boots:
        referee.reboot()
    if accepted:
        referee.wait(2 * HOUR)
        referee.clock.accept(referee.database)
    referee.work()
    ahead = by > timedelta()
    counted = 2 * HOUR * (accepted and (ahead or not boots))
    assert referee.told() == [LEAPT] * accepted + [OUTAGE] * (ahead or bool(counted))
    assert referee.now == noted + by * ahead + counted
    assert lost(referee) == referee.now - noted
    referee.wait(20 * HOUR if ahead else DAY + 20 * HOUR)
    assert "forfeited" not in referee.types()
    referee.wait(6 * HOUR)
    assert "forfeited" in referee.types()
    assert accused(referee) == []


@pytest.mark.parametrize("accepted", [False, True])
def test_a_letter_of_today_is_not_refused_because_the_server_was_off_for_days(
    referee: Clocked, *, accepted: bool
) -> None:
    """Its date is days later than the time noted last, by which it was received."""
    _, bob = half_played(referee)
    referee.wall += 3 * DAY
    referee.reboot()
    referee.wait(HOUR)
    headers = f"Date: {format_datetime(referee.wall)}\n"
    referee.deliver(referee.raw(bob, referee.signed(bob, bob.filled("orders", "")), headers=headers), bob.address)
    referee.wait(HOUR)
    if accepted:
        referee.clock.accept(referee.database)
    referee.synchronised = not accepted
    referee.work()
    assert received(referee) == referee.now
    assert referee.types()[-2:] == ["moved", "turn"]
    referee.send(bob, "resign m1 match\n")
    assert accused(referee) == []


def lost(referee: Clocked) -> timedelta:
    """The time for which the clocks of matches make up."""
    return sum((stop.ended - stop.began for stop in referee.desk.time.outages(START) if stop.ended), timedelta())


def test_a_machine_that_sleeps_for_a_weekend_goes_on_by_itself(referee: Clocked) -> None:
    half_played(referee)
    referee.seconds += 3 * DAY.total_seconds()
    referee.wall += 3 * DAY
    referee.work()
    referee.wait(20 * HOUR)
    assert referee.told() == [OUTAGE]
    assert lost(referee) == 3 * DAY
    assert "forfeited" not in referee.types()


def test_a_stop_of_minutes_is_an_outage_too(referee: Clocked) -> None:
    half_played(referee)
    referee.wall += YEAR
    referee.wait(20 * MINUTE)
    referee.wall -= YEAR
    referee.work()
    assert referee.told() == [LEAPT, OUTAGE]
    assert lost(referee) == 20 * MINUTE


def test_each_leap_is_told(referee: Clocked) -> None:
    for _ in range(2):
        referee.wall += YEAR
        referee.wait(20 * MINUTE)
        referee.wall -= YEAR
        referee.wait(20 * MINUTE)
    assert referee.told() == [LEAPT, OUTAGE] * 2
