"""Orders that come before their turn is due, and default orders: stored, withdrawn, and shown to their player alone.

`pbem.match.advance_orders` decides what becomes of them. Implements protocol.md, "Commands" (`orders`, `clear`,
`status`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pbem.desk.caller import Caller, Reply, refused
from pbem.games import Fault, Refused
from pbem.games.conditional_orders import branch_said
from pbem.letters.visible import escaped
from pbem.match import advance_orders, stored_orders
from pbem.phrase import Phrase
from pbem.requests import DEFAULT, Clear, SubmitOrders

if TYPE_CHECKING:
    from pbem.desk.seats import SeatContext
    from pbem.mail.commands import AnyCommand, Command
    from pbem.match.state import Match

_ROOM = 1024 * 1024
"""The most octets of a seat's letters that wait: they are in memory, and written with each change."""


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
    step, submission = seated.say(caller, command, advance_orders.store)
    seated.submit(step, submission, turn)
    receipt, attachments = seated.receipt(submission, f"turn-{turn}" if turn != DEFAULT else "default")
    faults = _faults(seated.match, seated.seat, turn)
    facts = {"orders": submission.text, "turn": turn, "due": due, "final": submission.final, "faults": faults}
    facts["branches"] = branches(seated.match, seated.seat, submission.text)
    facts["now"] = _now(seated.match, seated.seat, submission.text)
    return Reply("early", facts | receipt | seated.facts(), attachments, seated)


def branches(match: Match, seat: int, text: str) -> list[Phrase]:
    """The branches of conditional orders, in words."""
    if match.position is None:
        return []
    return [branch_said(match.terms.game, branch) for branch in match.rules.branches(match.position, seat, text)]


def _now(match: Match, seat: int, text: str) -> str:
    """The orders for which these would stand in the turn that is due, if that depends on what is known by then."""
    if match.position is None or not match.rules.depends(text):
        return ""
    try:
        return match.rules.order(match.position, seat, text).text
    except Refused:
        return ""


def withdraw(seated: SeatContext, command: Command[Clear], caller: Caller) -> Reply:
    """Withdraw what is stored for a later turn, or the default orders; raises `Refused`."""
    demand_room(seated, command, caller)
    turn = command.form.turn or DEFAULT
    step, submission = seated.say(caller, command, advance_orders.withdraw)
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
