"""Short answers: letters without a form, which a reply address gives their place.

Two lists hold their meanings, and the first that fits is taken: `_COUNTING` has those with an effect, which
verification finds again (`pbem.proof.one_letter`); `_IN_DOUBT` those that come back as a form, or with their faults.
Implements protocol.md, "Commands" and "Identity".
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec.structs import replace

from pbem.desk import plain_words
from pbem.desk.answer_letter import own_lines, own_words
from pbem.desk.caller import Trust
from pbem.desk.completion import accepting, complete
from pbem.desk.outcomes import Reply
from pbem.desk.plain_words import SENTENCE_END
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
from pbem.requests import Accept, AnyRequest, Clear, SendPress, SignedForm, SubmitOrders, SubmitSetup, Substitute

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pbem.desk.caller import Caller, Incoming
    from pbem.identity.sender_auth import Voucher
    from pbem.mail.message import Letter
    from pbem.store.tokens import Token

    Offered = tuple[AnyCommand, Reply, list[str]]
    """A command with the words that mean it as its echo; the answer; and the words that it leaves out."""

_PAUSE = re.compile(r"[.,;:!?\n]+")

_HASHED = re.compile(
    r"^[> ]*(enter t[1-9][0-9]{0,8}|substitute m[1-9][0-9]{0,8} [a-z0-9_-]+ for [a-z0-9_-]+)\s[> ]*[0-9a-f]{8}", re.M
)
"""The line with which a letter asks somebody to take part, above or before the hash of the terms."""

_OFFERS = (
    (
        re.compile(r"(?m)^[> ]*(draw|annul)(?: m[1-9][0-9]{0,8})?( accept(?: for(?: [a-z0-9_-]+)+)?) *$"),
        r"\1\2",
        r"\1 decline",
    ),
    (
        re.compile(r"(?m)^[> ]*substitute m[1-9][0-9]{0,8} ([a-z0-9_-]+) (for [a-z0-9_-]+) *$"),
        r"substitute \1 \2",
        r"substitute none \2",
    ),
)
"""The lines with which a letter asks to accept an offer, or to agree; with the sentences of a yes and of a no."""

_ORDERS = re.compile(rf"\b{plain_words.ORDERS}\s*:", re.I)

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

_LATER = Phrase("nothing is due from you now; `status {match}` brings the form for a later turn")

_ACCEPT = Fault("yes", None, Phrase("`accept` above an empty line counts whatever else your letter says or quotes"))


def taking_part(reading: Reading) -> Reading | None:
    """A yes to the quoted terms of a tournament or a seat, or a no to the latter, as a request for its form."""
    lines = {line for run in reading.ignored for line in _HASHED.findall(run)}
    said = SENTENCE_END.split(reading.short, maxsplit=1)[0]
    no = plain_words.refuses(said)
    if reading.commands or len(lines) != 1 or not (no or consents(said)):
        return None
    line = re.sub(r" \S+ for ", " none for ", lines.pop()) if no else lines.pop()
    # Nobody has to decline a tournament.
    commands = [one for one in parse(line).commands if not no or isinstance(one.request, Substitute)]
    return replace(reading, commands=commands, ignored=_beside(reading), short="") if commands else None


def _beside(reading: Reading) -> list[str]:
    """The ignored runs of lines without those of the first paragraph."""
    said = {*masked(reading.short).split("\n")}
    return [run for run in reading.ignored if run.strip() not in said]


class _Answer(NamedTuple):
    """A letter without a form, of whose texts one is read, and the place of the letter of ours that it answers."""

    letter: Letter
    reading: Reading
    voucher: Voucher
    at: SeatContext
    token: Token
    """The token that names the place."""
    given: AnyCommand | None
    """The command that verification finds in it."""
    others: Sequence[str]
    """Its texts that are not read."""
    talks: bool
    """True if it answers a message."""


def without_form(seats: Seats, mailboxes: ReplyTokens, mail: Incoming) -> Incoming:
    """The letter with the one text that is read, and the command that it gives by its reply address.

    Only the player's own tokens for a place of a match count: that of somebody who had the seat before proves
    nothing, and the evidence would name another one. Raises `NeedsDns`.
    """
    texts, used = mail.letter.texts, detail_in_to(mail.letter)
    own = [token for token in mail.mailed if token.place and token.is_of(mail.address, mail.keyless_name)]
    token = min(own, key=lambda one: one.hash != token_hash(used), default=None)
    at = find_seat(seats, token.match or 0, token.name) if token else None
    if token is None or at is None:
        return mail
    rev = mailboxes.revision(at.match, at.seat, token)
    counting = one_letter.counting(at.match, at.seat, rev, used, texts) if rev else []
    letter, reading = mail.letter, mail.reading
    if len(counting) > 1:
        letter, reading = replace(letter, texts=(), several=True), Reading([], [])
    elif len(texts) > 1:
        text = counting[0][0] if counting else _nearest(at.match, at.seat, texts)
        letter, reading = replace(letter, texts=(text,)), parse(text, signed=False)
    if reading.short:
        others = [text for text in texts if text != letter.text]
        given = counting[0][1] if counting and not is_spent(token, letter) else None
        answer = _Answer(
            letter, reading, mail.understood.voucher, at, token, given, others, mailboxes.is_talk(letter)
        )
        reading = next(filter(None, (meaning(answer) for meaning in _COUNTING)), reading)
    return replace(mail, letter=letter, understood=replace(mail.understood, reading=reading))


def _message(answer: _Answer) -> Reading | None:
    """Plain words in answer to a message, none of which may be meant for the referee alone."""
    match, seat, reading = answer.at.match, answer.at.seat, answer.reading
    lines = own_words(answer.letter.text or "")
    said = masked("\n".join(lines))
    consent = match.phase == "proposed" and consents(reading.short)
    unsure = consent or reading.meant is not None or any(COMMANDS[one.name].private for one in reading.commands)
    if not answer.talks or unsure or len(said) > MOST or not says_something(said):
        return None
    whole = (said, reading.short, *lines)
    if (
        # A command may begin a sentence, but has a line of its own.
        any(not parse(line, signed=False).short or named(match, line) for line in whole[1:])
        # Of a game's words that a dash joins, each counts.
        or any(nearly(match, seat, words.replace("-", " - ")) is not None for words in whole)
        or any(_is_order(match, seat, words) for words in (*whole, *_PAUSE.split(said)))
        or any(_ORDERS.search(line) or is_for_some(match, seat, line) for line in lines)
    ):
        return None
    press = Command("press", said, "", 1, SignedForm(SendPress(match=match.id, text=said)), block=said)
    return replace(reading, commands=[press], ignored=[], optout=False, short="")


def _sentence(answer: _Answer) -> Reading | None:
    """A sentence that only lacks its match, and that no bundle will have to prove."""
    match, reading = answer.at.match, answer.reading
    sentence = named(match, reading.short)
    if sentence is None or COMMANDS[sentence.name].place not in {None, "player"}:
        return None
    # In a match that has begun, `decline` is said to an offer.
    if match.phase not in AGREEING and plain_words.refuses(reading.short):
        return None
    counts = reading.meant is None or not COMMANDS[sentence.name].signed
    lists = {"commands" if counts else "meant": [sentence]}
    return replace(reading, ignored=_beside(reading), short="", **lists)


def _given(answer: _Answer) -> Reading | None:
    """Bare orders, a bare setup, a sentence, or a yes to what is quoted, as verification reads it."""
    reading, given = answer.reading, answer.given
    # What the answer offers depends on what the domain signs, too.
    if given is not None or (reading.meant is None and consents(reading.short)):
        demand_dns(answer.voucher)
    # Nobody could tell later to which address it went if that is not signed.
    if given is None or _is_in_doubt(answer, given) or not answer.voucher.covers_to:
        return None
    return replace(reading, commands=[given], ignored=_beside(reading), short="")


_COUNTING = (_message, _sentence, _given)
"""The meanings of a short answer that count, the first that fits; each is the reading with that command, or None."""


def _is_in_doubt(answer: _Answer, given: AnyCommand) -> bool:
    """True if what is given is illegal or late, or if the player's other words, or other texts, may change it."""
    match, seat, reading = answer.at.match, answer.at.seat, answer.reading
    short, request = reading.short, given.request
    # Something that this would replace or withdraw may have come at a later address.
    submits, rev = isinstance(request, SubmitSetup | SubmitOrders), given.form.rev or 0
    if (submits or isinstance(request, Clear)) and not answer.token.used and rev < least(match, seat):
        return True
    own = own_lines(_beside(reading), answer.token.name)
    lines = [*own, *own_lines([run for text in answer.others for run in parse(text, signed=False).ignored])]
    is_consent = consents(short) and named(match, short) is None
    if (is_consent and own) or len(short) + sum(map(len, lines)) > MOST:
        return True
    if submits and not is_consent and faults_of(match, seat, given.block or ""):
        return True
    final = any(FINAL.fullmatch(line.strip()) for line in lines)
    return final or any(nearly(match, seat, words) is not None for line in lines for words in (line, *line.split()))


def _nearest(match: Match, seat: int, texts: Sequence[str]) -> str:
    """The text that an answer is about, of several that do not count: the first that is nearly right or consents."""
    shorts = [parse(text, signed=False).short for text in texts]
    judged = zip(texts, shorts, strict=True) if sum(map(len, shorts)) <= MOST else ()
    near = (text for text, short in judged if consents(short) or nearly(match, seat, short) is not None)
    return next(near, texts[0])


class _Doubtful(NamedTuple):
    """The words of a short answer that do not count yet, and the place of the letter of ours that it answers."""

    mailboxes: ReplyTokens
    caller: Caller
    at: SeatContext
    short: str
    ignored: Sequence[str]
    """The ignored runs of lines; neither these nor `short` hold a salutation."""

    @property
    def older(self) -> list[Fault]:
        """The fault of an answer to a letter about an earlier turn or game."""
        match = self.at.match
        if not self.caller.keyless_name or self.caller.answers == self.at.place:
            return []
        if match.phase == "playing":
            older = Phrase("you answered an older letter; turn {turn} is due now", turn=match.turn)
            return [Fault("turn", None, older)]
        return [Fault("game", None, Phrase("you answered an older letter; game {game} is due now", game=match.game))]

    def offer(
        self, command: AnyCommand, template: str, faults: Sequence[Fault] = (), left: str = "", **facts: Any
    ) -> Offered:
        """The answer to them, as the command that they may be, without those that are left out."""
        told = {"faults": [*self.older, *faults], "level": "mailbox" if self.caller.keyless_name else "key"}
        reply = Reply(template, told | facts, at=self.at, outcome="unplaced")
        return command, reply, left.split("\n")


def understood(seats: Seats, mailboxes: ReplyTokens, caller: Caller) -> Offered | None:
    """The whole form for a short answer to a letter about a match, or what is wrong with it; None for other words.

    The reply address names match, turn and seat; but the letter proves nothing later of what it does not say itself.
    """
    at = answered_at(seats, caller) if caller.reading.short and caller.trust is not Trust.STRANGER else None
    if at is None:
        return None
    reading = plain_words.below_salutation(caller.reading)
    # What a key has to sign, at the present place, is not guessed from a yes or from prose.
    meanings = _IN_DOUBT if caller.keyless_name else (_submission,)
    words = _Doubtful(mailboxes, caller, at, masked(reading.short), reading.ignored)
    offered = next(filter(None, (meaning(words) for meaning in meanings)), None)
    if offered is None:
        return None
    command, reply, left = offered
    taken = {"", *map(str.strip, command.echo.split("\n"))}
    runs = (run.split("\n") for run in _beside(reading))
    return command, reply, [*left, *("\n".join(line for line in run if line.strip() not in taken) for run in runs)]


def _unproved_sentence(words: _Doubtful) -> Offered | None:
    """A sentence that only lacks its match; or a yes or no to the one offer of the letter that is quoted.

    A yes to an offer is none to orders; it counts as the line that the letter brought, and a no as its opposite.
    """
    said = SENTENCE_END.split(words.short, maxsplit=1)[0]
    no = plain_words.refuses(said)
    ignored = words.ignored if no or plain_words.agrees(said) else []
    offers = {
        asked.expand(declining if no else accepting)
        for line, accepting, declining in _OFFERS
        for run in ignored
        for asked in line.finditer(run)
    }
    sentence = named(words.at.match, offers.pop() if len(offers) == 1 else words.short)
    if sentence is None or sentence.name not in SENTENCES["playing"]:
        return None
    command = replace(sentence, echo=words.short)
    return words.offer(command, "completed", _unsigned(words.caller), form=sentence.echo)


def _consent(words: _Doubtful) -> Offered | None:
    """A first sentence that says only yes: why it does not count, and what to send instead."""
    at, match, caller, short = words.at, words.at.match, words.caller, words.short
    said, rest = SENTENCE_END.split(short, maxsplit=1)
    proposed = match.phase == "proposed"
    # A yes to an older letter may be one to anything.
    if words.older or not plain_words.agrees(said) or not (proposed or match.play.due(match, at.seat)):
        return None
    against = against_yes(words.mailboxes, caller, match)
    if against is not None:
        faults = against
    elif not caller.tokens:
        faults = [_USED]
    elif proposed and consents(short) and not consents(short, to_terms=True):
        faults = [_RECEIVED]
    else:
        is_unquoted = consents(caller.reading.short) and not own_lines(_beside(caller.reading))
        faults = [_UNQUOTED if is_unquoted else _MORE, *([_ACCEPT] if proposed else [])]
    # What was agreed to comes back with its answer, so that the next yes has it to quote.
    request: AnyRequest = Accept()
    form = accepting(match) if proposed else None
    quoted = None if proposed else one_letter.quoted(match, at.seat, caller.letter.text or "")
    if isinstance(quoted, SubmitSetup | SubmitOrders):
        mended = complete(match, at.seat, quoted.text, final=getattr(quoted, "final", False))
        request, form = quoted, mended and mended[0]
    consent = Command(row_of(request).name, short[: len(short) - len(rest)], "", 1, SignedForm(request))
    if form:
        return words.offer(consent, "completed", faults, rest, form=form, yes=against is None)
    asked = {"turn": match.turn, "allowed": match.rules.empty_orders, "consent": True, "faults": faults}
    return consent, Reply("untouched", asked | at.facts(), at=at, outcome="asked"), rest.split("\n")


def _submission(words: _Doubtful) -> Offered | None:
    """Orders or a setup that say no more than what to do: the whole form, or what is wrong with them."""
    match, seat, caller, short = words.at.match, words.at.seat, words.caller, words.short
    due = match.play.due(match, seat)
    # Mail programs make each line a paragraph, or break lines; and below the orders there may be a name, or prose.
    own, lines = own_lines(words.ignored, caller.known_player.name), short.split("\n")
    cuts = [(own, len(own)), (own, -1), (lines, len(lines)), (lines, -1), (lines, 1)]
    texts = ["\n".join(of[:end]) for of, end in cuts if _is_apart(match, seat, of[:end], of[end:])]
    tried = ((text, complete(match, seat, NAMED.sub("", text))) for text in texts)
    near = ((text, None) for text in texts if nearly(match, seat, text) or _is_order(match, seat, text))
    text, mended = next((one for one in tried if one[1]), None) or next(near, ("", None))
    if not text:
        return None
    left = "\n".join(line for line in lines if line not in text.split("\n"))
    request = SubmitOrders() if match.phase == "playing" else SubmitSetup()
    command = Command(row_of(request).name, text, "", 1, SignedForm(request))
    if mended is None:
        later = Fault("turn", None, _LATER.given(match=match.id))
        wrong = nearly(match, seat, text) or (faults_of(match, seat, text) if due else (later,))
        talk = words.mailboxes.is_talk(caller.letter) or short.lower().startswith("press")
        return words.offer(command, "nearly", [*map(escaped, wrong)], left, due=due, match=match.id, talk=talk)
    faults, yes = [Fault("orders", None, BROKEN)] if WRAPPED.search(short) else [], False
    form, slips = mended
    faults += map(escaped, slips)
    if caller.keyless_name:
        against = against_yes(words.mailboxes, caller, match)
        faults += against or []
        # A yes never orders nothing.
        yes = against is None and says_something(FINAL.sub("", text))
    return words.offer(command, "completed", faults, left, form=form, yes=yes)


def _is_apart(match: Match, seat: int, text: Sequence[str], rest: Sequence[str]) -> bool:
    """True if these lines say what to do, and the rest below them does not."""
    said = not rest or says_something(FINAL.sub("", "\n".join(text)))
    return said and nearly(match, seat, "\n".join(rest)) is None


def _prose(words: _Doubtful) -> Offered | None:
    """Plain words that probably mean a command: its form."""
    form = plain_words.meant(words.at.match, words.at.seat, words.short)
    commands = parse(form or "").commands
    # What follows polite words may be a command itself.
    if form is None or len(commands) != 1:
        return None
    return words.offer(replace(commands[0], echo=words.short), "meant", meant=commands[0].name, form=form)


_IN_DOUBT: tuple[Callable[[_Doubtful], Offered | None], ...] = (_unproved_sentence, _consent, _submission, _prose)
"""The meanings of a short answer that is in doubt, the first that fits; each is what is offered, or None."""


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


def nearly(match: Match, seat: int, text: str) -> tuple[Fault, ...] | None:
    """The faults of a text that is at least half right for what is due; other words are just prose."""
    meant = _submitted(match, text)
    if not meant or match.play.due(match, seat) is None:
        return None
    faults = faults_of(match, seat, meant)
    return faults if 2 * len(faults) <= len(meant.split()) else None


def _is_order(match: Match, seat: int, text: str) -> bool:
    """True if a text could be a part of what is due, or orders for a later turn, as far as a game says it."""
    position, meant = match.playing, _submitted(match, text)
    if not meant:
        return False
    # Faults without a token are of what the text lacks.
    if match.play.due(match, seat) and all(fault.token is None for fault in faults_of(match, seat, meant)):
        return True
    if position is None or seat not in position.remaining or part_of(match.rules.name, "ahead") is None:
        return False
    # Where players move in turn, it is the next one's, or that of another one behind it.
    turns = range(match.turn + 1, match.turn + 1 + len(match.seats))
    return not all(parts.ahead(match.rules, position, seat, turn, meant) for turn in turns)


def _submitted(match: Match, text: str) -> str:
    """The probable meaning of a text as orders or a setup; empty if it says nothing, or is too long to be judged."""
    meant = "" if len(text) > MOST else parts.meant(match.rules, FINAL.sub("", NAMED.sub("", text)))
    return meant if says_something(meant) else ""
