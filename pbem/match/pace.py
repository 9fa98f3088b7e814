"""What the clock does to a match: reminders, misses, and all that moves a deadline.

Each event takes a `Step` and leads it on, as the events of `life` do; what it does to a deadline is an entry of the
transcript. A deadline tells nobody anything about another seat: a clock runs for a seat that is asked whether or not
its answer is in. The arithmetic is in `clock`. Implements protocol.md, "A match", the clock.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from pbem.games import Fault, Refused
from pbem.match.changed import replace
from pbem.match.clock import VACATION, Clock, Stop
from pbem.match.life import RUNNING, UNREACHABLE, Notice, standing
from pbem.match.transcript import written
from pbem.phrase import Phrase

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import date

    from pbem.match.life import Form, Match, Signed, Step
    from pbem.match.terms import Terms

__all__ = [
    "arrive",
    "came",
    "catch_up",
    "claim",
    "claimed",
    "delay",
    "extend",
    "find",
    "long_enough",
    "lose",
    "miss",
    "out_of_reach",
    "tick",
    "vacation",
]

OUTAGE = "outage"
DELIVERY = "delivery"
GIFT = (3600, 30 * 86400)
"""The least and the greatest gift of time, in seconds."""

WEEK = timedelta(days=7)
MONTH = timedelta(days=30)


def tick(step: Step) -> None:
    """Do what is due by now: make up for outages, remind, note who missed the time, and advance the match."""
    catch_up(step)
    if step.match.paused:
        return
    now = step.world.now
    for seat, clock in sorted(step.match.clocks.items()):
        if not step.match.asked(seat) or seat in step.match.missed:
            continue
        patience = clock.patience
        if patience is not None and patience <= now:
            if step.world.heard is None or patience < step.world.heard:
                miss(step, seat)
        elif kind := clock.reminder(now):
            _set(step, seat, clock.reminded_by(now))
            step.notices.append(Notice("reminder", seat, step.match, {"reminder": kind}))
    step.advance()


def catch_up(step: Step) -> None:
    """Let the clocks stand for the times in which the server was out of reach."""
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
        step.enter("moved", {"seats": sorted(moved), "reason": OUTAGE, "until": written(until)})


def miss(step: Step, seat: int) -> None:
    """A seat's time and grace are over; what follows was agreed. All players are told."""
    match = step.match
    deadline = match.clocks[seat].deadline
    assert deadline is not None, "who has no deadline cannot miss it"
    body = {"game": match.game, "turn": match.turn, "seat": seat, "deadline": written(deadline)}
    entry = step.enter("missed", body)
    times = match.silent.get(seat, 0) + 1
    again = match.phase == "setup" and match.terms.miss == "pass" and times < 2
    silent = {**match.silent, seat: times}
    step.match = replace(step.match, silent=silent, missed_at={**match.missed_at, seat: entry.time})
    if again:  # there is no empty setup: it is asked for once more
        others = {other: clock for other, clock in match.clocks.items() if other != seat}
        step.start_clocks([seat])
        step.match = replace(step.match, clocks={**others, **step.match.clocks})
    else:
        step.match = replace(step.match, missed=match.missed | {seat})
    step.tell("missed", seat=seat, silent=times, again=again)


def came(match: Match, seat: int, received: datetime, now: datetime) -> datetime:
    """When a letter of this seat that is handled now counts as received; a clock that was set back is not believed.

    What is handled after a miss did not come before it, as all that had come in time was handled by then. What waits
    with a time that is still to come was here before.
    """
    waiting = [match.setups.get(seat), match.orders.get(seat)]
    waiting += [stored for (other, _), stored in match.stored.items() if other == seat]
    to_come = (time for submission in waiting if submission for time in submission.received if time > written(now))
    latest = max((match.missed_at.get(seat, ""), *to_come))
    return max(received, datetime.fromisoformat(latest)) if latest else received


def extend(step: Step, seat: int, seconds: int, form: Form, signed: Signed) -> list[int]:
    """A gift of time from this seat to the others that are asked; which they are. Raises `Refused`."""
    match = step.match
    to = sorted(other for other in match.clocks if other != seat)
    if not to:
        raise Refused(Fault("extend", match.id, Phrase("no deadline of your opponent runs")))
    if not GIFT[0] <= seconds <= GIFT[1]:
        raise Refused(Fault("extend", None, Phrase("a gift of time is 1h at least and 30d at most")))
    said = step.sentence("extend", seat, form, signed)
    step.enter("extended", {"seat": seat, "to": to, "seconds": seconds, **said})
    clocks = {other: match.clocks[other].given(seconds, step.now) for other in to}
    missed = match.missed & set(to)
    step.match = replace(
        step.match,
        clocks={**match.clocks, **clocks},
        missed=match.missed - missed,
        silent={other: times - (other in missed) for other, times in match.silent.items()},
    )
    step.notices.extend(Notice("extended", other, step.match, {"by": seat, "seconds": seconds}) for other in to)
    return to


def claim(step: Step, seat: int, form: Form, signed: Signed) -> None:
    """Claim the game, or the match where no game has begun, from those who missed their time. Raises `Refused`.

    From those whom no letter has reached for long nothing is won: the match ends, abandoned.
    """
    match = step.match
    if match.phase not in RUNNING:
        raise Refused(Fault("claim", match.id, Phrase("the match is not being played")))
    submissions = match.setups if match.phase == "setup" else match.orders
    answered = {other for other in match.seats if standing(submissions, other) or match.silent_by_now(other)}
    silent = sorted(match.missed - answered - {seat})
    lost = [other for other in match.seats if other != seat and out_of_reach(match, other, step.world.now)]
    if match.terms.claimable and silent and not match.asked(seat):
        claimed(step, seat, silent, form, signed)
    elif lost:
        claimed(step, seat, lost, form, signed)
    elif not match.terms.claimable:
        raise Refused(
            Fault("claim", match.id, Phrase("nothing is to be claimed: the agreed rules say what a miss means"))
        )
    elif match.asked(seat):
        raise Refused(
            Fault("claim", match.id, Phrase("the match waits for you, too: send what is asked of you first"))
        )
    else:
        raise Refused(Fault("claim", match.id, Phrase("nobody's time and grace are over")))


def claimed(step: Step, seat: int, against: Sequence[int], form: Form, signed: Signed) -> None:
    """The claim of this seat against those is granted. Raises `Refused` where it could never be."""
    match = step.match
    silent = match.terms.claimable and set(against) <= match.missed
    lost = all(out_of_reach(match, other, step.world.now) for other in against)
    if seat in against or not against or not (silent or lost):
        raise Refused(Fault("claim", match.id, Phrase("nobody's time and grace are over")))
    said = step.sentence("claim", seat, form, signed)
    step.enter("claimed", {"seat": seat, "against": list(against), **said})
    if silent:
        step.lose(against)
    else:
        step.abandon()


def vacation(step: Step, seat: int, stops: Iterable[Stop], said: tuple[date, date] | None) -> None:
    """A player's vacations as they are now; `said` is the one announced, None when they were called off."""
    if clock := step.match.clocks.get(seat):
        _set(step, seat, clock.with_stops(VACATION, stops))
    first, last = said or (None, None)
    body = {
        "seat": seat,
        "from": first.isoformat() if first else None,
        "to": last.isoformat() if last else None,
    }
    step.enter("vacation", body)
    for other in step.match.seats:
        if other != seat:
            step.notices.append(Notice("vacation", other, step.match, {"seat": seat, "first": first, "last": last}))


def delay(step: Step, seat: int, asked: datetime, since: datetime) -> None:
    """The letter that asked a seat then is not delivered yet: the clock stands from its sending on."""
    clock = step.match.clocks.get(seat)
    if clock is None or clock.since != asked or seat in step.match.missed:
        return
    _set(step, seat, clock.halted(DELIVERY, since))
    step.enter("halted", {"seat": seat, "reason": DELIVERY})


def arrive(step: Step, seat: int, asked: datetime, since: datetime, until: datetime) -> bool:
    """The letter that asked a seat then was late, and the clock stood so long; whether that matters still."""
    clock = step.match.clocks.get(seat)
    if clock is None or clock.since != asked or seat in step.match.missed:
        return False
    _set(step, seat, clock.with_stops(DELIVERY, [Stop(since, until, DELIVERY)]))
    step.enter("moved", {"seats": [seat], "reason": DELIVERY, "until": written(until)})
    return True


def lose(step: Step, seat: int, since: datetime) -> None:
    """No letter reaches a seat's player, the first one since then: the clock stands until `find`."""
    match = step.match
    if match.phase not in RUNNING or seat in match.unreachable:
        return
    clock = match.clocks.get(seat)
    if clock is not None and seat not in match.missed:
        _set(step, seat, clock.halted(UNREACHABLE, max(since, clock.since)))
    step.enter("halted", {"seat": seat, "reason": UNREACHABLE})
    step.match = replace(step.match, unreachable={**match.unreachable, seat: step.now})


def find(step: Step, seat: int) -> None:
    """A seat's player can be reached again: the clock runs on."""
    match = step.match
    if seat not in match.unreachable or match.phase not in RUNNING:
        return
    if clock := match.clocks.get(seat):
        _set(step, seat, clock.released(UNREACHABLE, step.world.now))
    step.match = replace(
        step.match, unreachable={one: when for one, when in match.unreachable.items() if one != seat}
    )
    step.enter("moved", {"seats": [seat], "reason": UNREACHABLE, "until": step.world.time})


def long_enough(terms: Terms) -> timedelta:
    """How long anybody must wait for a player whom no letter reaches: pace and grace, a week at the least.

    A month where there are no deadlines.
    """
    return max(timedelta(seconds=terms.pace + terms.grace), WEEK) if terms.pace else MONTH


def out_of_reach(match: Match, seat: int, now: datetime) -> bool:
    """Whether no letter has reached the seat's player for so long that nobody must wait any longer."""
    since = match.unreachable.get(seat)
    return since is not None and now - since >= long_enough(match.terms)


def _set(step: Step, seat: int, clock: Clock) -> None:
    match: Match = step.match
    step.match = replace(match, clocks={**match.clocks, seat: clock})
