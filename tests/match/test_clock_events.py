"""Clocks of a match: time that is over, seats out of reach, pauses; and who loses by silence."""

from __future__ import annotations

from datetime import timedelta
from functools import partial
from typing import Any

import pytest
from match.by_hand import START, Table, signed
from msgspec.structs import replace

from pbem.match import progress, submissions
from pbem.match.events import begun, clocks, interventions
from pbem.match.remaking import Remaking
from pbem.match.seat_clock import Calendar, Stop
from pbem.match.state import losing_seats
from pbem.match.step import Environment, Step
from pbem.match.transcript import Entry
from pbem.requests import DEFAULT


class TestWithoutClocks:
    def test_a_vacation_is_told_all_the_same(self) -> None:
        table = Table(pace="none").agree()
        step = table.step()
        clocks.announce(step, 1, [], None)
        table.done(step)
        assert table.types == ["agreed", "vacation"]
        assert table.kinds == [("vacation", 2)]


@pytest.mark.parametrize(
    ("kind", "body", "unreachable"),
    [
        ("halted", {"seat": 2, "reason": "unreachable"}, {1, 2}),
        ("halted", {"seat": 2, "reason": "delivery"}, {1}),
        ("moved", {"seats": [1], "reason": "unreachable"}, set()),
        ("moved", {"seats": [2], "reason": "unreachable"}, {1}),
        ("moved", {"seats": [1, 2], "reason": "delivery"}, {1}),
        ("moved", {"seats": [1, 2], "reason": "outage"}, {1}),
    ],
)
def test_who_can_be_reached_is_remade_from_the_servers_word(
    kind: str, body: dict[str, Any], unreachable: set[int]
) -> None:
    """Or the others could give away the seat of somebody who is there again."""
    match = replace(Table(unreachable="stands").agree().begin().match, unreachable={1: START})
    time = "2026-03-02T12:00:00Z"
    entry = Entry(match.seq + 1, match.head, time, kind, body)
    source: Any = None
    step = clocks.remake(Remaking(match, entry, source, [entry], {}, lambda _: None))
    assert [(made.type, made.body) for made in step.entries] == [(kind, body)]
    assert set(step.match.unreachable) == unreachable
    assert step.match.unreachable.get(1, START) == START
    assert step.match.unreachable.get(2, START + timedelta(days=1)) == START + timedelta(days=1)


def test_how_long_the_others_wait_for_who_is_out_of_reach() -> None:
    """Pace and grace, at least a week; a month where there are no deadlines."""
    for pace, grace, days in (("3d", "1d", 7), ("6d", "2d", 8), ("none", "0", 30), ("none", "90d", 30)):
        assert clocks.long_enough(Table(pace=pace, grace=grace).match.terms) == timedelta(days=days)


class TestClocks:
    HOUR, DAY = timedelta(hours=1), timedelta(days=1)

    def test_time_is_over_with_its_last_second(self) -> None:
        table = Table(pace="1d", grace="1d").agree()
        for late, told in ((timedelta(seconds=-1), []), (timedelta(), ["missed", "missed"])):
            table.now = START + 2 * self.DAY + late
            step = table.step()
            progress.tick(step)
            assert [entry.type for entry in step.entries] == told

    def test_what_is_handled_after_a_miss_came_after_it(self) -> None:
        told = replace(Table().agree().match, late_from={1: START})
        early = START - self.HOUR
        counted = [told.play.counted_as_received(told, seat, early, default=False) for seat in (1, 2)]
        assert counted == [START, early]

    def test_default_orders_that_were_withdrawn_leave_a_trace_at_the_end(self) -> None:
        table = Table(miss="default").agree().begin()
        form = table.form(1, "", turn=DEFAULT)
        step = table.step()
        submissions.store(step, 1, form, signed(b"orders"))
        submissions.withdraw(step, 1, replace(form, rev=2), signed(b"clear"))
        table.done(step)
        table.papers.clear()
        table.resign(2)
        assert len([paper for paper in table.papers if paper.path.startswith("withdrawals/")]) == 1

    def test_a_vacation_that_was_announced_before_stops_the_clock(self) -> None:
        away = Stop(START + self.DAY, START + 3 * self.DAY, "vacation")
        calendars = {"ann": Calendar("Europe/Berlin", (away,)), "bob": Calendar()}
        table = Table(pace="3d")
        step = Step(table.match, Environment(START, table.die, "pbem 0", "00" * 32, calendars.__getitem__))
        begun.agree(step, table.players, [signed(player.name.encode()) for player in table.players])
        clocks = step.match.clocks
        assert {seat: (clock.zone, clock.stops) for seat, clock in clocks.items()} == {
            1: ("Europe/Berlin", (away,)),
            2: (Calendar().zone, ()),
        }
        assert clocks[2].deadline == START + 3 * self.DAY
        assert clocks[1].deadline == START + 5 * self.DAY

    def test_who_loses_by_silence(self) -> None:
        """Two missed turns in a row lose, or one, where that was agreed; nobody in a match that waits."""
        silent = {"missed": frozenset({1, 2}), "misses": {1: (7,), 2: (5, 8)}}
        found = {
            miss: losing_seats(replace(Table(miss=miss).agree().begin().match, **silent))
            for miss in ("pass", "pass always", "forfeit", "wait", "default")
        }
        assert found == {"pass": [2], "pass always": [], "forfeit": [1, 2], "wait": [], "default": []}


class TestPauses:
    def test_a_restore_stops_a_clock_that_stands_no_second_time(self) -> None:
        table = Table(pace="3d").agree()
        for event in (
            partial(interventions.pause, reason="the server moves"),
            partial(interventions.restored, generation=2),
        ):
            step = table.step()
            event(step)
            table.done(step)
            table.now += timedelta(days=1)
        assert [len(clock.stops) for clock in table.match.clocks.values()] == [1, 1]

    def test_a_seat_that_is_taken_meanwhile_gets_a_clock_that_stands(self) -> None:
        table = Table(pace="3d").agree()
        step = table.step()
        interventions.pause(step, "the server moves")
        table.done(step)
        for by in (1, 2):
            table.nominate(by, 1)
        table.take(1)
        assert [clock.deadline for clock in table.match.clocks.values()] == [None, None]

    def test_nobody_misses_the_time_meanwhile_that_was_over_before(self) -> None:
        table = Table(pace="3d").agree()
        table.now += timedelta(days=100)
        step = table.step()
        interventions.pause(step, "the server was out of reach")
        table.done(step)
        step = table.step()
        progress.tick(step)
        assert (step.entries, step.notices) == ([], [])
