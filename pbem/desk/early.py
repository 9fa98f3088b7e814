"""Orders that come before their turn is due, and default orders: stored, withdrawn, and shown to their player alone.

What becomes of them is decided in `pbem.match.advance_orders`. Implements protocol.md, "Commands" (`orders`, `clear`,
`status`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pbem.desk.answer import Answer
from pbem.desk.clerk import escaped
from pbem.desk.places import placed
from pbem.desk.table import Tables
from pbem.match import advance_orders, progress, stored_orders
from pbem.match.step import Step
from pbem.match.transcript import digest

if TYPE_CHECKING:
    from pbem.desk.answer import Caller
    from pbem.desk.table import Seated
    from pbem.games import Fault
    from pbem.mail.commands import Command
    from pbem.match.state import Match, Submission

__all__ = ["Early"]


class Early(Tables):
    """The stored orders of a server's players."""

    def store(self, seated: Seated, command: Command, caller: Caller) -> Answer:
        """Store orders for a later turn, or default orders; raises `Refused`."""
        turn, due = _turn(command), seated.match.turn
        step = Step(seated.match, self._world(caller.now))
        said = placed(caller, command, seated.match, seated.seat)
        submission = advance_orders.store(step, seated.seat, said, caller.signed)
        self._keep(seated, step, turn, submission)
        paper = submission.paper.encode()
        what = f"turn-{turn}" if turn != stored_orders.DEFAULT else "default"
        match = seated.match
        name = f"{match.id}-game-{match.game}-{what}-rev-{submission.rev}.receipt.txt"
        facts = {
            "orders": submission.text,
            "turn": turn,
            "due": due,
            "rev": submission.rev,
            "final": submission.final,
            "level": submission.level,
            "file_name": name,
            "faults": _faults(match, seated.seat, turn),
            "receipt": digest(paper),
            "signature": self._archive.vouch(match.id, digest(paper)),
        }
        return Answer("early", facts | self._facts(seated), [(name, "text/plain", paper)], seated.place)

    def withdraw(self, seated: Seated, command: Command, caller: Caller) -> Answer:
        """Withdraw what is stored for a later turn, or the default orders; raises `Refused`."""
        turn = _turn(command)
        step = Step(seated.match, self._world(caller.now))
        said = placed(caller, command, seated.match, seated.seat)
        submission = advance_orders.withdraw(step, seated.seat, turn, said, caller.signed)
        withdrawn = step.match.stored[seated.seat, turn]
        self._keep(seated, step, turn, withdrawn)
        facts, attachments = self._withdrawn(seated, withdrawn)
        facts |= {"withdrawn": submission.text, "turn": turn, "rev": withdrawn.rev + 1}
        return Answer("clear_early", facts | self._facts(seated), attachments, seated.place)

    @staticmethod
    def stored(match: Match, seat: int) -> list[dict[str, Any]]:
        """What is stored for a seat: default orders first, then turn by turn."""
        return [
            {"turn": turn, "submission": stored, "faults": _faults(match, seat, turn)}
            for (owner, turn), stored in sorted(match.stored.items())
            if owner == seat and stored.standing
        ]

    def _keep(self, seated: Seated, step: Step, turn: int, submission: Submission) -> None:
        self._archive.submit(seated.row.number, seated.match, seated.seat, submission, turn)
        progress.advance(step)
        self._commit(seated, step)


def _faults(match: Match, seat: int, turn: int) -> list[Fault]:
    """Why default orders could not be played now."""
    return (
        [escaped(fault) for fault in stored_orders.faults_of_default(match, seat)]
        if turn == stored_orders.DEFAULT
        else []
    )


def _turn(command: Command) -> int:
    return stored_orders.DEFAULT if command.arguments.get("default") else command.arguments["turn"]
