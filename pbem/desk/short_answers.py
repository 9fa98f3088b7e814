"""Short answers: letters without a form, which a reply address gives their place.

`without_form` reads bare orders, `yes`, or a sentence without its match by the function by which they are verified
later (`pbem.proof.one_letter`). What is in doubt does not count yet: `understood` sends it back as a form
(`pbem.desk.completion`), or says what is wrong with it. Implements protocol.md, "Commands" and "Identity".
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from msgspec.structs import replace

from pbem.desk import plain_words
from pbem.desk.answer_letter import own_lines, own_words
from pbem.desk.caller import Caller, Trust
from pbem.desk.completion import accepting, complete
from pbem.desk.outcomes import Reply
from pbem.desk.reply_tokens import ReplyTokens, demand_dns, is_spent, least
from pbem.desk.seats import SeatContext, Seats, answered_at, find_seat
from pbem.games import Fault, part_of, parts
from pbem.letters.safe_text import escaped
from pbem.mail.commands import BROKEN, COMMANDS, WRAPPED, AnyCommand, Command, Reading, masked, parse, row_of
from pbem.match.naming import is_for_some
from pbem.match.state import AGREEING, Match
from pbem.phrase import Phrase
from pbem.proof import one_letter
from pbem.proof.mailbox_evidence import detail_in_to, token_hash
from pbem.proof.one_letter import FINAL, MOST, NAMED, SENTENCES, consents, faults_of, named, says_something
from pbem.requests import Accept, Clear, SendPress, SignedForm, SubmitOrders, SubmitSetup

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pbem.desk.reading import Understood
    from pbem.identity.sender_auth import Voucher
    from pbem.mail.message import Letter
    from pbem.store.tokens import Token

_SENTENCE_END = re.compile(r"[.!?\n]+\s*|\Z")

_PAUSE = re.compile(r"[.,;:!?\n]+")

_HASHED = re.compile(
    r"^[> ]*(enter t[1-9][0-9]{0,8}|substitute m[1-9][0-9]{0,8} [a-z0-9_-]+ for [a-z0-9_-]+)\s[> ]*[0-9a-f]{8}", re.M
)
"""The line with which a letter asks somebody to take part, above or before the hash of the terms."""

_OFFER = re.compile(r"^[> ]*(draw|annul)(?: m[1-9][0-9]{0,8})?( accept(?: for(?: [a-z0-9_-]+)+)?) *$", re.MULTILINE)
"""The line with which a letter asks to accept an offer."""

_ORDERS = re.compile(r"\b(?:orders|setup|befehle|züge|aufstellung)\s*:", re.I)

_UNSIGNED = Fault(
    "yes",
    None,
    Phrase(
        "no signature of your provider (DKIM) that we could check covers the line To, so nobody could tell later"
        " which letter you answered: only whole forms count, and no `yes`"
    ),
)

_PLAIN = Fault("yes", None, Phrase("our address does not say what you answer: only whole forms count, and no `yes`"))

_USED = Fault("yes", None, Phrase("you answered a letter whose reply address was used before"))

_RECEIVED = Fault("yes", None, Phrase("this may only mean that you have read the terms"))

_MORE = Fault("yes", None, Phrase("your letter says more than `yes`, and that may change what you mean"))

_UNQUOTED = Fault("yes", None, Phrase("your letter does not quote what you agree to, or not all of it"))

_ACCEPT = Fault("yes", None, Phrase("`accept` counts whatever else your letter says or quotes"))


def understood(
    seats: Seats, mailboxes: ReplyTokens, caller: Caller, short: str
) -> tuple[AnyCommand, Reply, list[str]] | None:
    """The whole form for a short answer to a letter about a match.

    It includes what was left out: mail programs break lines, but the second may not be an order. The reply
    address names match, turn and seat; but the letter proves nothing later of what it does not say itself.
    """
    at = None if caller.trust is Trust.STRANGER else answered_at(seats, caller)
    if at is None:
        return None
    if not caller.keyless_name:  # a key has to sign it, at the present place
        return _unplaced(mailboxes, caller, at, short, ())
    match, seat = at.match, at.seat
    older = [] if caller.answers == at.place else [_older(match)]
    # A yes to an older letter may be one to anything.
    said, rest = _SENTENCE_END.split(short, maxsplit=1)
    # A yes to an offer is none to orders; it counts as the line that the letter brought, and a no as its opposite.
    no = plain_words.refuses(said)
    lines = {line for run in caller.reading.ignored for line in _OFFER.findall(run) if no or consents(said)}
    offers = {f"{what} decline" if no else what + accept for what, accept in lines}
    sentence = named(match, offers.pop() if len(offers) == 1 else short)
    if sentence is not None and sentence.name in SENTENCES["playing"]:
        facts: dict[str, object] = {"faults": [*older, *_unsigned(caller)], "form": sentence.echo, "level": "mailbox"}
        return replace(sentence, echo=short), Reply("completed", facts, at=at, outcome="unplaced"), []
    # The text after a first sentence that says only yes.
    after = rest if not older and consents(said) else None
    if after is not None and (match.phase == "proposed" or match.play.due(match, seat)):
        consent = Command("accept", short[: len(short) - len(after)], "", 1, SignedForm(Accept()))
        return consent, _consented(mailboxes, caller, at, short), after.split("\n")
    return _unplaced(mailboxes, caller, at, short, older) or _in_plain_words(at, short, older)


def _in_plain_words(
    at: SeatContext, short: str, older: Sequence[Fault]
) -> tuple[AnyCommand, Reply, list[str]] | None:
    """The form of the command that plain words probably mean."""
    found = plain_words.meant(at.match, at.seat, short)
    if found is None:
        return None
    name, form = found
    (command,) = parse(form).commands
    facts: dict[str, object] = {"meant": name, "faults": older, "form": form, "level": "mailbox"}
    return replace(command, echo=short), Reply("meant", facts, at=at, outcome="unplaced"), []


def _unplaced(
    mailboxes: ReplyTokens, caller: Caller, at: SeatContext, short: str, older: Sequence[Fault]
) -> tuple[AnyCommand, Reply, list[str]] | None:
    """The whole form for orders or a setup that say no more than what to do; or what is wrong with them."""
    match, seat = at.match, at.seat
    first, _, rest = short.partition("\n")
    text, left_out = short, ""
    found, wrong = complete(match, seat, NAMED.sub("", short)), nearly(match, seat, short)
    # Some mail programs make each line a paragraph.
    paragraphs = "\n".join(own_lines(caller.reading.ignored))
    if found is None and (found := complete(match, seat, NAMED.sub("", paragraphs))) is not None:
        text = paragraphs
    elif found is None and nearly(match, seat, rest) is None:
        text, left_out = first, rest
        found, wrong = complete(match, seat, NAMED.sub("", first)), nearly(match, seat, first)
    if found is not None:
        broken = [Fault("orders", None, BROKEN)] if WRAPPED.search(short) else []
        told = [*older, *broken, *map(escaped, found.slips)]
        facts: dict[str, object] = {"faults": told, "form": found.form, "level": "key"}
        if caller.keyless_name:
            against = against_yes(mailboxes, caller, match)
            told += against or []
            # A yes never orders nothing.
            facts |= {"level": "mailbox", "yes": against is None and says_something(FINAL.sub("", text))}
        reply = Reply("completed", facts, at=at, outcome="unplaced")
    elif wrong or _is_order(match, seat, text):
        wrong = wrong or (faults_of(match, seat, text) if match.play.due(match, seat) else _not_due(match))
        facts = {"faults": [*older, *map(escaped, wrong)], "due": match.play.due(match, seat), "match": match.id}
        facts["talk"] = mailboxes.is_talk(caller.letter) or short.lower().startswith("press")
        reply = Reply("nearly", facts, at=at, outcome="unplaced")
    else:
        return None
    request = SubmitOrders() if match.phase == "playing" else SubmitSetup()
    return Command(row_of(request).name, text, "", 1, SignedForm(request)), reply, left_out.split("\n")


def against_yes(mailboxes: ReplyTokens, caller: Caller, match: Match) -> list[Fault] | None:
    """The reason why no yes counts here, as far as the caller's letter shows; None if one may."""
    if caller.reading.meant is not None:
        return []  # the answer says so of all that HTML alone says
    if unsigned := _unsigned(caller):
        return unsigned
    return None if mailboxes.stand_for_place(match) else [_PLAIN]


def _unsigned(caller: Caller) -> list[Fault]:
    """The reason why no letter of the caller's counts by its reply address alone, if the DNS was asked about it."""
    voucher = caller.understood.voucher
    return [] if voucher.covers_to or voucher.wanted else [_UNSIGNED]


def taking_part(reading: Reading) -> Reading | None:
    """A yes to the quoted terms of a tournament or a seat, as a request for the form that agrees; None otherwise."""
    lines = {line for run in reading.ignored for line in _HASHED.findall(run)}
    if reading.commands or len(lines) != 1 or not consents(_SENTENCE_END.split(reading.short, maxsplit=1)[0]):
        return None
    return replace(reading, commands=parse(lines.pop()).commands, ignored=beside(reading), short="")


def beside(reading: Reading) -> list[str]:
    """The ignored runs of lines without those of the first paragraph."""
    said = {*masked(reading.short).split("\n")}
    return [run for run in reading.ignored if run.strip() not in said]


def _older(match: Match) -> Fault:
    """The words about an answer to a letter that is about an earlier turn or game."""
    if match.phase == "playing":
        return Fault("turn", None, Phrase("you answered an older letter; turn {turn} is due now", turn=match.turn))
    return Fault("game", None, Phrase("you answered an older letter; game {game} is due now", game=match.game))


def _not_due(match: Match) -> tuple[Fault]:
    """The words about orders of somebody who can give none in the present turn."""
    says = Phrase("nothing is due from you now; `status {match}` brings the form for a later turn", match=match.id)
    return (Fault("turn", None, says),)


def _consented(mailboxes: ReplyTokens, caller: Caller, at: SeatContext, short: str) -> Reply:
    """The answer to a yes that does not count: why, and what to send instead."""
    match = at.match
    against = against_yes(mailboxes, caller, match)
    proposed, faults = match.phase == "proposed", against or []
    if against is None and not caller.tokens:
        faults = [_USED]
    elif against is None and proposed and consents(short) and not consents(short, to_terms=True):
        faults = [_RECEIVED]
    elif against is None:
        is_unquoted = consents(short) and not own_lines(beside(caller.reading))
        faults = [_UNQUOTED if is_unquoted else _MORE, *([_ACCEPT] if proposed else [])]
    if proposed:
        yes = against is None
        facts: dict[str, object] = {"faults": faults, "form": accepting(match), "level": "mailbox", "yes": yes}
        return Reply("completed", facts, at=at, outcome="unplaced")
    asked = {"turn": match.turn, "allowed": match.rules.empty_orders, "consent": True, "faults": faults}
    return Reply("untouched", asked | at.facts(), at=at, outcome="asked")


def nearly(match: Match, seat: int, text: str) -> tuple[Fault, ...] | None:
    """The faults of a text that is at least half right for what is due; other words are just prose."""
    if match.play.due(match, seat) is None or len(text) > MOST:
        return None
    meant = parts.meant(match.rules, FINAL.sub("", NAMED.sub("", text)))
    if not says_something(meant):
        return None
    faults = faults_of(match, seat, meant)
    return faults if 2 * len(faults) <= len(meant.split()) else None


def without_form(
    seats: Seats, mailboxes: ReplyTokens, letter: Letter, understood: Understood, own: Sequence[Token]
) -> tuple[Letter, Reading]:
    """The letter with the one text that is read, and its commands, with that which it gives by its reply address.

    `own`: the player's own tokens for a place of a match. That of somebody who had the seat before proves nothing,
    and the evidence would name another one. Raises `NeedsDns`.
    """
    reading, texts = understood.reading, letter.texts
    used = detail_in_to(letter)
    mailed = sorted(own, key=lambda one: one.hash != token_hash(used))
    is_bare = bool(reading.short) or len(texts) > 1
    at = find_seat(seats, mailed[0].match or 0, mailed[0].name) if is_bare and mailed else None
    if at is None:
        return letter, reading
    if reading.short and mailboxes.is_talk(letter) and (said := _message(at, letter.text or "", reading)) is not None:
        return letter, replace(reading, commands=[said], ignored=[], optout=False, short="")
    rev = mailboxes.revision(at.match, at.seat, mailed[0])
    counting = one_letter.counting(at.match, at.seat, rev, used, texts) if rev else []
    if len(counting) > 1:
        return replace(letter, texts=(), several=True), Reading([], [])
    if len(texts) > 1:
        chosen = counting[0][0] if counting else _nearest(at.match, at.seat, texts)
        letter, reading = replace(letter, texts=(chosen,)), parse(chosen, signed=False)
    if not reading.short:
        return letter, reading
    command = counting[0][1] if counting and not is_spent(mailed[0], letter) else None
    others = [text for text in texts if text != letter.text]
    return letter, _bare(at, understood.voucher, mailed[0], reading, command, others)


def _bare(
    at: SeatContext,
    voucher: Voucher,
    token: Token,
    reading: Reading,
    command: AnyCommand | None,
    others: Sequence[str],
) -> Reading:
    """The reading with what words without a form give: a sentence that only lacks its match, or this command.

    `others`: the texts of the letter that are not read.
    """
    ignored = beside(reading)
    # A sentence that no bundle will have to prove.
    sentence = one_letter.named(at.match, reading.short)
    # In a match that has begun, `decline` is said to an offer.
    is_to_offer = at.match.phase not in AGREEING and plain_words.refuses(reading.short)
    if sentence is not None and not is_to_offer and COMMANDS[sentence.name].place in {None, "player"}:
        counts = reading.meant is None or not COMMANDS[sentence.name].signed
        lists = {"commands": [sentence]} if counts else {"meant": [sentence]}
        return replace(reading, ignored=ignored, short="", **lists)
    if reading.meant is not None:
        return reading
    # What the answer offers depends on what the domain signs, too.
    if command is not None or one_letter.consents(reading.short):
        demand_dns(voucher)
    if command is None:
        return reading
    # Something that this command would replace or withdraw may have come at a later address.
    submits = isinstance(command.request, SubmitSetup | SubmitOrders | Clear)
    if submits and token.used is None and (command.form.rev or 0) < least(at.match, at.seat):
        return reading
    if _is_in_doubt(at.match, at.seat, reading.short, command, own_lines(ignored), others):
        return reading
    if not voucher.covers_to:  # nobody could tell later to which address it went
        return reading
    return replace(reading, commands=[command], ignored=ignored, short="")


def _message(at: SeatContext, text: str, reading: Reading) -> AnyCommand | None:
    """The message that plain words are, in answer to one; None for what may be meant for the referee alone."""
    match, lines = at.match, own_words(text)
    said = masked("\n".join(lines))
    consent = match.phase == "proposed" and one_letter.consents(reading.short)
    unsure = consent or reading.meant is not None or any(COMMANDS[one.name].private for one in reading.commands)
    if unsure or len(said) > MOST or not says_something(said):
        return None
    # A command may begin a sentence, but has a line of its own.
    if any(not parse(line, signed=False).short or one_letter.named(match, line) for line in (reading.short, *lines)):
        return None
    # Of a game's words that a dash joins, each counts.
    if any(nearly(match, at.seat, words.replace("-", " - ")) is not None for words in (said, reading.short, *lines)):
        return None
    if any(_is_order(match, at.seat, words) for words in (said, reading.short, *lines, *_PAUSE.split(said))):
        return None
    if any(_ORDERS.search(line) or is_for_some(match, at.seat, line) for line in lines):
        return None
    return Command("press", said, "", 1, SignedForm(SendPress(match=match.id, text=said)), block=said)


def _is_order(match: Match, seat: int, text: str) -> bool:
    """True if a text could be a part of what is due, or orders for a later turn, as far as a game says it."""
    position, meant = match.playing, parts.meant(match.rules, FINAL.sub("", NAMED.sub("", text)))
    if len(text) > MOST or not says_something(meant):
        return False
    # Faults without a token are of what the text lacks.
    if match.play.due(match, seat) and all(fault.token is None for fault in faults_of(match, seat, meant)):
        return True
    if position is None or seat not in position.remaining or part_of(match.rules.name, "ahead") is None:
        return False
    # Where players move in turn, it is the next one's, or that of another one behind it.
    turns = range(match.turn + 1, match.turn + 1 + len(match.seats))
    return not all(parts.ahead(match.rules, position, seat, turn, meant) for turn in turns)


def _nearest(match: Match, seat: int, texts: Sequence[str]) -> str:
    """The text that an answer is about, of several that do not count: the first that is nearly right or consents."""
    shorts = [parse(text, signed=False).short for text in texts]
    if sum(map(len, shorts)) <= MOST:
        for text, short in zip(texts, shorts, strict=True):
            if one_letter.consents(short) or (short and nearly(match, seat, short) is not None):
                return text
    return texts[0]


def _is_in_doubt(
    match: Match, seat: int, short: str, command: AnyCommand, ignored: Sequence[str], texts: Sequence[str]
) -> bool:
    """True if what is given is illegal, or if the player's other words, or those of other texts, may change it."""
    elsewhere = [run for text in texts for run in parse(text, signed=False).ignored]
    request, lines = command.request, (*ignored, *own_lines(elsewhere))
    is_consent = one_letter.consents(short) and one_letter.named(match, short) is None
    if (is_consent and ignored) or len(short) + sum(map(len, lines)) > MOST:
        return True
    if not is_consent and isinstance(request, SubmitSetup | SubmitOrders) and faults_of(match, seat, request.text):
        return True
    return any(nearly(match, seat, words) is not None for line in lines for words in (line, *line.split()))
