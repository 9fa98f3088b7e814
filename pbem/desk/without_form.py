"""A letter without a form that counts, by a player without a key: bare orders, `clear`, or `yes` to a completed form.

Its reply address stands for the place. What the letter says is read by the function by which it is verified later
(`pbem.proof.one_letter`). What is in doubt does not count yet: it comes back as a completed form (`completion`).
Implements protocol.md, "Identity", level `mailbox`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pbem.desk.answer_letter import own_lines
from pbem.desk.completion import MOST, faults_of, nearly
from pbem.desk.reply_tokens import demand_dns
from pbem.desk.seats import find_seat
from pbem.mail.commands import masked
from pbem.match.changed import replace
from pbem.proof import one_letter
from pbem.proof.mailbox_evidence import detail_in_to, token_hash
from pbem.requests import SubmitOrders

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
    if player is None or player.level != "mailbox" or not reading.short or reading.meant is not None:
        return reading
    # His own: that of somebody who had the seat before proves nothing, and the evidence would name another one.
    mailed = (one for one in tokens if one.is_of(letter.sender or "", player.name))
    found = next((one for one in mailed if one.place and one.hash == token_hash(used)), None)
    at = find_seat(desk.seats, found.place[0], player.name) if found and found.place else None
    rev = desk.mailboxes.revision(at.match, at.seat, found, letter) if at and found else 0
    if at is None or not rev:
        return reading
    command = one_letter.given(at.match, at.seat, rev, used, reading.short, letter.text or "")
    said = masked(reading.short).split("\n")
    ignored = [run for run in reading.ignored if run.strip() not in said]
    if command is None or _is_in_doubt(at.match, at.seat, reading.short, command, own_lines(ignored)):
        return reading
    demand_dns(understood.voucher)
    if not understood.voucher.covers_to:  # nobody could tell later to which address it went
        return reading
    return replace(reading, commands=[command], ignored=ignored, short="")


def _is_in_doubt(match: Match, seat: int, short: str, command: AnyCommand, others: Sequence[str]) -> bool:
    """True if the orders are illegal, or if the player's other words may change what the letter gives."""
    request = command.request
    if one_letter.consents(short):
        return bool(others)
    if len(short) + sum(map(len, others)) > MOST:
        return True
    if isinstance(request, SubmitOrders) and faults_of(match, seat, request.text):
        return True
    return any(nearly(match, seat, words) is not None for line in others for words in (line, *line.split()))
