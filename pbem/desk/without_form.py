"""A letter without a form that counts, by a player without a key: bare orders, `yes`, a sentence without its match.

Its reply address stands for the place. What the letter says is read by the function by which it is verified later
(`pbem.proof.one_letter`). What is in doubt does not count yet: it comes back as a completed form (`completion`).
Implements protocol.md, "Identity", level `mailbox`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pbem.desk.answer_letter import own_lines
from pbem.desk.completion import MOST, beside, faults_of, nearly
from pbem.desk.reply_tokens import demand_dns, least
from pbem.desk.seats import find_seat
from pbem.mail.commands import COMMANDS
from pbem.match.changed import replace
from pbem.proof import one_letter
from pbem.proof.mailbox_evidence import detail_in_to, token_hash
from pbem.requests import Clear, SubmitOrders, SubmitSetup

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pbem.desk.reading import Understood
    from pbem.desk.wiring import Desk
    from pbem.mail.commands import AnyCommand, Reading
    from pbem.mail.message import Letter
    from pbem.match.state import Match
    from pbem.store.players import PlayerRow
    from pbem.store.tokens import Token


def read(
    desk: Desk, letter: Letter, understood: Understood, tokens: Sequence[Token], player: PlayerRow | None
) -> Reading:
    """The commands of a letter, with the one that it gives by its reply address; raises `NeedsDns`."""
    reading, used = understood.reading, detail_in_to(letter)
    if player is None or player.level != "mailbox" or not reading.short:
        return reading
    # His own: that of somebody who had the seat before proves nothing, and the evidence would name another one.
    mailed = [one for one in tokens if one.place and one.is_of(letter.sender or "", player.name)]
    mailed.sort(key=lambda one: one.hash != token_hash(used))
    at = find_seat(desk.seats, mailed[0].match or 0, player.name) if mailed else None
    if at is None:
        return reading
    ignored = beside(reading)
    # The match alone is missing, in a sentence that no bundle will have to prove.
    sentence = one_letter.named(at.match, reading.short)
    if sentence is not None and COMMANDS[sentence.name].place in {None, "player"}:
        counts = reading.meant is None or not COMMANDS[sentence.name].signed
        lists = {"commands": [sentence]} if counts else {"meant": [sentence]}
        return replace(reading, ignored=ignored, short="", **lists)
    if reading.meant is not None:
        return reading
    rev = desk.mailboxes.revision(at.match, at.seat, mailed[0], letter)
    command = one_letter.given(at.match, at.seat, rev, used, reading.short, letter.text or "") if rev else None
    # What the answer offers depends on what the domain signs, too.
    if command is not None or one_letter.consents(reading.short):
        demand_dns(understood.voucher)
    if command is not None and mailed[0].used is None and _is_older(at.match, at.seat, command):
        return reading
    if command is None or _is_in_doubt(at.match, at.seat, reading.short, command, own_lines(ignored)):
        return reading
    if not understood.voucher.covers_to:  # nobody could tell later to which address it went
        return reading
    return replace(reading, commands=[command], ignored=ignored, short="")


def _is_older(match: Match, seat: int, command: AnyCommand) -> bool:
    """True if something that this command would replace or withdraw came at a later address."""
    submits = isinstance(command.request, SubmitSetup | SubmitOrders | Clear)
    return submits and (command.form.rev or 0) < least(match, seat)


def _is_in_doubt(match: Match, seat: int, short: str, command: AnyCommand, others: Sequence[str]) -> bool:
    """True if what is given is illegal, or if the player's other words may change it."""
    request = command.request
    if one_letter.consents(short) and one_letter.named(match, short) is None:
        return bool(others)
    if len(short) + sum(map(len, others)) > MOST:
        return True
    if isinstance(request, SubmitSetup | SubmitOrders) and faults_of(match, seat, request.text):
        return True
    return any(nearly(match, seat, words) is not None for line in others for words in (line, *line.split()))
