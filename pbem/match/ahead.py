"""Orders before they are asked for: in advance for a later turn, and default orders for whichever turn is missed.

What no position can make good is refused at once; the rest is judged when the turn comes, by the position and the
keys of that moment. Nothing of it enters the transcript before its turn is resolved, so that nobody else learns what
is stored. Implements protocol.md, "A match" and "Commands" (`orders`), with docs/readings.md, "Orders in advance".
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pbem.games import Fault, Refused
from pbem.match.changed import replace
from pbem.match.papers import Receipt
from pbem.match.traces import SetAside
from pbem.phrase import Phrase

if TYPE_CHECKING:
    from pbem.games import Orders
    from pbem.match.life import Form, Match, Signed, Step, Submission

__all__ = ["DEFAULT", "TakenUp", "default", "drop", "faults_of_default", "judge", "store", "take_up", "withdraw"]

DEFAULT = 0
"""What stands for the number of the turn in default orders: they are for whichever turn is missed."""

FARTHEST = 30
"""So many turns ahead orders may be sent."""


@dataclass(frozen=True, slots=True)
class TakenUp:
    """What became of orders in advance when their turn came: they stand, or are not used for these faults."""

    submission: Submission
    faults: tuple[Fault, ...] = ()


_NOT_AGREED = Phrase("you agreed on `miss: {miss}`; default orders are played where it is `miss: default`")


def store(step: Step, seat: int, form: Form, signed: Signed) -> Submission:
    """Store a seat's whole set of orders for a later turn, or its default orders. Raises `Refused`."""
    match = step.match
    if match.phase != "playing" or match.position is None:
        raise Refused(Fault("orders", None, Phrase("no turn is being played")))
    step.demand_key(signed)
    turn = form.turn or DEFAULT
    before = match.stored.get((seat, turn))
    faults = step.misplaced(form, seat, before, in_advance=True, turn=turn)
    if turn > match.turn + FARTHEST:
        faults.append(
            Fault("turn", f"turn {turn}", Phrase("that is more than {farthest} turns ahead", farthest=FARTHEST))
        )
    if turn == DEFAULT and match.terms.miss != "default":
        agreed = _NOT_AGREED.given(miss=match.terms.miss)
        faults.append(Fault("default", None, agreed))
    if seat not in match.position.remaining:
        faults.append(Fault("orders", None, Phrase("you are out of this game, and order nothing any more")))
    faults.extend(match.rules.ahead(match.position, seat, turn, form.text))
    if faults:
        raise Refused(*faults)
    if same := step.again(before, form, form.text):
        return same
    submission = step.receipted(seat, turn, form, signed, form.text, before)
    step.match = replace(match, stored={**match.stored, (seat, turn): submission})
    return submission


def withdraw(step: Step, seat: int, turn: int, form: Form, signed: Signed) -> Submission:
    """Withdraw what is stored for a later turn, or the default orders; what it was. Raises `Refused`."""
    match = step.match
    submission = match.stored.get((seat, turn))
    if submission is None or not submission.standing:
        message = Phrase("nothing of yours is stored as default orders")
        if turn != DEFAULT:
            message = Phrase("nothing of yours is stored for turn {turn}", turn=turn)
        raise Refused(Fault("clear", None, message))
    withdrawn = step.withdrawn(seat, turn, form, signed, submission)
    step.match = replace(match, stored={**match.stored, (seat, turn): withdrawn})
    return submission


def drop(match: Match, seat: int) -> Match:
    """The match without anything that is stored for a seat: somebody else sits there now."""
    return replace(match, stored={place: kept for place, kept in match.stored.items() if place[0] != seat})


def judge(match: Match, seat: int, submission: Submission) -> Orders:
    """The orders of a stored text in the position and with the keys of this moment; raises `Refused`."""
    position, receipt = match.position, Receipt.read(submission.paper)
    assert position is not None
    if not match.players[seat - 1].counts(receipt.level, receipt.key, match.prev):
        message = Phrase("they count no longer: the key that signed them is revoked")
        if receipt.level == "mailbox":
            message = Phrase("they count no longer: you have a key now")
        raise Refused(Fault("keys", None, message))
    if position.due.get(seat, DEFAULT) is not None:
        raise Refused(Fault("orders", None, Phrase("turn {turn} does not ask for orders of yours", turn=match.turn)))
    return match.rules.order(position, seat, submission.text)


def take_up(step: Step) -> dict[int, TakenUp]:
    """A turn has come: what was sent for it in advance stands as if just sent, by seat, or is not used."""
    match = step.match
    if match.position is None or match.position.result is not None:
        return {}
    here = {seat: stored for (seat, turn), stored in sorted(match.stored.items()) if turn == match.turn}
    later = {place: stored for place, stored in match.stored.items() if place[1] == DEFAULT or place[1] > match.turn}
    step.match = replace(match, stored=later)
    taken = {}
    for seat, stored in here.items():
        if stored.standing:
            taken[seat] = _taken_up(match, seat, stored)
            step.submit(seat, taken[seat].submission)
        else:  # withdrawn: known for its revision alone
            step.match = replace(step.match, orders={**step.match.orders, seat: stored})
    return taken


def _taken_up(match: Match, seat: int, stored: Submission) -> TakenUp:
    try:
        return TakenUp(replace(stored, text=judge(match, seat, stored).text))
    except Refused as refused:
        unused = SetAside(stored.paper, stored.letter, stored.evidence)
        return TakenUp(replace(stored, standing=False, aside=(*stored.aside, unused)), refused.faults)


def default(match: Match, seat: int) -> Submission | None:
    """The default orders that are played now if this seat misses the turn: those that stand and are legal."""
    stored = match.stored.get((seat, DEFAULT))
    if match.phase != "playing" or match.terms.miss != "default" or stored is None or not stored.standing:
        return None
    taken = _taken_up(match, seat, stored)
    return None if taken.faults else taken.submission


def faults_of_default(match: Match, seat: int) -> tuple[Fault, ...]:
    """Why the default orders that a seat has stored cannot be played now."""
    stored = match.stored.get((seat, DEFAULT))
    return _taken_up(match, seat, stored).faults if stored and stored.standing and match.phase == "playing" else ()
