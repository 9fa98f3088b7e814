"""A clock stands still, by the server's word: a letter is not delivered yet, or no letter reaches the player.

Implements protocol.md, "A match", the clock.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from pbem.match.changed import replace
from pbem.match.entry_forms import mapping, one_of, seat_number
from pbem.match.entry_type import EntryType
from pbem.match.state import RUNNING, UNREACHABLE

if TYPE_CHECKING:
    from datetime import datetime

    from pbem.match.remaking import Remaking
    from pbem.match.state import Match
    from pbem.match.step import Step
    from pbem.match.terms import Terms


DELIVERY = "delivery"

WEEK = timedelta(days=7)
MONTH = timedelta(days=30)


def delay(step: Step, seat: int, asked: datetime, since: datetime) -> None:
    """The letter that asked a seat is not delivered yet: the clock stands from its sending on."""
    clock = step.match.clocks.get(seat)
    if clock is None or clock.since != asked or seat in step.match.missed:
        return
    step.set_clock(seat, clock.halted(DELIVERY, since))
    step.append_entry("halted", {"seat": seat, "reason": DELIVERY})


def lose(step: Step, seat: int, since: datetime) -> None:
    """No letter reaches a seat's player since then: the clock stands until `find`, if the terms say so.

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


ENTRY = EntryType(
    "halted",
    mapping({"seat": seat_number, "reason": one_of(DELIVERY, UNREACHABLE)}),
    remake=remake,
    says="the clock of seat {seat} stands: {reason} (the server's word)",
    between=True,
)
