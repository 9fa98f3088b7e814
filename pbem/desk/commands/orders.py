"""The submissions of a seat: setups and orders, now or in advance.

Implements protocol.md, "Commands" (`setup`, `orders`, `clear`, `preview`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pbem.desk.caller import Caller, refused
from pbem.desk.match_facts import branch_facts
from pbem.desk.outcomes import Reply
from pbem.games import Fault, Refused, parts
from pbem.games.conditional_orders import branch_said
from pbem.letters.safe_text import escaped
from pbem.match import stored_orders, submissions
from pbem.match.state import Match, not_played, standing
from pbem.phrase import Phrase
from pbem.requests import DEFAULT, Clear, Preview, SubmitOrders, SubmitSetup

if TYPE_CHECKING:
    from pbem.desk.seats import SeatContext
    from pbem.mail.commands import AnyCommand, Command


_ROOM = 1024 * 1024
"""The most octets of a seat's letters that wait: they are in memory, and written with each change."""


def setup(seated: SeatContext, caller: Caller, command: Command[SubmitSetup]) -> Reply:
    """`setup`: the secret setup of the next game, committed to."""
    step, submission = seated.say(caller, command, submissions.setup)
    name = f"{seated.match.id}-game-{seated.match.game}-seat-{seated.seat}.opening.txt"
    facts, attachments = seated.enclosed(submission.paper, name, "commitment")
    facts |= {"setup": submission.text, "rev": submission.rev, "level": submission.level}
    match = seated.match
    facts["example"] = parts.is_the_example(match.rules, match.options, seated.seat, submission.text)
    seated.submit(step, submission)
    return Reply("setup", facts | seated.facts(), attachments, seated)


def orders(seated: SeatContext, caller: Caller, command: Command[SubmitOrders]) -> Reply:
    """`orders`: all orders of this turn; orders for a later turn, and default orders, are stored."""
    seated.match.play.refuse_secrets(seated.match, command.name)
    match, turn = seated.match, seated.match.turn
    # Empty orders may be a form that nobody touched: a player who means them says `final`.
    due = match.playing is not None and (command.form.turn != turn or seated.seat in match.choosing)
    if due and command.request.untouched:
        stored = match.stored.get((seated.seat, command.form.turn or DEFAULT))
        asked = {"turn": command.form.turn or 0, "allowed": match.rules.empty_orders, "consent": False, "faults": ()}
        return Reply("untouched", asked | {"stored": stored} | seated.facts(), at=seated, outcome="asked")
    if command.form.turn == DEFAULT or (command.form.turn or 0) > turn:
        return store(seated, command, caller)
    before = standing(seated.match.orders, seated.seat)
    step, submission = seated.say(caller, command, submissions.order)
    receipt, attachments = seated.receipt(submission, f"turn-{turn}")
    facts: dict[str, object] = {"orders": submission.text, "turn": turn, "final": submission.final, "unused": ()}
    if submission.standing:
        match, seat = seated.match, seated.seat
        judged = match.orders_of(seat, submission.text)
        facts["unused"] = parts.unused(match.rules, match.under_way, seat, judged)
    facts["branch"] = branch_facts(seated.match, submission)
    facts["replaced"] = before if before and before.text != submission.text else None
    seated.submit(step, submission)
    return Reply("orders", facts | receipt | seated.facts(), attachments, seated)


def clear(seated: SeatContext, caller: Caller, command: Command[Clear]) -> Reply:
    """`clear`: withdraws the orders for this turn, the setup, or orders stored for later."""
    given = command.form.turn
    if given == DEFAULT or (given or 0) > seated.match.turn:
        return withdraw(seated, command, caller)
    if given is not None and given != seated.match.turn:
        raise refused("clear", f"turn {given}", Phrase("that turn is not being played"))
    demand_room(seated, command, caller)
    step, submission = seated.say(caller, command, submissions.clear)
    withdrawn = step.match.submissions[seated.seat]
    seated.submit(step, withdrawn)
    facts, attachments = seated.withdrawn(withdrawn)
    return Reply("clear", facts | {"withdrawn": submission.text} | seated.facts(), attachments, seated)


def preview(seated: SeatContext, _caller: Caller, command: Command[Preview]) -> Reply:
    """`preview`: orders are judged, and not stored."""
    seated.match.play.refuse_secrets(seated.match, command.name)
    match = seated.match
    if match.playing is None:
        raise refused("preview", None, not_played(match))
    if command.form.turn != match.turn:
        raise refused("preview", f"turn {command.form.turn}", Phrase("turn {turn} is being played", turn=match.turn))
    orders = match.orders_of(seated.seat, command.request.text)
    return Reply("preview", {"orders": orders.text} | seated.facts(), at=seated)


def demand_room(seated: SeatContext, command: AnyCommand, caller: Caller) -> None:
    """Refuse a letter that is to wait, where too much waits: orders in advance, and what was withdrawn.

    Orders for the turn that is due take the place of others, and are never refused for that.
    """
    match, seat = seated.match, seated.seat
    waiting = [kept for (owner, _), kept in match.stored.items() if owner == seat]
    waiting += [kept[seat] for kept in (match.setups, match.orders) if seat in kept]
    if sum(kept.octets for kept in waiting) + len(caller.letter.raw) > _ROOM:
        reason = Phrase("your letters that wait in {match} would become too long together", match=match.id)
        raise refused(command.name, None, reason)


def store(seated: SeatContext, command: Command[SubmitOrders], caller: Caller) -> Reply:
    """Store orders for a later turn, or default orders; raises `Refused`."""
    demand_room(seated, command, caller)
    turn, due = command.form.turn or DEFAULT, seated.match.turn
    step, submission = seated.say(caller, command, submissions.store)
    receipt, attachments = seated.receipt(submission, f"turn-{turn}" if turn != DEFAULT else "default")
    # By the position for which they were sent: default orders for a missed turn may resolve it, and end the game.
    match, seat = step.match, seated.seat
    faults, now = _faults(match, seat, turn), _now(match, seat, submission.text)
    facts = {"orders": submission.text, "turn": turn, "due": due, "final": submission.final, "faults": faults}
    facts |= {"branches": branches(match, seat, submission.text), "now": now}
    seated.submit(step, submission, turn)
    return Reply("early", facts | receipt | seated.facts(), attachments, seated)


def branches(match: Match, seat: int, text: str) -> list[Phrase]:
    """The branches of conditional orders, in words."""
    found = parts.branches(match.rules, match.under_way, seat, text)
    return [branch_said(match.terms.game, branch) for branch in found]


def _now(match: Match, seat: int, text: str) -> str:
    """The orders for which these would stand in the turn that is due, if that depends on what is known by then."""
    if not parts.depends(match.rules, text):
        return ""
    try:
        return match.orders_of(seat, text).text
    except Refused:
        return ""


def withdraw(seated: SeatContext, command: Command[Clear], caller: Caller) -> Reply:
    """Withdraw what is stored for a later turn, or the default orders; raises `Refused`."""
    demand_room(seated, command, caller)
    turn = command.form.turn or DEFAULT
    step, submission = seated.say(caller, command, submissions.withdraw)
    withdrawn = step.match.stored[seated.seat, turn]
    seated.submit(step, withdrawn, turn)
    facts, attachments = seated.withdrawn(withdrawn)
    gone = {"withdrawn": submission.text, "turn": turn, "rev": withdrawn.rev + 1}
    return Reply("clear_early", {**facts, **gone, **seated.facts()}, attachments, seated)


def stored(match: Match, seat: int) -> list[dict[str, object]]:
    """The stored orders of a seat: default orders first, then orders turn by turn."""
    return [
        {
            "turn": turn,
            "submission": stored,
            "faults": _faults(match, seat, turn),
            "branches": branches(match, seat, stored.text),
        }
        for (owner, turn), stored in sorted(match.stored.items())
        if owner == seat and stored.standing
    ]


def _faults(match: Match, seat: int, turn: int) -> list[Fault]:
    """The faults for which default orders could not be played now."""
    return [escaped(fault) for fault in stored_orders.faults_of_default(match, seat)] if turn == DEFAULT else []
