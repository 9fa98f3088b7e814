"""Agreements by mail: a draw of the game, an annulment of the match.

Implements protocol.md, "Commands" (`draw`) and "A match".
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pbem.desk.reply import Reply
from pbem.match.events import endings

if TYPE_CHECKING:
    from pbem.desk.caller import Caller
    from pbem.desk.seats import SeatContext
    from pbem.mail.commands import Command
    from pbem.requests import Annul, Draw


def agree(seated: SeatContext, caller: Caller, command: Command[Draw | Annul]) -> Reply:
    """`draw` or `annul`: an agreement is offered, accepted or declined."""
    step, agreed = seated.say(caller, command, endings.agree)
    seated.commit(step)
    facts = {"agreement": command.name, "word": command.request.word, "agreed": agreed}
    return Reply("agreement", facts | seated.facts(), at=seated)
