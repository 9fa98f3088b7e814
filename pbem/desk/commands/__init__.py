"""What commands do: one function per command, found by the name of its row in the table of commands.

Each function is given the desk, the caller and the command. It raises `Refused` if nothing is to change; otherwise it
returns a `Reply`. The demands of the row were checked before. Changes of a match go through `Step` and the
archive, letters through the letter writer: nothing here reads mail or writes rows. `stop`, which ends the
reading of a letter, has no row. Implements protocol.md, "Commands".
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pbem.desk.commands import (
    account,
    agreements,
    blocks,
    help,  # noqa: A004 - the command's own name
    history,
    keys,
    matches,
    observers,
    orders,
    proposals,
    sealed,
    substitutes,
    time,
)

if TYPE_CHECKING:
    from pbem.desk.reply import Handlers

__all__ = ["HANDLERS"]

_MODULES = (
    help,
    history,
    account,
    keys,
    time,
    proposals,
    orders,
    sealed,
    matches,
    observers,
    blocks,
    agreements,
    substitutes,
)

HANDLERS: Handlers = {name: handle for module in _MODULES for name, handle in module.HANDLERS.items()}
