"""Time: vacations, gifts of time, and claims against silent players.

Implements protocol.md, "Commands" (`vacation`, `extend`, `claim`) and "A match", the clock.
"""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING

from pbem.desk.caller import Caller, Reply, refused
from pbem.desk.match_facts import duration
from pbem.desk.seats import SeatContext, Seats, running
from pbem.games import Fault, Refused
from pbem.match.events import claimed, extended, moved
from pbem.match.events.vacation import announce
from pbem.match.seat_clock import days_of_year, on_a_day, vacation_stop, written
from pbem.phrase import Phrase
from pbem.store.database import to_db
from pbem.store.players import Players, VacationRow

if TYPE_CHECKING:
    from pbem.desk.outages_and_zones import OutagesAndZones
    from pbem.mail.commands import Command
    from pbem.requests import Claim, Extend, TakeVacation

_AHEAD = 366
"""The most days ahead that a vacation may be announced."""

_ANOTHER = Phrase("you have a vacation from {other} to {end}; cancel it first: `vacation off`")
_TOO_LONG = Phrase("{days} days of vacation in {year}; {budget} a year are allowed")


def vacation(
    seats: Seats, players: Players, time: OutagesAndZones, budget: int, caller: Caller, command: Command[TakeVacation]
) -> Reply:
    """`vacation`: the player's clocks stand for these days, or run again."""
    player, now = caller.known_player.name, caller.now
    zone = time.zone(player)
    today = on_a_day(now, zone)
    said = None
    if command.request.off:
        if not players.vacations(player, to_db(now)):
            raise refused("vacation", "off", Phrase("you have no present or future vacation"))
        players.call_off(player, to_db(now), today.isoformat())
    else:
        said = _days(players, budget, player, command.request, today)
        stop = vacation_stop(*said, zone, now)
        assert stop.ended is not None
        row = VacationRow(said[0].isoformat(), said[1].isoformat(), to_db(stop.began), to_db(stop.ended))
        players.take_vacation(player, row)
    deadlines = {}
    for seated in running(seats, player):
        step = seated.step(now)
        moved.catch_up(step)
        runs = step.match.clocks.get(seated.seat)
        stops = time.calendar(player, runs.since if runs else now).vacations
        announce(step, seated.seat, stops, said)
        seated.commit(step)
        runs = seated.match.clocks.get(seated.seat)
        if runs and runs.deadline and seated.match.asked(seated.seat):
            deadlines[seated.match.id] = written(runs.deadline, runs.zone)
    rows = players.vacations(player, to_db(now))
    left = budget - _taken(players, player).get(today.year, 0)
    return Reply("vacation", {"vacations": rows, "left": left, "year": today.year, "deadlines": deadlines})


def _days(players: Players, budget: int, player: str, request: TakeVacation, today: date) -> tuple[date, date]:
    """The days of a vacation, if they overlap no other and are within each year's budget."""
    given = request.first, request.last
    try:
        first, last = map(date.fromisoformat, given)
    except ValueError:
        raise refused("vacation", " to ".join(given), Phrase("there is no such day")) from None
    faults = []
    if first < today:
        too_soon = Phrase("a vacation cannot begin before today, {today}", today=today)
        faults.append(Fault("vacation", given[0], too_soon))
    if last < first:
        faults.append(Fault("vacation", given[1], Phrase("a vacation must end after it begins")))
    if (last - today).days > _AHEAD:
        faults.append(Fault("vacation", given[1], Phrase("that is more than a year ahead")))
    faults += [
        Fault("vacation", None, _ANOTHER.given(other=row.first, end=row.last))
        for row in players.vacations(player)
        if row.first <= given[1] and given[0] <= row.last
    ]
    if not faults:
        faults += [
            Fault("vacation", None, _TOO_LONG.given(days=days, year=year, budget=budget))
            for year, days in _taken(players, player, (first, last)).items()
            if days > budget
        ]
    if faults:
        raise Refused(*faults)
    return first, last


def _taken(players: Players, player: str, *more: tuple[date, date]) -> dict[int, int]:
    """The player's days of vacation in each year."""
    rows = players.vacations(player)
    return days_of_year([*((date.fromisoformat(row.first), date.fromisoformat(row.last)) for row in rows), *more])


def extend(seated: SeatContext, caller: Caller, command: Command[Extend]) -> Reply:
    """`extend`: a gift of time to the opponents."""
    step, to = seated.say(caller, command, extended.extend)
    seated.commit(step)
    facts = {"to": [seated.match.name(seat) for seat in to], "time": duration(command.request.seconds)}
    return Reply("extend", facts | seated.facts(), at=seated)


def claim(seated: SeatContext, caller: Caller, command: Command[Claim]) -> Reply:
    """`claim`: the game, or the end of the match, against silent players."""
    step, _ = seated.say(caller, command, claimed.claim)
    seated.commit(step)
    return Reply("claim", seated.facts(), at=seated)
