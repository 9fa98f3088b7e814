"""Setups and orders: sent, withdrawn, and judged without being stored.

Whole sets only: a set with any fault changes nothing. Implements protocol.md, "Commands" (`setup`, `orders`, `clear`,
`preview`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pbem.desk.commands import orders_in_advance
from pbem.desk.match_facts import branch_facts
from pbem.desk.refused import refused
from pbem.desk.reply import Reply
from pbem.games import is_the_example
from pbem.match import submissions
from pbem.match.state import not_played, standing
from pbem.phrase import Phrase
from pbem.requests import DEFAULT

if TYPE_CHECKING:
    from pbem.desk.caller import Caller
    from pbem.desk.seats import SeatContext
    from pbem.mail.commands import Command
    from pbem.match.state import Submission
    from pbem.requests import Clear, Preview, SubmitOrders, SubmitSetup


def setup(seated: SeatContext, caller: Caller, command: Command[SubmitSetup]) -> Reply:
    """`setup`: the secret setup of the next game, committed to."""
    submissions.refuse_secrets(seated.match, command.name)
    step, submission = seated.say(caller, command, submissions.setup)
    name = f"{seated.match.id}-game-{seated.match.game}-seat-{seated.seat}.opening.txt"
    facts, attachments = seated.enclosed(submission.paper, name, "commitment")
    facts |= {"setup": submission.text, "rev": submission.rev, "level": submission.level}
    match = seated.match
    facts["example"] = match.options is not None and is_the_example(
        match.terms.game, match.options, seated.seat, submission.text
    )
    seated.submit(step, submission)
    return Reply("setup", facts | seated.facts(), attachments, seated)


def orders(seated: SeatContext, caller: Caller, command: Command[SubmitOrders]) -> Reply:
    """`orders`: all orders of this turn; orders for a later turn, and default orders, are stored."""
    submissions.refuse_secrets(seated.match, command.name)
    turn = seated.match.turn
    if _untouched(seated, command):
        allowed = seated.match.rules.empty_orders
        asked = {"turn": command.form.turn or 0, "allowed": allowed, "consent": False, "faults": ()}
        return Reply("untouched", asked | seated.facts(), at=seated, outcome="asked")
    if command.form.turn == DEFAULT or (command.form.turn or 0) > turn:
        return orders_in_advance.store(seated, command, caller)
    before = standing(seated.match.orders, seated.seat)
    step, submission = seated.say(caller, command, submissions.order)
    receipt, attachments = seated.receipt(submission, f"turn-{turn}")
    unused = _unused(seated, submission) if submission.standing else ()
    facts = {"orders": submission.text, "turn": turn, "final": submission.final, "unused": unused}
    facts["branch"] = branch_facts(seated.match, submission)
    facts["replaced"] = before if before and before.text != submission.text else None
    seated.submit(step, submission)
    return Reply("orders", facts | receipt | seated.facts(), attachments, seated)


def _unused(seated: SeatContext, submission: Submission) -> tuple[Phrase, ...]:
    """The phrases about what these orders for the turn that is due leave unused."""
    match, seat = seated.match, seated.seat
    assert match.position is not None
    return match.rules.unused(match.position, seat, match.rules.order(match.position, seat, submission.text))


def _untouched(seated: SeatContext, command: Command[SubmitOrders]) -> bool:
    """True if a form came back empty although something is due: a player who means that says `final`."""
    match = seated.match
    if not command.request.untouched or match.phase != "playing" or match.position is None:
        return False
    return command.form.turn != match.turn or match.position.due.get(seated.seat, 0) is None


def clear(seated: SeatContext, caller: Caller, command: Command[Clear]) -> Reply:
    """`clear`: withdraws the orders for this turn, the setup, or orders stored for later."""
    given = command.form.turn
    if given == DEFAULT or (given or 0) > seated.match.turn:
        return orders_in_advance.withdraw(seated, command, caller)
    if given is not None and given != seated.match.turn:
        raise refused("clear", f"turn {given}", Phrase("that turn is not being played"))
    orders_in_advance.demand_room(seated, command, caller)
    step, submission = seated.say(caller, command, submissions.clear)
    where = step.match.setups if step.match.phase == "setup" else step.match.orders
    withdrawn = where[seated.seat]
    seated.submit(step, withdrawn)
    facts, attachments = seated.withdrawn(withdrawn)
    return Reply("clear", facts | {"withdrawn": submission.text} | seated.facts(), attachments, seated)


def preview(seated: SeatContext, _caller: Caller, command: Command[Preview]) -> Reply:
    """`preview`: orders are judged, and not stored."""
    submissions.refuse_secrets(seated.match, command.name)
    match = seated.match
    if match.position is None or match.phase != "playing":
        raise refused("preview", None, not_played(match))
    if command.form.turn != match.turn:
        raise refused("preview", f"turn {command.form.turn}", Phrase("turn {turn} is being played", turn=match.turn))
    orders = match.rules.order(match.position, seated.seat, command.request.text)
    return Reply("preview", {"orders": orders.text} | seated.facts(), at=seated)
