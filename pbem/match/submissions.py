"""What players send before its entry: setups, orders, orders in advance and by default, and their withdrawal.

None of it enters the transcript before the game begins or the turn is resolved, so that nobody else learns of it.
Implements protocol.md, "Commands" (`setup`, `orders`, `clear`), and docs/readings.md, "Orders in advance".
"""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from msgspec.structs import replace

from pbem.games import Fault, Refused, parts, refuse
from pbem.match.documents import Opening, Receipt, SetAside, Withdrawal
from pbem.match.state import RUNNING, Submission, not_played, standing
from pbem.match.step import again, misplaced
from pbem.match.stored_orders import TakenUp, counting, taken_up
from pbem.phrase import Phrase
from pbem.requests import DEFAULT

if TYPE_CHECKING:
    from pbem.games import Rules, State
    from pbem.match.step import Signed, Step
    from pbem.requests import AnyForm, Clear, SignedForm, SubmitOrders, SubmitSetup


def setup(step: Step, seat: int, form: SignedForm[SubmitSetup], signed: Signed) -> Submission:
    """A seat's secret setup of the next game, which begins with the last setup."""
    match = step.match
    match.play.refuse_secrets(match, "setup")
    step.demand_key(signed)
    before = match.setups.get(seat)
    faults = misplaced(match, form, seat, before, game=match.game)
    if match.phase != "setup":
        raise Refused(Fault("setup", None, Phrase("no setup is due")))
    try:
        setup = match.setup_of(seat, form.request.text)
    except Refused as refused:
        faults.extend(refused.faults)
    refuse(faults)
    if same := again(before, form.rev, setup.text):
        return same
    opening = Opening(
        server=match.server,
        match=match.id,
        game=match.game,
        seat=seat,
        player=match.name(seat),
        rules=match.rules_hash,
        mail=signed.hash,
        evidence=signed.evidence_hash,
        received=signed.received,
        rev=form.rev or 1,
        salt=step.world.salt(f"openings/game-{match.game}-seat-{seat}.txt"),
        setup=setup.text,
    )
    submission = Submission.of(form.rev, setup.text, opening.text(), signed, before)
    step.match = replace(match, setups={**match.setups, seat: submission})
    answered(step, seat, signed)
    return submission


def order(step: Step, seat: int, form: SignedForm[SubmitOrders], signed: Signed) -> Submission:
    """A seat's whole set of orders for the turn that is due; replaces earlier ones."""
    match = step.match
    match.play.refuse_secrets(match, "orders")
    if match.playing is None:
        raise Refused(Fault("orders", None, not_played(match)))
    step.demand_key(signed)
    before = match.orders.get(seat)
    faults = misplaced(match, form, seat, before, turn=match.turn)
    if seat not in match.choosing:
        raise Refused(Fault("orders", None, Phrase("you have nothing to order in turn {turn}", turn=match.turn)))
    try:
        orders = match.orders_of(seat, form.request.text)
    except Refused as refused:
        faults.extend(refused.faults)
    refuse(faults)
    if same := again(before, form.rev, orders.text, final=form.request.final):
        return same
    submission = receipted(step, seat, match.turn, form, signed, form.request.text, before)
    submission = counting(match, seat, submission, orders)
    step.match = replace(match, orders={**match.orders, seat: submission})
    answered(step, seat, signed)
    return submission


def receipted(
    step: Step,
    seat: int,
    turn: int,
    form: SignedForm[SubmitOrders],
    signed: Signed,
    text: str,
    before: Submission | None,
) -> Submission:
    """A seat's orders for a turn, in the words to be kept, with the receipt that names their letter."""
    match = step.match
    salt = step.world.salt(f"receipts/game-{match.game}-turn-{turn}-seat-{seat}.txt")
    receipt = Receipt.of(match, seat, turn, form.rev, signed, salt)
    return Submission.of(form.rev, text, receipt.text(), signed, before, final=form.request.final)


def submit(step: Step, seat: int, submission: Submission) -> None:
    """Let orders that were sent before the turn count, or record that they do not."""
    match = step.match
    step.submitted.append((match.game, match.turn, seat, submission))
    step.match = replace(match, orders={**match.orders, seat: submission})
    if submission.standing:
        _answered_at(step, seat, step.world.now)


def clear(step: Step, seat: int, form: SignedForm[Clear], signed: Signed) -> Submission:
    """Withdraw orders of this turn, or the setup before the game begins; returns what it was."""
    match = step.match
    if match.phase not in RUNNING:
        raise Refused(Fault("clear", None, Phrase("nothing is due")))
    where = "setups" if match.phase == "setup" else "orders"
    submission = standing(match.submissions, seat)
    if submission is None:
        raise Refused(Fault("clear", None, Phrase("you have submitted nothing")))
    given_up = withdrawn(step, seat, match.turn, form, signed, submission)
    step.match = replace(step.match, resolve_at=None, **{where: {**match.submissions, seat: given_up}})
    _answered_at(step, seat, None)
    return submission


def withdrawn(step: Step, seat: int, turn: int, form: AnyForm, signed: Signed, before: Submission) -> Submission:
    """A submission as withdrawn: it leaves a trace, and its revision is used up. Raises `Refused`."""
    match = step.match
    step.demand_key(signed)
    refuse(misplaced(match, form, seat, before, again=False, **match.place_of(turn)))
    paper = Withdrawal.of(match, seat, turn, form.rev, signed, step.world.salt())
    aside = SetAside(paper.text(), signed.raw, signed.evidence)
    return replace(before, rev=form.rev or 1, standing=False, aside=(*before.aside, aside))


def answered(step: Step, seat: int, signed: Signed) -> None:
    """Record that a seat's answer came in when its letter was received, however long the desk took."""
    _answered_at(step, seat, datetime.fromisoformat(signed.received))


def _answered_at(step: Step, seat: int, when: datetime | None) -> None:
    """Reminders whose time went by meanwhile are not made up for."""
    if clock := step.match.clocks.get(seat):
        clock = replace(clock.reminded_by(step.world.now), answered=when)
        step.match = replace(step.match, clocks={**step.match.clocks, seat: clock})


FARTHEST = 30
"""The maximum number of turns by which orders may be early."""

_NOT_AGREED = Phrase("you agreed on `miss: {miss}`; default orders are only played with `miss: default`")


def store(step: Step, seat: int, form: SignedForm[SubmitOrders], signed: Signed) -> Submission:
    """Store a seat's whole set of orders for a later turn, or its default orders. Raises `Refused`."""
    match = step.match
    match.play.refuse_secrets(match, "orders")
    if match.playing is None:
        raise Refused(Fault("orders", None, not_played(match)))
    step.demand_key(signed)
    turn = form.turn or DEFAULT
    before = match.stored.get((seat, turn))
    found = misplaced(match, form, seat, before, turn=turn)
    found += faults_in_advance(match.rules, match.playing, seat, turn, form.request.text, match.terms.miss)
    refuse(found)
    if same := again(before, form.rev, form.request.text, final=form.request.final):
        return same
    submission = receipted(step, seat, turn, form, signed, form.request.text, before)
    step.match = replace(match, stored={**match.stored, (seat, turn): submission})
    return submission


def faults_in_advance(rules: Rules, position: State, seat: int, turn: int, text: str, miss: str) -> list[Fault]:
    """The faults of a seat's orders for a later turn, or of default orders, which no position could mend."""
    found = []
    if turn > position.turn + FARTHEST:
        says = Phrase("that is more than {farthest} turns ahead", farthest=FARTHEST)
        found.append(Fault("turn", f"turn {turn}", says))
    if turn == DEFAULT and miss != "default":
        found.append(Fault("default", None, _NOT_AGREED.given(miss=miss)))
    if seat not in position.remaining:
        found.append(Fault("orders", None, Phrase("you are out of this game, and have nothing to order")))
    return [*found, *parts.ahead(rules, position, seat, turn, text)]


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
