"""Orders that come before their turn is due, and default orders: stored, withdrawn, and shown to their player alone.

`pbem.match.advance_orders` decides what becomes of them. Implements protocol.md, "Commands" (`orders`, `clear`,
`status`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pbem.desk.places import placed
from pbem.desk.reply import Reply
from pbem.letters.visible import escaped
from pbem.match import advance_orders, stored_orders

if TYPE_CHECKING:
    from pbem.desk.caller import Caller
    from pbem.desk.seats import SeatContext
    from pbem.games import Fault
    from pbem.mail.commands import Command
    from pbem.match.state import Match

__all__ = ["store", "stored", "withdraw"]


def store(seated: SeatContext, command: Command, caller: Caller) -> Reply:
    """Store orders for a later turn, or default orders; raises `Refused`."""
    turn, due = _turn(command), seated.match.turn
    step = seated.step(caller.now)
    said = placed(caller, command, seated.match, seated.seat)
    submission = advance_orders.store(step, seated.seat, said, caller.signed)
    seated.submit(step, submission, turn)
    what = f"turn-{turn}" if turn != stored_orders.DEFAULT else "default"
    match = seated.match
    name = f"{match.id}-game-{match.game}-{what}-rev-{submission.rev}.receipt.txt"
    receipt, attachments = seated.receipt(submission, name)
    faults = _faults(match, seated.seat, turn)
    facts = {"orders": submission.text, "turn": turn, "due": due, "final": submission.final, "faults": faults}
    return Reply("early", facts | receipt | seated.facts(), attachments, seated)


def withdraw(seated: SeatContext, command: Command, caller: Caller) -> Reply:
    """Withdraw what is stored for a later turn, or the default orders; raises `Refused`."""
    turn = _turn(command)
    step = seated.step(caller.now)
    said = placed(caller, command, seated.match, seated.seat)
    submission = advance_orders.withdraw(step, seated.seat, turn, said, caller.signed)
    withdrawn = step.match.stored[seated.seat, turn]
    seated.submit(step, withdrawn, turn)
    facts, attachments = seated.withdrawn(withdrawn)
    gone = {"withdrawn": submission.text, "turn": turn, "rev": withdrawn.rev + 1}
    return Reply("clear_early", {**facts, **gone, **seated.facts()}, attachments, seated)


def stored(match: Match, seat: int) -> list[dict[str, object]]:
    """What is stored for a seat: default orders first, then orders turn by turn."""
    return [
        {"turn": turn, "submission": stored, "faults": _faults(match, seat, turn)}
        for (owner, turn), stored in sorted(match.stored.items())
        if owner == seat and stored.standing
    ]


def _faults(match: Match, seat: int, turn: int) -> list[Fault]:
    """Why default orders could not be played now."""
    return (
        [escaped(fault) for fault in stored_orders.faults_of_default(match, seat)]
        if turn == stored_orders.DEFAULT
        else []
    )


def _turn(command: Command) -> int:
    return stored_orders.DEFAULT if command.arguments.get("default") else command.arguments["turn"]
