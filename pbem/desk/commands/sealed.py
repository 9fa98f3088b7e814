"""Sealed matches: a setup committed to by a hash, the steps of their turns, and what is laid open in the end.

Nothing secret comes here before its time; what comes is judged by its form and by what was told. Implements
docs/playing.md, "Sealed matches" (`seal`, `step`, `reveal`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pbem.desk.seats import seated_at
from pbem.games import Fault, Refused
from pbem.phrase import Phrase

if TYPE_CHECKING:
    from pbem.desk.caller import Caller
    from pbem.desk.commands import Handlers
    from pbem.desk.reply import Reply
    from pbem.desk.wiring import Desk
    from pbem.mail.commands import Command

__all__ = ["HANDLERS"]


def seal(desk: Desk, caller: Caller, command: Command) -> Reply:
    """`seal`, `step` and `reveal`: of a sealed match alone."""
    seated_at(desk, caller, command)
    raise Refused(Fault(command.name, command.match, Phrase("this match is not sealed")))


HANDLERS: Handlers = {"seal": seal, "step": seal, "reveal": seal}
