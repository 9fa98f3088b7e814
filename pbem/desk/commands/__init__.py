"""What commands do: one function a command, found by the name of its row in the table of commands.

Each is given the desk, the caller and the command; it raises `Refused` when nothing is to change, and returns a
`Reply` otherwise. What the row demands was seen to before. What a match makes of it goes through `Step` and the
archive, and its letters through the letter writer: nothing here reads mail or writes rows. `stop`, which ends the
reading of a letter, is no row. Implements protocol.md, "Commands".
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pbem.desk.commands import (
    account,
    agreements,
    help,  # noqa: A004 - the command's own name
    history,
    keys,
    matches,
    observers,
    orders,
    proposals,
    substitutes,
    time,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pbem.desk.caller import Caller
    from pbem.desk.reply import Reply
    from pbem.desk.wiring import Desk
    from pbem.mail.commands import Command

__all__ = ["HANDLERS"]

HANDLERS: Mapping[str, Callable[[Desk, Caller, Command], Reply]] = {
    "help": help.explain,
    "games": help.games,
    "rules": help.mail_rules,
    "sheet": history.sheet,
    "register": account.register,
    "confirm": account.confirm,
    "whoami": account.whoami,
    "key add": keys.add,
    "key revoke": keys.revoke,
    "key keep": keys.keep,
    "recover": keys.recover,
    "address add": keys.add_address,
    "set": account.choose,
    "vacation": time.vacation,
    "new": proposals.new,
    "list": proposals.list_matches,
    "accept": proposals.accept,
    "decline": proposals.decline,
    "join": proposals.join,
    "withdraw": proposals.withdraw,
    "setup": orders.setup,
    "orders": orders.orders,
    "clear": orders.clear,
    "status": history.status,
    "preview": orders.preview,
    "report": history.report,
    "diary": history.diary,
    "transcript": history.transcript,
    "press": matches.press,
    "observe": observers.observe,
    "unobserve": observers.unobserve,
    "standings": observers.standings,
    "resign": matches.resign,
    "draw": agreements.agree,
    "annul": agreements.agree,
    "extend": time.extend,
    "claim": time.claim,
    "substitute": substitutes.substitute,
}
