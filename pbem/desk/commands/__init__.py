"""The commands' functions: one per command, by the name of its row in the table of commands.

Each function is given the desk, the caller and the command. It raises `Refused` if nothing is to change; otherwise it
returns a `Reply`. The demands of the row were checked before. Changes of a match go through `Step` and the
archive, letters through the letter writer: nothing here reads mail or writes rows. `stop`, which ends the
reading of a letter, has no row. Implements protocol.md, "Commands".
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pbem.desk.commands import (
    account,
    blocks,
    help,  # noqa: A004 - the command's own name
    history,
    key_commands,
    observers,
    offers,
    orders,
    press,
    proposals,
    sealed_steps,
    substitutes,
    time,
)

if TYPE_CHECKING:
    from pbem.desk.reply import Handlers

HANDLERS: Handlers = {
    "help": help.explain,
    "games": help.games,
    "rules": help.mail_rules,
    "sheet": history.sheet,
    "status": history.status,
    "report": history.report,
    "diary": history.diary,
    "transcript": history.transcript,
    "register": account.register,
    "confirm": account.confirm,
    "whoami": account.whoami,
    "set": account.choose,
    "key add": key_commands.add,
    "key revoke": key_commands.revoke,
    "key keep": key_commands.keep,
    "recover": key_commands.recover,
    "address add": key_commands.add_address,
    "vacation": time.vacation,
    "extend": time.extend,
    "claim": time.claim,
    "new": proposals.new,
    "list": proposals.list_matches,
    "accept": proposals.accept,
    "decline": proposals.give_up,
    "join": proposals.join,
    "withdraw": proposals.give_up,
    "setup": orders.setup,
    "orders": orders.orders,
    "clear": orders.clear,
    "preview": orders.preview,
    "seal": sealed_steps.seal,
    "step": sealed_steps.take,
    "reveal": sealed_steps.reveal,
    "press": press.press,
    "resign": press.resign,
    "observe": observers.observe,
    "unobserve": observers.unobserve,
    "standings": observers.standings,
    "block": blocks.block,
    "unblock": blocks.unblock,
    "draw": offers.agree,
    "annul": offers.agree,
    "substitute": substitutes.substitute,
}
