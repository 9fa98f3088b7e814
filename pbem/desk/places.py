"""The place of a signed sentence: whether the sentence names it, and the whole sentence if it does not.

The table in `mail/commands/` says what each command needs. Nobody has to type a place: a sentence that leaves
some of it out changes nothing, and is answered with the whole sentence, ready to be signed. At level `mailbox`, the
single-use reply address stands for the place. Implements protocol.md, "Identity".
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pbem.mail.commands import COMMANDS
from pbem.match.changed import replace
from pbem.match.signed import at_reply_address
from pbem.match.state import RUNNING
from pbem.proof.signed_letters import form

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pbem.desk.caller import Caller
    from pbem.mail.commands import Command
    from pbem.match.signed import SignedForm
    from pbem.match.state import Match

__all__ = ["missing", "next_rev", "placed", "sentence"]


def missing(command: Command, match: Match | None) -> dict[str, str]:
    """The parts of its place that a signed command leaves out, as they would be now, except server and player.

    Setups and orders are instead refused by their match, with all faults: each letter brings their form.
    """
    if not COMMANDS[command.name].sentence or match is None or match.phase not in RUNNING:
        return {}
    said = form(command)
    playing = match.phase == "playing"
    place: dict[str, str] = {"turn": str(match.turn)} if playing and said.turn is None else {}
    if not playing and said.game is None:
        place = {"game": str(match.game)}
    return place | {"prev": match.prev}


def placed(caller: Caller, command: Command, match: Match, seat: int) -> SignedForm:
    """The form that a command holds; without a signature, completed with what its reply address stands for."""
    found = form(command)
    if caller.verdict.kind == "valid":
        return found
    found = at_reply_address(found, match, seat)
    return found if found.rev is not None else replace(found, rev=next_rev(command, match, seat))


def next_rev(command: Command, match: Match, seat: int) -> int:
    """The next revision for this command."""
    spec = COMMANDS[command.name]
    if not (spec.stands or spec.withdraws):
        return match.said.get((seat, command.name), 0) + 1
    if match.phase == "setup":
        before = match.setups.get(seat)
    else:
        given = form(command).turn
        turn = match.turn if given is None else given
        before = match.orders.get(seat) if turn == match.turn else match.stored.get((seat, turn))
    return before.rev + 1 if before else 1


def sentence(command: Command, place: Mapping[str, str]) -> str:
    """The whole sentence of a command: its words, its place and its block."""
    lines = [command.head, *(f"{key} {value}" for key, value in place.items())]
    lines += [f"{key}: {value}" for key, value in command.options.items()]
    if command.block and not command.options:
        lines.append(command.block)
    return "\n".join([*lines, "end"])
