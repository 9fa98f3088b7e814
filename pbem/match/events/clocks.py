"""Clocks stand still and deadlines move: by the server's word, or because a player gives the others time.

The server's word is an outage, a letter that is late, a player out of reach, a vacation. Implements protocol.md, "A
match", the clock, and "Commands" (`vacation`, `extend`).
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from msgspec.structs import replace

from pbem.games import Fault, Refused
from pbem.match.entry_type import (
    EntryType,
    day,
    either,
    mapping,
    number,
    one_of,
    seat_number,
    seats,
    sentence_form,
    time,
)
from pbem.match.naming import hides_players
from pbem.match.seat_clock import VACATION, Stop
from pbem.match.state import RUNNING, UNREACHABLE, without
from pbem.match.step import Notice
from pbem.match.transcript import written
from pbem.phrase import Phrase
from pbem.requests import Extend

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import date, datetime

    from pbem.json_object import JsonObject
    from pbem.match.remaking import Remaking
    from pbem.match.seat_clock import Clock
    from pbem.match.state import Match
    from pbem.match.step import Signed, Step
    from pbem.match.terms import Terms
    from pbem.requests import SignedForm

DELIVERY = "delivery"

WEEK = timedelta(days=7)
MONTH = timedelta(days=30)


def _note(step: Step, kind: str, body: JsonObject) -> None:
    """Enter the server's word about one player's clock, unless the match hides who that is.

    Other matches tell of the same vacation by name, and whoever can guess an entry recognises it by the next head.
    """
    if not hides_players(step.match):
        step.append_entry(kind, body)


def delay(step: Step, seat: int, asked: datetime, since: datetime) -> None:
    """The letter that asked a seat is not delivered yet: the clock stands from its sending on."""
    clock = step.match.clocks.get(seat)
    if clock is None or clock.since != asked or seat in step.match.missed:
        return
    step.set_clock(seat, clock.halted(DELIVERY, since))
    _note(step, "halted", {"seat": seat, "reason": DELIVERY})


def halt_unreachable(step: Step, seat: int, since: datetime) -> None:
    """No letter reaches a seat's player since then: the clock stands until `release_reached`, if the terms say so.

    Anybody can let letters bounce. By default it is silence: otherwise no player need ever lose by the clock.
    """
    match = step.match
    if match.phase not in RUNNING or seat in match.unreachable or match.terms.unreachable == "loses":
        return
    clock = match.clocks.get(seat)
    if clock is not None and seat not in match.missed:
        step.set_clock(seat, clock.halted(UNREACHABLE, max(since, clock.since)))
    step.append_entry("halted", {"seat": seat, "reason": UNREACHABLE})
    step.match = replace(step.match, unreachable={**match.unreachable, seat: step.world.now})


def long_enough(terms: Terms) -> timedelta:
    """The time that the others must wait for an unreachable player: pace and grace, at least a week.

    A month if there are no deadlines.
    """
    return max(timedelta(seconds=terms.pace + terms.grace), WEEK) if terms.pace else MONTH


def out_of_reach(match: Match, seat: int, now: datetime) -> bool:
    """True if no letter has reached the seat's player for so long that the others need not wait any longer."""
    since = match.unreachable.get(seat)
    return since is not None and now - since >= long_enough(match.terms)


def remake(remaking: Remaking) -> Step:
    """The server's notes about its own clocks; all that can be checked about them is checked at `missed`."""
    if remaking.match.phase not in RUNNING:
        raise remaking.untrue(None, f"`{remaking.entry.type}` does not follow here")
    step = remaking.at_work()
    step.append_entry(remaking.entry.type, remaking.entry.body)
    if remaking.entry.body.get("reason") == UNREACHABLE:
        if remaking.match.terms.unreachable == "loses":
            raise remaking.untrue(None, "by the terms no clock stands because letters bounce")
        halted = remaking.entry.type == "halted"
        seats = [remaking.seat()] if halted else remaking.entry.body["seats"]
        unreachable = {seat: since for seat, since in step.match.unreachable.items() if seat not in seats}
        unreachable |= dict.fromkeys(seats, step.world.now) if halted else {}
        step.match = replace(step.match, unreachable=unreachable)
    return step


HALTED = EntryType(
    "halted",
    mapping({"seat": seat_number, "reason": one_of(DELIVERY, UNREACHABLE)}),
    remake=remake,
    says="the clock of seat {seat} stands: {reason} (the server's word)",
    between=True,
    of_player=True,
)

OUTAGE = "outage"


def catch_up(step: Step) -> None:
    """Exclude from the clocks the times in which the server was out of reach."""
    moved: dict[int, Clock] = {}
    for seat, clock in sorted(step.match.clocks.items()):
        outages = [Stop(stop.began, stop.ended, OUTAGE) for stop in step.world.outages(clock.since)]
        if outages != [stop for stop in clock.stops if stop.reason == OUTAGE]:
            moved[seat] = clock.with_stops(OUTAGE, outages)
    if moved:
        step.match = replace(step.match, clocks={**step.match.clocks, **moved})
        ends = [
            stop.ended for clock in moved.values() for stop in clock.stops if stop.reason == OUTAGE and stop.ended
        ]
        until = max(ends, default=step.world.now)
        step.append_entry("moved", {"seats": sorted(moved), "reason": OUTAGE, "until": written(until)})


def arrive(step: Step, seat: int, asked: datetime, since: datetime, until: datetime) -> bool:
    """The letter that asked a seat was late, and the clock stood meanwhile; returns whether that still matters."""
    clock = step.match.clocks.get(seat)
    if clock is None or clock.since != asked or seat in step.match.missed:
        return False
    # Another letter about the same may have been late before: that a match goes on after a pause.
    stops = [stop for stop in clock.stops if stop.reason == DELIVERY]
    earlier = [stop for stop in stops if stop.ended is not None]
    began = min([since, *(stop.began for stop in stops if stop.ended is None)])
    step.set_clock(seat, clock.with_stops(DELIVERY, [*earlier, Stop(began, until, DELIVERY)]))
    _note(step, "moved", {"seats": [seat], "reason": DELIVERY, "until": written(until)})
    return True


def release_reached(step: Step, seat: int) -> None:
    """A seat's player can be reached again: the clock continues."""
    match = step.match
    if seat not in match.unreachable or match.phase not in RUNNING:
        return
    if clock := match.clocks.get(seat):
        step.set_clock(seat, clock.released(UNREACHABLE, step.world.now))
    step.match = replace(step.match, unreachable=without(match.unreachable, seat))
    step.append_entry("moved", {"seats": [seat], "reason": UNREACHABLE, "until": step.world.time})


MOVED = EntryType(
    "moved",
    mapping({"seats": seats, "reason": one_of(OUTAGE, DELIVERY, UNREACHABLE), "until": time}),
    remake=remake,
    says="deadlines of seats {seats} moved: {reason} (the server's word)",
    between=True,
    of_player=True,
)


def announce(step: Step, seat: int, stops: Iterable[Stop], announced: tuple[date, date] | None) -> None:
    """A player's vacations as they are now; `announced` is the one to come, None if they were called off."""
    if clock := step.match.clocks.get(seat):
        step.set_clock(seat, clock.with_stops(VACATION, stops))
    first, last = announced or (None, None)
    days = {"from": first and first.isoformat(), "to": last and last.isoformat()}
    _note(step, "vacation", {"seat": seat, **days})
    step.notify("vacation", seat, seat=seat, first=first, last=last)


ON_VACATION = EntryType(
    "vacation",
    either(
        mapping({"seat": seat_number, "from": day, "to": day}),
        mapping({"seat": seat_number, "from": one_of(None), "to": one_of(None)}),
    ),
    remake=remake,
    says="a vacation of seat {seat} (the server's word)",
    between=True,
    of_player=True,
)

GIFT = (3600, 30 * 86400)
"""The least and the greatest gift of time, in seconds."""


def extend(step: Step, seat: int, form: SignedForm[Extend], signed: Signed) -> list[int]:
    """A gift of time from this seat to the others that are asked; returns these. Raises `Refused`."""
    match, seconds = step.match, form.request.seconds
    to = sorted(other for other in match.clocks if other != seat)
    if seat in match.left:
        raise Refused(Fault("extend", match.id, Phrase("you are out of this game, and the others play on")))
    if not to:
        raise Refused(Fault("extend", match.id, Phrase("your opponent has no running deadline")))
    # Of three, two could else keep the third waiting for ever: one is silent, and the other gives time.
    if len(match.seats) > 2 and (seat, "extend") in match.sentence_revs:
        says = Phrase("you have given time for this already: where more than two play, each gives once a turn")
        raise Refused(Fault("extend", match.id, says))
    if not GIFT[0] <= seconds <= GIFT[1]:
        raise Refused(Fault("extend", None, Phrase("give at least 1h and at most 30d")))
    sentence = step.sentence("extend", seat, form, signed)
    step.append_entry("extended", {"seat": seat, "to": to, "seconds": seconds, **sentence})
    missed = match.missed & set(to)
    clocks = {other: match.clocks[other].given(seconds, step.world.now, missed=other in missed) for other in to}
    step.match = replace(
        step.match,
        clocks={**match.clocks, **clocks},
        missed=match.missed - missed,
        misses={other: made[: len(made) - (other in missed)] for other, made in match.misses.items()},
    )
    step.notices.extend(Notice("extended", other, step.match, {"by": seat, "seconds": seconds}) for other in to)
    return to


def _remake_extended(remaking: Remaking) -> Step:
    """The gift again. That a deadline had passed shows only if it was missed: otherwise it may not have.

    What only the server knows may have moved it: an outage, say.
    """
    match, seconds = remaking.match, remaking.entry.body["seconds"]
    seat, form, signed = remaking.sentence("extend", Extend(match=match.id, seconds=seconds))
    step = remaking.at_work()
    for other in extend(step, seat, form, signed):
        if other not in match.missed:
            step.set_clock(other, replace(match.clocks[other], time=match.clocks[other].time + seconds, bank=0))
    return step


EXTENDED = EntryType(
    "extended",
    sentence_form(seat=seat_number, to=seats, seconds=number),
    remake=_remake_extended,
    says="a gift of {seconds} seconds from seat {seat} to seats {to}, signed",
    between=True,
    letter="extend",
)
