"""A player gives the others more time.

Implements protocol.md, "Commands" (`extend`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pbem.games import Fault, Refused
from pbem.match.changed import replace
from pbem.match.entry_forms import number, said, seat_number, seats
from pbem.match.entry_type import EntryType
from pbem.match.step import Notice
from pbem.phrase import Phrase
from pbem.requests import Extend

if TYPE_CHECKING:
    from pbem.match.remaking import Remaking
    from pbem.match.signed import Signed
    from pbem.match.step import Step
    from pbem.requests import SignedForm


GIFT = (3600, 30 * 86400)
"""The least and the greatest gift of time, in seconds."""


def extend(step: Step, seat: int, form: SignedForm[Extend], signed: Signed) -> list[int]:
    """A gift of time from this seat to the others that are asked; returns these. Raises `Refused`."""
    match, seconds = step.match, form.request.seconds
    to = sorted(other for other in match.clocks if other != seat)
    if not to:
        raise Refused(Fault("extend", match.id, Phrase("your opponent has no running deadline")))
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
        silent={other: times - (other in missed) for other, times in match.silent.items()},
    )
    step.notices.extend(Notice("extended", other, step.match, {"by": seat, "seconds": seconds}) for other in to)
    return to


def remake(remaking: Remaking) -> Step:
    """The gift again. That a deadline had passed shows only if it was missed: otherwise it may not have.

    What only the server knows may have moved it: an outage, say.
    """
    match, seconds = remaking.match, remaking.entry.body["seconds"]
    seat, form, signed = remaking.sentence("extend", Extend(match=match.id, seconds=seconds))
    step = remaking.at_work()
    for other in extend(step, seat, form, signed):
        if other not in match.missed:
            step.set_clock(other, replace(match.clocks[other], time=match.clocks[other].time + seconds))
    return step


ENTRY = EntryType(
    "extended",
    said(seat=seat_number, to=seats, seconds=number),
    remake=remake,
    says="a gift of {seconds} seconds from seat {seat} to seats {to}, signed",
    between=True,
    letter="extend",
)
