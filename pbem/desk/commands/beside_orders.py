"""The words of players beside their orders: resignations, draws and annulments, time given and taken.

Messages are in `press`. Implements protocol.md, "Commands" (`resign`, `draw`, `annul`, `vacation`, `extend`, `claim`)
and "A match".
"""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING

from pbem.desk.caller import Caller, refused
from pbem.desk.outcomes import Reply
from pbem.desk.seats import SeatContext, Seats, running
from pbem.games import Fault, refuse
from pbem.match import progress
from pbem.match.events import clocks, endings, silence
from pbem.match.events.clocks import announce
from pbem.match.naming import hides_players
from pbem.match.seat_clock import days_of_year, on_a_day, vacation_stop, written
from pbem.match.state import RUNNING
from pbem.phrase import Phrase, Span, either
from pbem.requests import Draw
from pbem.store.database import to_db
from pbem.store.players import Players, VacationRow

if TYPE_CHECKING:
    from pbem.desk.match_environment import OutagesAndZones
    from pbem.mail.commands import Command
    from pbem.requests import Annul, Claim, Extend, Resign, TakeVacation

_AHEAD = 366
"""The most days ahead that a vacation may be announced."""

_ANOTHER = Phrase("you have a vacation from {other} to {end}; cancel it first: `vacation off`")

_TOO_LONG = Phrase("{days} days of vacation in {year}; {budget} a year are allowed")


def resign(seated: SeatContext, caller: Caller, command: Command[Resign]) -> Reply:
    """`resign`: the game is given up, or the whole match."""
    match, whole = seated.match, command.request.whole
    if not whole and match.phase in RUNNING and command.request.game != match.game:
        wanted = either(f"`{words}`" for words in endings.ways_to_resign(match))
        raise refused("resign", None, Phrase("say what you resign: {wanted}", wanted=wanted))
    others_play = endings.position_after(match, seated.seat, whole_match=whole) is not None
    step, _ = seated.say(caller, command, endings.resign)
    level = "" if hides_players(match) else caller.signed.level
    what = Phrase("the whole match") if whole else Phrase("game {game} of match", game=match.game)
    # Where the others play on, they are told so with the match's own letters.
    for seat in match.seats if not others_play else ():
        if seat != seated.seat:
            by = seated.name(seated.seat, seat)
            subject = Phrase("{by} resigned", by=by)
            seated.write_to(seat, "resigned", subject, caller.now, by=by, what=what, level=level)
    progress.advance(step)  # the turn may have waited for this seat alone
    goes_on = (step.match.phase, step.match.game, step.match.awaits) == ("playing", match.game, None)
    seated.commit(step)
    return Reply("resign", {"what": what, "goes_on": goes_on} | seated.facts(), at=seated)


def agree(seated: SeatContext, caller: Caller, command: Command[Draw | Annul]) -> Reply:
    """`draw` or `annul`: an agreement is offered, accepted or declined."""
    step, agreed = seated.say(caller, command, endings.agree)
    seated.commit(step)
    some = command.request.sharing if isinstance(command.request, Draw) else ()
    facts = {"agreement": command.name, "word": command.request.word, "some": some, "agreed": agreed}
    return Reply("agreement", facts | seated.facts(), at=seated)


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
        said = _days(players, budget, player, command.request, today, to_db(now))
        stop = vacation_stop(*said, zone, now)
        assert stop.ended is not None
        row = VacationRow(said[0].isoformat(), said[1].isoformat(), to_db(stop.began), to_db(stop.ended))
        players.take_vacation(player, row)
    deadlines, told = {}, False
    for seated in running(seats, player):
        told |= not hides_players(seated.match)
        step = seated.step(now)
        clocks.catch_up(step)
        runs = step.match.clocks.get(seated.seat)
        stops = time.calendar(player, runs.since if runs else now).vacations
        announce(step, seated.seat, stops, said)
        seated.commit(step)
        runs = seated.match.clocks.get(seated.seat)
        if runs and runs.deadline and seated.match.asked(seated.seat):
            deadlines[seated.match.id] = written(runs.deadline, runs.zone)
    rows = players.vacations(player, to_db(now))
    left = budget - _taken(players, player).get(today.year, 0)
    facts = {"vacations": rows, "left": left, "year": today.year, "deadlines": deadlines, "told": told}
    return Reply("vacation", facts)


def _days(players: Players, budget: int, player: str, said: TakeVacation, today: date, now: str) -> tuple[date, date]:
    """The days of a vacation, if they overlap no other that is not over and are within each year's budget."""
    given = said.first, said.last
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
        for row in players.vacations(player, now)
        if row.first <= given[1] and given[0] <= row.last
    ]
    if not faults:
        faults += [
            Fault("vacation", None, _TOO_LONG.given(days=days, year=year, budget=budget))
            for year, days in _taken(players, player, (first, last)).items()
            if days > budget
        ]
    refuse(faults)
    return first, last


def _taken(players: Players, player: str, *more: tuple[date, date]) -> dict[int, int]:
    """The player's days of vacation in each year."""
    rows = players.vacations(player)
    return days_of_year([*((date.fromisoformat(row.first), date.fromisoformat(row.last)) for row in rows), *more])


def extend(seated: SeatContext, caller: Caller, command: Command[Extend]) -> Reply:
    """`extend`: a gift of time to the opponents."""
    step, to = seated.say(caller, command, clocks.extend)
    seated.commit(step)
    facts = {"to": [seated.name(seat, seated.seat) for seat in to], "time": Span.of(command.request.seconds)}
    return Reply("extend", facts | seated.facts(), at=seated)


def claim(seated: SeatContext, caller: Caller, command: Command[Claim]) -> Reply:
    """`claim`: the game, or the end of the match, against silent players."""
    step, _ = seated.say(caller, command, silence.claim)
    progress.advance(step)  # those who are left may all have ordered
    goes_on = (step.match.phase, step.match.game, step.match.awaits) == ("playing", seated.match.game, None)
    seated.commit(step)
    return Reply("claim", {"goes_on": goes_on} | seated.facts(), at=seated)
