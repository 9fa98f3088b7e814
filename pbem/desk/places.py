"""The place of a signed sentence, and the whole sentence for one that leaves it out.

The table in `mail/commands/` says what each command needs. Nobody has to type a place: a sentence that leaves
some of it out changes nothing, and is answered with the whole sentence, ready to be signed. At level `mailbox`, the
single-use reply address stands for the place. Implements protocol.md, "Identity".
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pbem.mail.commands import COMMANDS
from pbem.match.changed import replace
from pbem.match.state import RUNNING
from pbem.match.step import at_reply_address
from pbem.requests import AnnounceTournament, Propose, Rule

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pbem.desk.caller import Caller
    from pbem.mail.commands import AnyCommand, Command
    from pbem.match.state import Match
    from pbem.requests import Requested, SignedForm


def missing(command: AnyCommand, match: Match | None) -> dict[str, str]:
    """The parts of its place that a signed command leaves out, as they would be now, except server and player.

    Setups and orders are instead refused by their match, with all faults: each letter brings their form.
    """
    if not COMMANDS[command.name].sentence or match is None or match.phase not in RUNNING:
        return {}
    playing = match.phase == "playing"
    place: dict[str, str] = {"turn": str(match.turn)} if playing and command.form.turn is None else {}
    if not playing and command.form.game is None:
        place = {"game": str(match.game)}
    return place | {"prev": match.prev}


def filled_in(command: Command[Requested], place: Mapping[str, str]) -> Command[Requested]:
    """The command with this whole place."""
    numbers = {name: int(place[name]) for name in ("rev", "game", "turn") if name in place}
    named = {name: place[name] for name in ("server", "player", "prev") if name in place}
    return replace(command, form=replace(command.form, **named, **numbers))


def placed(caller: Caller, command: Command[Requested], match: Match, seat: int) -> SignedForm[Requested]:
    """The form of a command; without a signature, completed with what its reply address stands for."""
    if caller.verdict.kind == "valid":
        return command.form
    found = at_reply_address(command.form, match, seat)
    return found if found.rev is not None else replace(found, rev=next_rev(command, match, seat))


def next_rev(command: AnyCommand, match: Match, seat: int) -> int:
    """The next revision for this command."""
    spec = COMMANDS[command.name]
    if not (spec.stands or spec.withdraws):
        return match.said.get((seat, command.name), 0) + 1
    if match.phase == "setup":
        before = match.setups.get(seat)
    else:
        turn = match.turn if command.form.turn is None else command.form.turn
        before = match.orders.get(seat) if turn == match.turn else match.stored.get((seat, turn))
    return before.rev + 1 if before else 1


def sentence(command: AnyCommand, place: Mapping[str, str]) -> str:
    """The whole sentence of a command: its words, its place and its block."""
    lines = [command.head, *(f"{key} {value}" for key, value in place.items())]
    if isinstance(command.request, Propose | AnnounceTournament | Rule):
        lines += [f"{key}: {value}" for key, value in command.request.options.items()]
    elif command.block:
        lines.append(command.block)
    return "\n".join([*lines, "end"])
