"""No letter twice and none missing: random interleavings of players, clock, outages and crashes, against a model.

The model counts hours, one after the other; it knows nothing of intervals, calendars or transactions.
"""

from __future__ import annotations

import itertools
import logging
import tempfile
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import structlog
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test
from in_a_box.inquiries import held
from in_a_box.referee import Mailbox, Referee, body
from in_a_box.small_games import FLEETS

if TYPE_CHECKING:
    from email.message import EmailMessage


HOUR = timedelta(hours=1)
PACE, GRACE = 48, 24
POINTS = ("letter leased", "effects written", "effects committed", "clock written", "clock committed")


class Crash(BaseException):
    """The daemon dies here."""


class Mortal(Referee):
    """A referee whose daemon dies at a point, and is started again."""

    dies_at = ""

    def open_desk(self) -> None:
        super().open_desk()
        self.desk.points = self.point

    def point(self, name: str) -> None:
        if name == self.dies_at:
            self.dies_at = ""
            raise Crash

    def work(self) -> None:
        while True:
            try:
                return super().work()
            except Crash:
                self.restart()

    def wait(self, time: timedelta) -> None:
        end = self.now + time
        while True:
            try:
                return super().wait(end - self.now)
            except Crash:
                self.restart()

    def restart(self) -> None:
        self.inbox.release_all()
        self.outbox.release_all()
        self.open_desk()


@dataclass
class Seat:
    """One seat's clock, hour by hour."""

    ran: int = 0
    time: int = PACE
    grace: int = 0
    done: int = 0
    answered: bool = False
    missed: bool = False
    vacations: list[tuple[datetime, datetime]] = field(default_factory=list)
    letters: list[tuple[datetime, str]] = field(default_factory=list)

    def hour(self, began: datetime) -> None:
        if self.ran < self.time:
            self.ran += not any(first <= began < last for first, last in self.vacations)
        else:
            self.grace += 1

    @property
    def come(self) -> int:
        """How many kinds of reminders have had their time."""
        if self.ran >= self.time:
            return 3
        if self.time > PACE and self.ran >= self.time - 24:
            return 2
        return int(self.ran >= self.time / 2)


class Machine(RuleBasedStateMachine):
    """Ann and Bob, a clock, and a server that dies and is out of reach."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.referee = Mortal(Path(self.folder.name))
        setups = FLEETS
        people = self.referee.begun(f"fleet: cost:3\nsettle: 0\npace: {PACE}h\ngrace: {GRACE}h", setups)
        self.people: tuple[Mailbox, Mailbox] = people
        self.seats = (Seat(), Seat())
        self.before = [len(person.letters) for person in people]
        self.turn = 1
        self.number = itertools.count(1)

    def teardown(self) -> None:
        self.referee.send(self.people[0], "resign m1 match\n")
        held(self.people[0].find("the end"))
        self.referee.close()
        self.folder.cleanup()

    # The model.

    def tell(self, seat: int, kind: str) -> None:
        self.seats[seat].letters.append((self.now, kind))

    def look(self) -> None:
        """What the referee does when it looks at its clocks: what is over comes before what nears its end."""
        for seat in self.seats:
            if not seat.answered and not seat.missed and seat.ran >= seat.time and seat.grace >= GRACE:
                seat.missed = True
                self.tell(0, "missed")
                self.tell(1, "missed")
        for number, seat in enumerate(self.seats):
            if not seat.answered and not seat.missed and seat.come > seat.done:
                seat.done = seat.come
                self.tell(number, ("half", "day", "deadline")[seat.come - 1])

    # What happens.

    @rule(hours=st.integers(1, 40))
    def time_goes_by(self, hours: int) -> None:
        self.now = self.referee.now
        for _ in range(hours):
            for seat in self.seats:
                seat.hour(self.now)
            self.now += HOUR
            self.look()
        self.referee.wait(hours * HOUR)

    @rule(hours=st.integers(1, 60))
    def the_server_is_out_of_reach(self, hours: int) -> None:
        self.referee.outage(hours * HOUR)

    @rule(seat=st.integers(0, 1), final=st.booleans())
    def somebody_orders(self, seat: int, final: bool) -> None:
        self.now = self.referee.now
        person, mine = self.people[seat], self.seats[seat]
        rev = next(self.number)
        self.referee.send(person, person.filled("orders", "final\n" if final else "", rev))
        mine.done = max(mine.done, mine.come)
        mine.answered = True
        if all(one.answered for one in self.seats):
            self.turn += 1
            for number, one in enumerate(self.seats):
                one.ran, one.time, one.grace, one.done, one.answered, one.missed = 0, PACE, 0, 0, False, False
                self.tell(number, f"turn {self.turn - 1}")

    @precondition(lambda self: any(seat.answered for seat in self.seats))
    @rule()
    def somebody_thinks_again(self) -> None:
        self.now = self.referee.now
        seat = next(number for number, one in enumerate(self.seats) if one.answered)
        self.referee.send(self.people[seat], f"clear m1 turn {self.turn} # {next(self.number)}\n")
        mine = self.seats[seat]
        mine.done = max(mine.done, mine.come)
        mine.answered = False
        self.look()

    @rule(seat=st.integers(0, 1), hours=st.sampled_from([2, 24, 50]))
    def somebody_gives_time(self, seat: int, hours: int) -> None:
        self.now = self.referee.now
        self.referee.send(self.people[seat], f"extend m1 {hours}h # {next(self.number)}\n")
        other = self.seats[1 - seat]
        if other.ran >= other.time:
            other.ran, other.time = 0, hours
        else:
            other.time += hours
        other.grace, other.missed = 0, False
        other.done = max(other.done, other.come)
        self.tell(1 - seat, "extended")

    @rule(ahead=st.integers(0, 2), days=st.integers(1, 3))
    def bob_takes_a_vacation(self, ahead: int, days: int) -> None:
        self.now = self.referee.now
        first = self.now.date() + timedelta(days=ahead)
        last = first + timedelta(days=days - 1)
        self.referee.send(self.people[1], f"vacation {first} to {last} # {next(self.number)}\n")
        answer = next(one for one in reversed(self.people[1].letters) if "> vacation" in body(one))
        if f"Your vacation: {first} to {last}" not in body(answer):
            return
        midnight = self.now.replace(hour=0)
        began = max(midnight + timedelta(days=ahead), self.now)
        self.seats[1].vacations.append((began, midnight + timedelta(days=ahead + days)))
        self.tell(0, "vacation")

    @rule(point=st.sampled_from(POINTS))
    def the_daemon_will_die(self, point: str) -> None:
        self.referee.dies_at = point

    @invariant()
    def every_letter_came_once_and_at_its_time(self) -> None:
        for seat, person, before in zip(self.seats, self.people, self.before, strict=True):
            came = [(_date(letter), kind) for letter in person.letters[before:] for kind in _kinds(letter)]
            assert came == seat.letters
            assert len({letter["Message-ID"] for letter in person.letters}) == len(person.letters)


def _date(letter: EmailMessage) -> datetime:
    return datetime.strptime(str(letter["Date"]), "%a, %d %b %Y %H:%M:%S %z")


def _kinds(letter: EmailMessage) -> list[str]:
    """What a letter of the match tells, one thing after the other; an answer is nothing."""
    if not str(letter["Subject"]).startswith("[pbem m1]"):
        return []
    told = {"a deadline was missed": "missed", "you have more time": "extended", "a vacation": "vacation"}
    kinds = []
    for part in body(letter).split(f"\n\n{'=' * 72}\n\n"):
        title = next(line for line in part.split("\n") if ", match m1" in line)
        what = title.rpartition(": ")[2]
        if what == "a reminder":
            what = {"Hal": "half", "One": "day", "The": "deadline"}[part.split("\n\n")[1][:3]]
        kinds.append(told.get(what, what))
    return kinds


@pytest.mark.parametrize("examples", [8, pytest.param(300, marks=pytest.mark.long)])
def test_no_letter_is_sent_twice_and_none_is_missing(examples: int) -> None:
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
    try:
        run_state_machine_as_test(
            Machine, settings=settings(max_examples=examples, stateful_step_count=30, deadline=None)
        )
    finally:
        structlog.reset_defaults()
