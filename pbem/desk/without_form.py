"""A letter without a form that counts, by a player without a key: bare orders, `yes`, a sentence without its match.

Its reply address stands for the place. What the letter says is read by the function by which it is verified later
(`pbem.proof.one_letter`). What is in doubt does not count yet: it comes back as a completed form (`completion`).
Implements protocol.md, "Identity", level `mailbox`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pbem.desk.answer_letter import own_lines
from pbem.desk.completion import beside, nearly
from pbem.desk.reply_tokens import demand_dns, is_spent, least
from pbem.desk.seats import find_seat
from pbem.mail.commands import COMMANDS, AnyCommand, Reading, parse
from pbem.match.changed import replace
from pbem.proof import one_letter
from pbem.proof.mailbox_evidence import detail_in_to, token_hash
from pbem.proof.one_letter import MOST, faults_of
from pbem.requests import Clear, SubmitOrders, SubmitSetup

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pbem.desk.reading import Understood
    from pbem.desk.wiring import Desk
    from pbem.mail.message import Letter
    from pbem.match.state import Match
    from pbem.store.players import PlayerRow
    from pbem.store.tokens import Token


def read(
    desk: Desk, letter: Letter, understood: Understood, tokens: Sequence[Token], player: PlayerRow | None
) -> tuple[Letter, Reading]:
    """The letter with the one text that is read, and its commands, with that which it gives by its reply address.

    Raises `NeedsDns`.
    """
    reading, texts = understood.reading, letter.texts
    if player is None or player.level != "mailbox" or not (reading.short or len(texts) > 1):
        return letter, reading
    # His own: that of somebody who had the seat before proves nothing, and the evidence would name another one.
    mailed = [one for one in tokens if one.place and one.is_of(letter.sender or "", player.name)]
    used = detail_in_to(letter)
    mailed.sort(key=lambda one: one.hash != token_hash(used))
    at = find_seat(desk.seats, mailed[0].match or 0, player.name) if mailed else None
    if at is None:
        return letter, reading
    rev = desk.mailboxes.revision(at.match, at.seat, mailed[0])
    counting = one_letter.counting(at.match, at.seat, rev, used, texts) if rev else []
    if len(texts) > 1:
        if len(counting) > 1:
            return replace(letter, texts=(), several=True), Reading([], [])
        chosen = counting[0][0] if counting else _nearest(at.match, at.seat, texts)
        letter, reading = replace(letter, texts=(chosen,)), parse(chosen, signed=False)
    if not reading.short:
        return letter, reading
    ignored = beside(reading)
    # The match alone is missing, in a sentence that no bundle will have to prove.
    sentence = one_letter.named(at.match, reading.short)
    if sentence is not None and COMMANDS[sentence.name].place in {None, "player"}:
        counts = reading.meant is None or not COMMANDS[sentence.name].signed
        lists = {"commands": [sentence]} if counts else {"meant": [sentence]}
        return letter, replace(reading, ignored=ignored, short="", **lists)
    if reading.meant is not None:
        return letter, reading
    command = counting[0][1] if counting and not is_spent(mailed[0], letter) else None
    # What the answer offers depends on what the domain signs, too.
    if command is not None or one_letter.consents(reading.short):
        demand_dns(understood.voucher)
    if command is None or (mailed[0].used is None and _is_older(at.match, at.seat, command)):
        return letter, reading
    elsewhere = [run for text in texts if text != letter.text for run in parse(text, signed=False).ignored]
    if _is_in_doubt(at.match, at.seat, reading.short, command, own_lines(ignored), own_lines(elsewhere)):
        return letter, reading
    if not understood.voucher.covers_to:  # nobody could tell later to which address it went
        return letter, reading
    return letter, replace(reading, commands=[command], ignored=ignored, short="")


def _nearest(match: Match, seat: int, texts: Sequence[str]) -> str:
    """The text that an answer is about, of several that do not count: the first that is nearly right or consents."""
    shorts = [parse(text, signed=False).short for text in texts]
    if sum(map(len, shorts)) <= MOST:
        for text, short in zip(texts, shorts, strict=True):
            if one_letter.consents(short) or (short and nearly(match, seat, short) is not None):
                return text
    return texts[0]


def _is_older(match: Match, seat: int, command: AnyCommand) -> bool:
    """True if something that this command would replace or withdraw came at a later address."""
    submits = isinstance(command.request, SubmitSetup | SubmitOrders | Clear)
    return submits and (command.form.rev or 0) < least(match, seat)


def _is_in_doubt(
    match: Match, seat: int, short: str, command: AnyCommand, others: Sequence[str], elsewhere: Sequence[str]
) -> bool:
    """True if what is given is illegal, or if the player's other words, or those of other texts, may change it."""
    request, lines = command.request, (*others, *elsewhere)
    is_consent = one_letter.consents(short) and one_letter.named(match, short) is None
    if (is_consent and others) or len(short) + sum(map(len, lines)) > MOST:
        return True
    if not is_consent and isinstance(request, SubmitSetup | SubmitOrders) and faults_of(match, seat, request.text):
        return True
    return any(nearly(match, seat, words) is not None for line in lines for words in (line, *line.split()))
