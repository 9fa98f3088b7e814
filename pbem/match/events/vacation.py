"""A player is on vacation, or called a vacation off, by the server's word.

Implements protocol.md, "Commands" (`vacation`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pbem.match.entry_forms import day, either, mapping, one_of, seat_number
from pbem.match.entry_type import EntryType
from pbem.match.events.halted import remake
from pbem.match.seat_clock import VACATION, Stop

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import date

    from pbem.match.step import Step


def announce(step: Step, seat: int, stops: Iterable[Stop], said: tuple[date, date] | None) -> None:
    """A player's vacations as they are now; `said` is the one announced, None if they were called off."""
    if clock := step.match.clocks.get(seat):
        step.set_clock(seat, clock.with_stops(VACATION, stops))
    first, last = said or (None, None)
    days = {"from": first and first.isoformat(), "to": last and last.isoformat()}
    step.append_entry("vacation", {"seat": seat, **days})
    step.notify("vacation", seat, seat=seat, first=first, last=last)


ENTRY = EntryType(
    "vacation",
    either(
        mapping({"seat": seat_number, "from": day, "to": day}),
        mapping({"seat": seat_number, "from": one_of(None), "to": one_of(None)}),
    ),
    remake=remake,
    says="a vacation of seat {seat} (the server's word)",
    between=True,
)
