"""Orders before they are due: orders in advance for a later turn, and default orders for any turn that is missed.

They enter the transcript only when their turn is resolved, so that nobody else learns what is stored. Implements
protocol.md, "A match" and "Commands" (`orders`), with docs/readings.md, "Orders in advance".
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pbem.games import Fault, Refused
from pbem.match.changed import replace
from pbem.match.state import not_played
from pbem.match.step import again, misplaced
from pbem.match.stored_orders import TakenUp, taken_up
from pbem.match.submissions import receipted, refuse_secrets, submit, withdrawn
from pbem.phrase import Phrase
from pbem.requests import DEFAULT

if TYPE_CHECKING:
    from pbem.games import Rules, State
    from pbem.match.signed import Signed
    from pbem.match.state import Submission
    from pbem.match.step import Step
    from pbem.requests import Clear, SignedForm, SubmitOrders

FARTHEST = 30
"""The maximum number of turns by which orders may be early."""

_NOT_AGREED = Phrase("you agreed on `miss: {miss}`; default orders are only played with `miss: default`")


def store(step: Step, seat: int, form: SignedForm[SubmitOrders], signed: Signed) -> Submission:
    """Store a seat's whole set of orders for a later turn, or its default orders. Raises `Refused`."""
    match = step.match
    refuse_secrets(match, "orders")
    if match.phase != "playing" or match.position is None:
        raise Refused(Fault("orders", None, not_played(match)))
    step.demand_key(signed)
    turn = form.turn or DEFAULT
    before = match.stored.get((seat, turn))
    found = misplaced(match, form, seat, before, in_advance=True, turn=turn)
    found += faults(match.rules, match.position, seat, turn, form.request.text, match.terms.miss)
    if found:
        raise Refused(*found)
    if same := again(before, form.rev, form.request.text, final=form.request.final):
        return same
    submission = receipted(step, seat, turn, form, signed, form.request.text, before)
    step.match = replace(match, stored={**match.stored, (seat, turn): submission})
    return submission


def faults(rules: Rules, position: State, seat: int, turn: int, text: str, miss: str) -> list[Fault]:
    """The faults of a seat's orders for a later turn, or of default orders, which no position could mend."""
    found = []
    if turn > position.turn + FARTHEST:
        says = Phrase("that is more than {farthest} turns ahead", farthest=FARTHEST)
        found.append(Fault("turn", f"turn {turn}", says))
    if turn == DEFAULT and miss != "default":
        found.append(Fault("default", None, _NOT_AGREED.given(miss=miss)))
    if seat not in position.remaining:
        found.append(Fault("orders", None, Phrase("you are out of this game, and have nothing to order")))
    return [*found, *rules.ahead(position, seat, turn, text)]


def withdraw(step: Step, seat: int, form: SignedForm[Clear], signed: Signed) -> Submission:
    """Withdraw what is stored for a later turn, or the default orders; returns what it was. Raises `Refused`."""
    match, turn = step.match, form.turn or DEFAULT
    submission = match.stored.get((seat, turn))
    if submission is None or not submission.standing:
        message = Phrase("you have stored no default orders")
        if turn != DEFAULT:
            message = Phrase("you have stored nothing for turn {turn}", turn=turn)
        raise Refused(Fault("clear", None, message))
    given_up = withdrawn(step, seat, turn, form, signed, submission)
    step.match = replace(match, stored={**match.stored, (seat, turn): given_up})
    return submission


def take_up(step: Step) -> dict[int, TakenUp]:
    """A turn has come: orders sent for it in advance count as if just sent, by seat, or are not used."""
    match = step.match
    if match.position is None or match.position.result is not None:
        return {}
    here = {seat: stored for (seat, turn), stored in sorted(match.stored.items()) if turn == match.turn}
    later = {place: stored for place, stored in match.stored.items() if place[1] == DEFAULT or place[1] > match.turn}
    step.match = replace(match, stored=later)
    taken = {}
    for seat, stored in here.items():
        if stored.standing:
            taken[seat] = taken_up(match, seat, stored)
            submit(step, seat, taken[seat].submission)
        else:  # withdrawn: known for its revision alone
            step.match = replace(step.match, orders={**step.match.orders, seat: stored})
    return taken
