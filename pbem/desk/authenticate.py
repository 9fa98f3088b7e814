"""Authentication: the sender of a letter, and the proof by which it counts: a key, or the mailbox.

A letter with a bad signature has no effect, and the owner of the address gets a notice; answers to unverified senders
are limited. Nothing is obeyed here. Implements protocol.md, "Identity", and reliability.md, case 35.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from pbem.desk import account_keys, completion, outcomes
from pbem.desk.caller import Caller, Said, Trust
from pbem.desk.daily_limits import REFUSED_SIGNATURE, REFUSED_SIGNATURE_IN_ANSWER, UNSIGNED, WITHOUT_COMMAND
from pbem.desk.dispatch import to_answer
from pbem.desk.seats import find_seat, number_of
from pbem.desk.strangers import EACH, one_mailbox
from pbem.identity import Verdict
from pbem.letters import draft
from pbem.letters.draft import OutgoingLetter
from pbem.mail.commands import COMMANDS, AnyCommand, Reading, asked_by_subject, masked
from pbem.match.changed import replace
from pbem.match.events import silence
from pbem.phrase import Phrase
from pbem.proof.signed_letters import misdated
from pbem.requests import DEFAULT

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import datetime

    from pbem.desk.reading import Understood
    from pbem.desk.reply_tokens import MailboxProof
    from pbem.desk.wiring import Desk
    from pbem.mail.marks import Mark
    from pbem.mail.message import Letter
    from pbem.store.inbox import InboxRow
    from pbem.store.players import HandledRow, PlayerRow
    from pbem.store.tokens import Place, Token


class Sorted(NamedTuple):
    """A letter that a person may have written, with what it says and the marks of machines that it bears."""

    letter: Letter
    understood: Understood
    marks: Sequence[Mark]


class KeysChanged(Exception):
    """The keys of the From address changed after the letter was judged by them: it must be read again."""


def authenticate(desk: Desk, row: InboxRow, taken: Sorted, now: datetime) -> tuple[Caller, Reading] | str:
    """The sender of a letter, and its commands; or the outcome in a few words, if nothing may be obeyed.

    Raises `KeysChanged`, and `NeedsDns`.
    """
    letter, understood, sender = taken.letter, taken.understood, taken.letter.sender or ""
    player = desk.players.by_address(sender)
    # Step 1: only the keys of its From address may judge it. A letter before it may have changed them.
    if understood.keys != account_keys.offered(desk.keys, sender, player):
        desk.offered.pop(sender, None)
        raise KeysChanged
    # Step 2: the signature of a player without a key here counts for nothing: it may be of a key used elsewhere.
    reading, verdict = understood.reading, understood.heard.verdict
    if verdict.kind == "unknown key" and player is not None and player.level == "mailbox":
        verdict = Verdict("none", verdict.reason)
    vouched = partial(desk.strangers.vouched_for, letter, row, understood.voucher)
    # Step 3: a token that was mailed to one mailbox only comes back from somebody who reads its mail, until others
    # learn it with the reveal of its game.
    mailed = desk.mailboxes.tokens_of(letter, row)
    secret = [token for token in mailed if not _is_revealed(desk, token)]
    name = player.name if player else None
    tokens = tuple(token for token in secret if token.came_back(sender, name))
    # Step 4: marks of machines, without those that its words lift. If nothing can lift the others by now, a machine
    # wrote it.
    said_proof = spoken(letter, reading, signed=verdict.kind != "none")
    live = "mailbox" if tokens and verdict.kind == "none" else said_proof
    if kept := kept_marks(taken.marks, "key" if verdict.kind == "valid" else live):
        return _automatic(kept)
    # Step 5: a signature that does not verify: no effect, since somebody may have forged the letter.
    if verdict.kind not in {"none", "valid"}:
        return _refuse_signature(desk, taken, player, verdict, tokens, vouched, now)
    # Step 6: a key of the player's counts, but not one that waits for its challenge: it may be anybody's.
    player, by_key = account_keys.writer(desk.keys, sender, player, verdict)
    # A player without a key may say what is due without a form.
    if verdict.kind == "none":
        letter, reading = completion.without_form(desk, letter, understood, mailed, player)
        understood = replace(understood, reading=reading)
    # Step 7: the time of arrival, before the evidence is made: evidence and papers must name the same time.
    if player is not None:
        row = replace(row, received=_arrival(desk, player, to_answer(reading)[0], row.received))
    # Step 8: without a signature, a letter may prove its mailbox.
    proof = _prove(desk, letter, row, understood, reading, secret, player) if verdict.kind == "none" else None
    # Step 9: replays. Other players have seen earlier signed words, and can send them.
    words = understood.heard.words
    seen = desk.players.handled(player.name, words) if player is not None and by_key else None
    again = seen is not None or (proof is not None and proof.again is not None)
    proved = proof is not None and proof.holds and bool(reading.commands)
    proved_by = "key" if verdict.kind == "valid" else "mailbox" if proved else said_proof
    kept = kept_marks(taken.marks, said_proof if again else proved_by)
    # Doubtful words at a live reply address are asked about: relays mark everything that some people write.
    if kept and not (tokens and reading.short and all(mark.answered for mark in kept)):
        return _automatic(kept)
    # Step 10: anybody can forge a From. So letters without other proof are answered only a few times a day.
    known = by_key or bool(tokens) or account_keys.told(desk.keys, sender, player, reading)
    trust = _trust(proof, by_key=by_key, vouched=known or vouched())
    if not known and (outcome := _left_unread(desk, letter, player, reading, trust, now)):
        return outcome
    said = Said.SEEN if again else Said.NEW
    if seen is not None:
        said = _novelty_again(desk, sender, tokens, vouched, now)
    if said is Said.SILENT and _is_in_vain(seen, reading):
        return outcomes.SAID_BEFORE.of(outcomes.UNVOUCHED.outcome)
    language = desk.letters.language_of(player, letter)
    answers, fault = _place_answered(mailed, player), misdated(letter, row.received)
    quiet = not all(mark.answered for mark in kept_marks(taken.marks, said_proof))
    rights = (trust, said, proof, understood, tokens, answers, seen, fault, quiet)
    caller = Caller(sender, player, verdict, letter, now, row.received, language, *rights)
    if kept and completion.understood(desk.seats, desk.mailboxes, caller, masked(reading.short)) is None:
        return _automatic(kept)
    return caller, reading


def spoken(letter: Letter, reading: Reading | None, *, signed: bool) -> str:
    """The proof that a letter's words are: a command, also as the subject, and any signature lift weak marks."""
    says = signed or (reading is not None and (bool(reading.commands) or reading.optout))
    says = says or bool(asked_by_subject(letter.subject) or draft.list_left_by_subject(letter.subject))
    return "command" if says else "none"


_PROOFS = ("none", "command", "mailbox", "key")
"""The proofs that a person wrote, from the least; each lifts the marks of those before it, too.

Words that come again prove nothing more. A key that waits for its challenge may give the answer to it.
"""


def kept_marks(marks: Sequence[Mark], proof: str) -> Sequence[Mark]:
    """The marks of machines that a proof does not lift."""
    return [mark for mark in marks if _PROOFS.index(mark.lifted_by) > _PROOFS.index(proof)]


def _automatic(marks: Sequence[Mark]) -> str:
    return outcomes.AUTOMATIC.of(", ".join(mark.name for mark in marks))


def _prove(
    desk: Desk,
    letter: Letter,
    row: InboxRow,
    understood: Understood,
    reading: Reading,
    tokens: list[Token],
    player: PlayerRow | None,
) -> MailboxProof | None:
    """The proof that a letter without a signature brings, if one of its commands needs that."""
    specs = [(COMMANDS[command.name], command) for command in reading.commands]
    if player is None:
        purposes = {
            spec.by_reply for spec, command in specs if spec.by_reply and not getattr(command.request, "key", None)
        }
        tokens = [token for token in tokens if token.purpose in purposes]
        wanted = bool(tokens)
    else:
        wanted = any(spec.signed for spec, _ in specs) or reading.optout
        wanted = (wanted or desk.players.unreachable(player.name) is not None) and player.level == "mailbox"
        tokens = [token for token in tokens if token.purpose == "reply"]
    return desk.mailboxes.judge(letter, row, understood.voucher, tokens, player) if wanted else None


def _is_revealed(desk: Desk, token: Token) -> bool:
    """True if a token was for an agreement or a game whose end showed everybody from what it was made."""
    if token.place is None or not desk.config.delimiter:
        return False
    match, _ = desk.archive.known(token.place[0])
    return token.game < match.told[0]


def _place_answered(tokens: Sequence[Token], player: PlayerRow | None) -> Place | None:
    """The place in the match of our letter that a player without a key answers: the first that is named."""
    if player is None or player.level != "mailbox":
        return None
    mailed = (token.place for token in tokens if token.purpose == "reply" and token.name == player.name)
    return next(filter(None, mailed), None)


def _arrival(desk: Desk, player: PlayerRow, answered: Sequence[AnyCommand], received: datetime) -> datetime:
    """The time at which a letter of this player counts as received, by what it submits or withdraws.

    Sentences count from their arrival: nobody can miss them.
    """
    specs = [(COMMANDS[command.name], command) for command in answered]
    waits = [command for spec, command in specs if spec.signed and (spec.stands or spec.withdraws)]
    for number, default in {(number_of(command), command.form.turn == DEFAULT) for command in waits}:
        if seated := find_seat(desk.seats, number, player.name):
            received = silence.came(seated.match, seated.seat, received, default=default)
    return received


def _trust(proof: MailboxProof | None, *, by_key: bool, vouched: bool) -> Trust:
    if by_key:
        return Trust.KEY
    if not vouched:
        return Trust.STRANGER
    return Trust.MAILBOX if proof is not None and proof.holds else Trust.VOUCHED


def _novelty_again(
    desk: Desk, sender: str, tokens: Sequence[Token], vouched: Callable[[], bool], now: datetime
) -> Said:
    """The novelty of words that were handled before; counts the answer if somebody else may be repeating them."""
    if tokens or vouched():
        return Said.SEEN
    return Said.REPEATED if desk.strangers.may_be_answered(sender, now) else Said.SILENT


def _is_in_vain(seen: HandledRow | None, reading: Reading) -> bool:
    """True if nothing in these words can be obeyed now.

    Words that never changed anything may still count: somebody may have sent a copy first, so that it was refused for
    its date, or because it came too early.
    """
    return (seen is not None and seen.changed) or not any(COMMANDS[one.name].changes for one in reading.commands)


def _refuse_signature(
    desk: Desk,
    taken: Sorted,
    player: PlayerRow | None,
    verdict: Verdict,
    tokens: tuple[Token, ...],
    is_vouched_for: Callable[[], bool],
    now: datetime,
) -> str:
    """Refuse a letter with a bad signature, with a notice to the registered address, a few a day."""
    letter, sender = taken.letter, taken.letter.sender or ""
    # No notice for a letter from an unverified sender, beyond a few: anybody could cause such letters.
    vouched = bool(tokens) or is_vouched_for()
    outcome = outcomes.BAD_SIGNATURE.of(verdict.kind)
    if not vouched and not desk.strangers.may_be_answered(sender, now):
        return f"{outcome}; {outcomes.UNVOUCHED.outcome}"
    limit = REFUSED_SIGNATURE_IN_ANSWER if tokens else REFUSED_SIGNATURE
    left = desk.counts.left(limit, now, one_mailbox(sender))
    first = left == limit.most - 1
    if player is None and vouched and first and desk.strangers.is_one_too_many(sender, (), now):
        return f"{outcome}; {outcomes.NEW_MAILBOX.outcome}"
    # Gateways sign what answering machines write, by keys of their own; what is hidden or in a file may say anything.
    in_a_file = any(part.filename and not part.content_type.endswith("-signature") for part in letter.parts)
    hidden = verdict.kind == "refused" or in_a_file or not (letter.text or "").strip()
    says = hidden or bool(taken.understood.reading.commands)
    idle = 1 if says else desk.counts.left(WITHOUT_COMMAND, now, f"refused {one_mailbox(sender)}")
    if min(left, idle) < 0:
        return outcome
    last = left == 0 and not tokens
    rows = player.keys if player else [waiting.key for waiting in desk.players.challenges(sender)]
    # Quote nothing from an unverified sender: otherwise we would deliver a stranger's text.
    subject = masked(letter.subject)[:60] if vouched else ""
    facts = {"reason": verdict.reason, "subject": subject, "received": now, "last": last, "last_idle": idle == 0}
    facts["most"] = None if vouched else EACH
    keys = [key.fingerprint for key in rows]
    text = desk.letters.draft("letters/warning.txt", fingerprints=keys, **facts)
    out = OutgoingLetter(Phrase("[pbem] A letter in your name was not accepted"), text)
    out.language, out.open = desk.letters.language_of(player, None if player else letter), True
    home = player.address if player else sender
    out.reply_to = desk.mailboxes.go_on(tokens, letter, player, now)
    if last or not vouched:
        out.reply_to = desk.mailboxes.write_back(home, player, now)
    desk.letters.send(home, out, now)
    return f"{outcome}, noticed"


def _left_unread(
    desk: Desk, letter: Letter, player: PlayerRow | None, reading: Reading, trust: Trust, now: datetime
) -> str:
    """The outcome of an unsigned letter beyond the day's limit, perhaps forged; empty if it is read."""
    sender = letter.sender or ""
    if trust is Trust.STRANGER:
        return "" if desk.strangers.may_be_answered(sender, now, reading.commands) else outcomes.UNVOUCHED.outcome
    left = 0 if reading.optout else desk.counts.left(UNSIGNED, now, one_mailbox(sender))
    first = left == UNSIGNED.most - 1
    if player is None and first and desk.strangers.is_one_too_many(sender, reading.commands, now):
        return outcomes.NEW_MAILBOX.outcome
    if left >= 0:
        return ""
    if left == -1:  # explain once a day how to get a letter read anyway
        out = OutgoingLetter("", desk.letters.draft("letters/unread.txt", most=UNSIGNED.most))
        out.language, out.open = desk.letters.language_of(desk.players.by_address(sender), letter), True
        out.reply_to = desk.mailboxes.write_back(sender, player, now)
        out.answer(letter)
        desk.letters.send(sender, out, now)
    return outcomes.TOO_MANY.outcome
