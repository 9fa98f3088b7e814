"""Agreements by mail: a draw of the game, an annulment of the match.

Implements protocol.md, "Commands" (`draw`) and "A match".
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pbem.desk.places import placed
from pbem.desk.reply import Reply
from pbem.desk.seats import seated_at
from pbem.match.events import agreements

if TYPE_CHECKING:
    from pbem.desk.caller import Caller
    from pbem.desk.commands import Handlers
    from pbem.desk.wiring import Desk
    from pbem.mail.commands import Command

__all__ = ["HANDLERS"]


def agree(desk: Desk, caller: Caller, command: Command) -> Reply:
    """`draw` or `annul`: an agreement is offered, accepted or declined."""
    seated = seated_at(desk, caller, command)
    step = seated.step(caller.now)
    word = command.arguments["word"]
    said = placed(caller, command, seated.match, seated.seat)
    agreed = agreements.agree(step, command.name, seated.seat, word, said, caller.signed)
    seated.commit(step)
    facts = {"agreement": command.name, "word": word, "agreed": agreed}
    return Reply("agreement", facts | seated.facts(), at=seated)


HANDLERS: Handlers = {
    "draw": agree,
    "annul": agree,
}
