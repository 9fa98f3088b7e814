"""Tournaments: this server holds none yet.

Implements docs/bundle.md, 12.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pbem.desk.refused import refused
from pbem.phrase import Phrase

if TYPE_CHECKING:
    from pbem.desk.caller import Caller
    from pbem.desk.reply import Reply
    from pbem.mail.commands import AnyCommand


def refuse(_caller: Caller, command: AnyCommand) -> Reply:
    """Any command about a tournament."""
    raise refused(command.name, None, Phrase("there are no tournaments on this server"))
