"""A player claims the game from others who missed their time, or the end of the match if no letter reaches them.

Implements protocol.md, "Commands" (`claim`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pbem.games import Fault, Refused
from pbem.match.entry_forms import said, seat_number, seats
from pbem.match.entry_type import EntryType
from pbem.match.events.ended import abandon
from pbem.match.events.forfeited import lose
from pbem.match.events.halted import out_of_reach
from pbem.match.state import RUNNING, not_played, standing
from pbem.phrase import Phrase
from pbem.requests import Claim

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pbem.match.remaking import Remaking
    from pbem.match.signed import Signed
    from pbem.match.state import Match
    from pbem.match.step import Step
    from pbem.requests import SignedForm


def claim(step: Step, seat: int, form: SignedForm[Claim], signed: Signed) -> None:
    """Claim the game, or the match where no game has begun, from those who missed their time. Raises `Refused`.

    Against players whom no letter has reached for long, nothing is won: the match ends as abandoned.
    """
    match = step.match
    if match.phase not in RUNNING:
        raise Refused(Fault("claim", match.id, not_played(match)))
    # A claimant who missed the time, too, would lose; `silent` decides that, by whether this seat has answered.
    missed = match.missed if match.terms.claimable else frozenset[int]()
    others = [other for other in match.seats if other != seat and other not in missed]
    lost = [other for other in others if out_of_reach(match, other, step.world.now)]
    if against := silent(match, seat) or lost:
        grant(step, seat, against, form, signed)
    elif not match.terms.claimable:
        says = Phrase("there is nothing to claim: the agreed rules say what a miss means")
        raise Refused(Fault("claim", match.id, says))
    elif match.asked(seat):
        raise Refused(Fault("claim", match.id, Phrase("the match is also waiting for you: first send what is due")))
    else:
        raise Refused(Fault("claim", match.id, Phrase("nobody has missed the deadline and the grace period")))


def silent(match: Match, seat: int) -> list[int]:
    """The seats against which this seat may claim now, as they missed their time; none while it is asked itself."""
    if match.phase not in RUNNING or match.revealing or not match.terms.claimable or match.asked(seat):
        return []
    submissions = match.setups if match.phase == "setup" else match.orders
    answered = {other for other in match.seats if standing(submissions, other) or match.silent_by_now(other)}
    return sorted(match.missed - answered - {seat})


def grant(step: Step, seat: int, against: Sequence[int], form: SignedForm[Claim], signed: Signed) -> None:
    """Grant this seat's claim against those. Raises `Refused` if it could never be granted."""
    match = step.match
    missed = match.terms.claimable and not match.revealing and set(against) <= match.missed
    lost = all(out_of_reach(match, other, step.world.now) for other in against)
    if seat in against or not against or not (missed or lost):
        raise Refused(Fault("claim", match.id, Phrase("nobody has missed the deadline and the grace period")))
    sentence = step.sentence("claim", seat, form, signed)
    step.append_entry("claimed", {"seat": seat, "against": list(against), **sentence})
    if missed:
        lose(step, against)
    else:
        abandon(step)


def remake(remaking: Remaking) -> Step:
    """The claim again, against those whom the entry names: who else had answered, it does not show."""
    seat, form, signed = remaking.sentence("claim", Claim(match=remaking.match.id))
    step = remaking.at_work()
    grant(step, seat, remaking.entry.body["against"], form, signed)
    return step


ENTRY = EntryType(
    "claimed",
    said(seat=seat_number, against=seats),
    remake=remake,
    says="seat {seat} claimed from the silent seats {against}, signed",
    letter="claim",
)
