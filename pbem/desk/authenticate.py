"""Authentication: the sender of a letter, and the proof by which it counts: a key, or the mailbox.

`_sort` handles letters that no person wrote or nobody can read; those to a role address (RFC 2142) go on to the
operator as they came. A letter with a bad signature has no effect, and the owner of the address gets a notice;
answers to unverified senders are limited. Nothing is obeyed here. Implements protocol.md, "Identity",
reliability.md, cases 28, 28b and 35, and RFC 3834.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from pbem.desk import account_keys, outcomes, short_answers
from pbem.desk.caller import Caller, Incoming, MailboxProof, Novelty, Trust
from pbem.desk.daily_limits import (
    PASSED_ON,
    REFUSED_SIGNATURE,
    REFUSED_SIGNATURE_IN_ANSWER,
    UNSIGNED,
    WITHOUT_COMMAND,
)
from pbem.desk.outcomes import SHORT
from pbem.desk.seats import find_seat, number_of
from pbem.desk.strangers import EACH, one_mailbox
from pbem.desk.together import to_answer
from pbem.identity import Verdict
from pbem.letters import mailing_lists
from pbem.letters.draft import OutgoingLetter
from pbem.mail.commands import COMMANDS, AnyCommand, Reading, asked_by_subject, masked
from pbem.mail.marks import Arrival, marks_of, was_here
from pbem.phrase import Phrase
from pbem.proof.signed_letters import misdated
from pbem.requests import DEFAULT

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from pbem.config.server import Config
    from pbem.desk.account_keys import Keyring
    from pbem.desk.bounces import Bounces
    from pbem.desk.daily_limits import DailyCounts
    from pbem.desk.letter_writer import LetterWriter
    from pbem.desk.reading import Findings
    from pbem.desk.reply_tokens import ReplyTokens
    from pbem.desk.seats import Seats
    from pbem.desk.strangers import Strangers
    from pbem.identity import Key
    from pbem.mail.marks import Mark
    from pbem.mail.message import Letter
    from pbem.store.inbox import InboxRow
    from pbem.store.players import PlayerRow, Players
    from pbem.store.tokens import Token


_NO_SENDER = Phrase(
    "Its line `From:` names no clear sender ({defect}). Set your name and address anew in your mail program."
)


_MOST = 1024 * 1024
"""The most octets of a letter that are attached; of a longer one the operator is told where it is."""


_SENDERS = 4096
"""The size of the cache of senders' keys."""


class KeysChanged(Exception):
    """The keys of the From address changed after the letter was judged by them: it must be read again."""


@dataclass(eq=False, repr=False)
class Authentication:
    """The senders of letters, and the proofs by which letters count."""

    config: Config
    players: Players
    keys: Keyring
    strangers: Strangers
    mailboxes: ReplyTokens
    seats: Seats
    letters: LetterWriter
    counts: DailyCounts
    bounces: Bounces
    cached: OrderedDict[str, list[Key]] = field(default_factory=OrderedDict)
    """The keys that were last offered for an address; which they are now is looked up when it matters."""

    def offered(self, sender: str) -> list[Key]:
        """The keys offered for an address when that was last looked up; `_shown` finds out if they changed."""
        if sender not in self.cached:
            self.cached[sender] = account_keys.offered(self.keys, sender, self.players.by_address(sender))
            if len(self.cached) > _SENDERS:
                self.cached.popitem(last=False)
        return self.cached[sender]

    def caller_of(self, row: InboxRow, findings: Findings, now: datetime) -> Caller | str:
        """The sender of a letter, with its commands; or the outcome in a few words, if nothing may be obeyed.

        Raises `KeysChanged`, and `NeedsDns`.
        """
        # Step 1: a letter that a person may have written, and that can be read.
        marks = self._sort(row, findings, now)
        if isinstance(marks, str):
            return marks
        # Step 2: its player, signature and reply tokens.
        mail = self._shown(row, findings, now)
        # Step 3: marks of machines, without those that its words lift. If nothing can lift the others by now, a
        # machine wrote it.
        if kept := kept_marks(marks, mail.best_proof):
            return _automatic(kept)
        # Step 4: a signature that does not verify: no effect, since somebody may have forged the letter.
        if mail.verdict.kind not in {"none", "valid"}:
            return self._refuse_signature(mail)
        # Step 5: what it says without a form, when it counts as received, and what proves it.
        mail = self._read(mail)
        kept = kept_marks(marks, mail.spoken if mail.came_before else mail.proved_by)
        # Doubtful words at a live reply address are asked about: relays mark everything that some people write.
        if kept and not (mail.tokens and mail.reading.short and all(mark.answered for mark in kept)):
            return _automatic(kept)
        # Step 6: anybody can forge a From. So letters without other proof are answered only a few times a day.
        trust, outcome = self._trust(mail)
        if outcome:
            return outcome
        novelty = self._novelty(mail)
        if novelty is None:
            return outcomes.SAID_BEFORE.of(outcomes.UNVOUCHED.outcome)
        quiet = not all(mark.answered for mark in kept_marks(marks, mail.spoken))
        caller = Caller(
            **msgspec.structs.asdict(mail),
            language=self.letters.language_of(mail.player, mail.letter),
            trust=trust,
            novelty=novelty,
            misdated=misdated(mail.letter, mail.received),
            quiet=quiet,
        )
        if kept and short_answers.understood(self.seats, self.mailboxes, caller) is None:
            return _automatic(kept)
        return caller

    def _sort(self, row: InboxRow, findings: Findings, now: datetime) -> Sequence[Mark] | str:
        """The marks of machines on a letter that a person may have written; otherwise its outcome in a few words."""
        letter, understood = findings.letter, findings.understood
        config = self.config
        arrival = Arrival(letter, row.envelope.sender, config.mail_address, config.limits.received, config.delimiter)
        if passed_on := self._pass_on(row, arrival, now):
            return passed_on
        if self.letters.is_own(letter):
            return outcomes.OWN.outcome
        # Only machines write to a return path, even if the letter looks like a person's; but they sign nothing.
        signed = understood is not None and understood.judged.verdict.kind == "valid"
        if not signed and (bounced := self.bounces.judge(row, letter, findings.delivery_report, now)):
            return bounced
        marks = marks_of(arrival)
        if findings.beyond is None and letter.sender is not None:
            return marks
        # What nobody could read may say anything.
        signed = understood is None or understood.judged.verdict.kind != "none"
        reading = None if understood is None else understood.reading
        if marks := kept_marks(marks, spoken(letter, reading, signed=signed)):
            return _automatic(marks)
        reason = findings.beyond or _NO_SENDER.given(defect=letter.from_defect)
        silence = outcomes.UNATTRIBUTED if findings.beyond is None else outcomes.UNREADABLE
        # Its sender, or the envelope's where that is unclear.
        address = letter.sender or row.envelope.sender
        if not self.strangers.may_be_answered(address, now):
            return silence.of(outcomes.UNVOUCHED.outcome)
        text = self.letters.template("letters/unreadable.txt", reason=reason, most=EACH)
        out = OutgoingLetter(SHORT, text, language=self.letters.language_of(None, letter))
        self.letters.send(address, out, now)
        return f"{silence.outcome}, answered"

    def _pass_on(self, row: InboxRow, arrival: Arrival, now: datetime) -> str | None:
        """Send a letter to a role address on to the operator; returns the outcome, None for other addresses."""
        if not row.envelope.for_operator:
            return None
        operator = self.config.operator
        ours = {operator.lower(), self.config.mail_address.lower()}
        # An operator who is reached here, perhaps by a forwarder, would get it again and again.
        round_about = was_here(arrival) or operator.lower() in {to.lower() for to in row.envelope.recipients}
        if not operator or round_about or row.envelope.sender.lower() in ours:
            return outcomes.KEPT.outcome
        attached = [("letter.eml", "application/octet-stream", row.raw)] if len(row.raw) <= _MOST else []
        facts = {
            "to": ", ".join(row.envelope.recipients),
            "sender": row.envelope.sender or "<>",
            "about": arrival.letter.subject,
            "received": row.received,
            "inbox": row.id,
            "attached": bool(attached),
        }
        to_role = Phrase("[pbem] A letter to {to}", to=facts["to"])
        passed_on = self.letters.tell_operator(PASSED_ON, now, to_role, facts, attached=attached)
        return "passed on to the operator" if passed_on else outcomes.ENOUGH_PASSED_ON.outcome

    def _shown(self, row: InboxRow, findings: Findings, now: datetime) -> Incoming:
        """The letter with its player, signature and reply tokens; raises `KeysChanged`."""
        letter, understood = findings.letter, findings.understood
        assert understood is not None
        sender = letter.sender or ""
        player = self.players.by_address(sender)
        # Only the keys of its From address may judge it. A letter before it may have changed them.
        if understood.keys != account_keys.offered(self.keys, sender, player):
            self.cached.pop(sender, None)
            raise KeysChanged
        # The signature of a player without a key here counts for nothing: it may be of a key used elsewhere. But
        # where the text is within it, as in opaque S/MIME, nothing is left to be read.
        verdict, has_text = understood.judged.verdict, bool(letter.texts or letter.html)
        if verdict.kind == "unknown key" and has_text and player is not None and player.keyless:
            verdict = Verdict("none", verdict.reason)
        # A token that was mailed to one mailbox only comes back from somebody who reads its mail, until others learn
        # it with the reveal of its game.
        mailed = self.mailboxes.tokens_of(letter, row)
        secret = [token for token in mailed if not self._is_revealed(token)]
        name = player.name if player else None
        tokens = tuple(token for token in secret if token.came_back(sender, name))
        said = spoken(letter, understood.reading, signed=verdict.kind != "none")
        return Incoming(row, letter, understood, now, player, verdict, mailed, secret, tokens, said, row.received)

    def _read(self, mail: Incoming) -> Incoming:
        """The letter with the commands that it gives without a form, and with its proofs; raises `NeedsDns`."""
        # A key of the player's counts, but not one that waits for its challenge: it may be anybody's.
        player, by_key = account_keys.writer(self.keys, mail.address, mail.player, mail.verdict)
        reading = short_answers.taking_part(mail.reading) or mail.reading
        mail = replace(mail, player=player, by_key=by_key, understood=replace(mail.understood, reading=reading))
        # A player without a key may say what is due without a form.
        if mail.verdict.kind == "none" and mail.keyless_name:
            mail = short_answers.without_form(self.seats, self.mailboxes, mail)
        # The time of arrival, before the evidence is made: evidence and papers must name the same time.
        if player is not None:
            mail = replace(mail, received=self._arrival(player, to_answer(mail.reading)[0], mail.received))
        # Without a signature, a letter may prove its mailbox.
        if mail.verdict.kind == "none":
            return replace(mail, proof=self._prove(mail))
        # Replays: other players have seen earlier signed words, and can send them.
        if player is not None and by_key:
            return replace(mail, seen=self.players.handled(player.name, mail.words))
        return mail

    def _prove(self, mail: Incoming) -> MailboxProof | None:
        """The proof that a letter without a signature brings, if one of its commands needs that."""
        player, reading = mail.player, mail.reading
        specs = [(COMMANDS[command.name], command) for command in reading.commands]
        if player is None:
            purposes = {
                spec.by_reply
                for spec, command in specs
                if spec.by_reply and not getattr(command.request, "key", None)
            }
            tokens = [token for token in mail.secret if token.purpose in purposes]
            wanted = bool(tokens)
        else:
            wanted = any(spec.signed for spec, _ in specs) or reading.optout
            wanted = (wanted or self.players.unreachable(player.name) is not None) and player.keyless
            tokens = [token for token in mail.secret if token.purpose == "reply"]
        talks = {spec.body for spec, _ in specs} == {"press"}
        return self.mailboxes.judge(mail, tokens, talks=talks) if wanted else None

    def _vouched(self, mail: Incoming) -> bool:
        """True if the letter is from where it says; asked at most once. Raises `NeedsDns`."""
        return self.strangers.vouched_for(mail.letter, mail.row, mail.understood.voucher)

    def _trust(self, mail: Incoming) -> tuple[Trust, str]:
        """The right by which a letter counts; and the outcome, if it is beyond the day's limit."""
        if mail.by_key:
            return Trust.KEY, ""
        known = bool(mail.tokens) or account_keys.holds_secret(self.keys, mail.address, mail.player, mail.reading)
        trust = Trust.STRANGER
        if known or self._vouched(mail):
            trust = Trust.MAILBOX if mail.proof is not None and mail.proof.holds else Trust.VOUCHED
        return trust, "" if known else self._left_unread(mail, trust)

    def _novelty(self, mail: Incoming) -> Novelty | None:
        """The novelty of the words; None if somebody else may repeat them, and they get no answer and no effect."""
        if mail.seen is None or mail.tokens or self._vouched(mail):
            return Novelty.SEEN if mail.came_before else Novelty.NEW
        if self.strangers.may_be_answered(mail.address, mail.now):
            return Novelty.REPEATED
        # Words that never changed anything may still count: somebody may have sent a copy first, so that it was
        # refused for its date, or because it came too early.
        changes = any(COMMANDS[command.name].changes for command in mail.reading.commands)
        return Novelty.SILENT if changes and not mail.seen.changed else None

    def _is_revealed(self, token: Token) -> bool:
        """True if a token was for an agreement or a game whose end showed everybody from what it was made."""
        if token.place is None or not self.config.delimiter:
            return False
        match, _ = self.seats.archive.known(token.place[0])
        return token.game < match.letter_place[0]

    def _arrival(self, player: PlayerRow, answered: Sequence[AnyCommand], received: datetime) -> datetime:
        """The time at which a letter of this player counts as received, by what it submits or withdraws.

        Sentences count from their arrival: nobody can miss them.
        """
        specs = [(COMMANDS[command.name], command) for command in answered]
        waits = [command for spec, command in specs if spec.signed and (spec.stands or spec.withdraws)]
        for number, default in {(number_of(command), command.form.turn == DEFAULT) for command in waits}:
            if seated := find_seat(self.seats, number, player.name):
                received = seated.match.play.counted_as_received(seated.match, seated.seat, received, default=default)
        return received

    def _refuse_signature(self, mail: Incoming) -> str:
        """Refuse a letter with a bad signature, with a notice to the registered address, a few a day."""
        sender, now = mail.address, mail.now
        # No notice for a letter from an unverified sender, beyond a few: anybody could cause such letters.
        vouched = bool(mail.tokens) or self._vouched(mail)
        outcome = outcomes.BAD_SIGNATURE.of(mail.verdict.kind)
        if not vouched and not self.strangers.may_be_answered(sender, now):
            return f"{outcome}; {outcomes.UNVOUCHED.outcome}"
        limit = REFUSED_SIGNATURE_IN_ANSWER if mail.tokens else REFUSED_SIGNATURE
        left = self.counts.left(limit, now, one_mailbox(sender))
        is_new = mail.player is None and vouched and left == limit.most - 1
        if is_new and self.strangers.is_one_too_many(sender, (), now):
            return f"{outcome}; {outcomes.NEW_MAILBOX.outcome}"
        # Gateways sign what answering machines write, by keys of their own.
        idle = 1 if mail.may_ask else self.counts.left(WITHOUT_COMMAND, now, f"refused {one_mailbox(sender)}")
        if min(left, idle) < 0:
            return outcome
        self._warn(mail, vouched=vouched, last=left == 0 and not mail.tokens, last_idle=idle == 0)
        return f"{outcome}, noticed"

    def _warn(self, mail: Incoming, *, vouched: bool, last: bool, last_idle: bool) -> None:
        """Write to the registered address that a letter in its name was not accepted."""
        player, letter, now = mail.player, mail.letter, mail.now
        rows = player.keys if player else [waiting.key for waiting in self.players.challenges(mail.address)]
        # Quote nothing from an unverified sender: otherwise we would deliver a stranger's text.
        subject = masked(letter.subject)[:60] if vouched else ""
        facts = {"reason": mail.verdict.reason, "subject": subject, "received": now, "last": last}
        facts |= {"last_idle": last_idle, "most": None if vouched else EACH}
        keys = [key.fingerprint for key in rows]
        text = self.letters.template("letters/warning.txt", fingerprints=keys, **facts)
        out = OutgoingLetter(Phrase("[pbem] A letter in your name was not accepted"), text)
        out.language, out.open = self.letters.language_of(player, None if player else letter), True
        home = player.address if player else mail.address
        out.reply_to = self.mailboxes.go_on(mail.tokens, letter, player, now)
        if last or not vouched:
            out.reply_to = self.mailboxes.write_back(home, player, now)
        self.letters.send(home, out, now)

    def _left_unread(self, mail: Incoming, trust: Trust) -> str:
        """The outcome of an unsigned letter beyond the day's limit, perhaps forged; empty if it is read."""
        sender, now, reading = mail.address, mail.now, mail.reading
        if trust is Trust.STRANGER:
            return "" if self.strangers.may_be_answered(sender, now, reading.commands) else outcomes.UNVOUCHED.outcome
        left = 0 if reading.optout else self.counts.left(UNSIGNED, now, one_mailbox(sender))
        first = left == UNSIGNED.most - 1
        if mail.player is None and first and self.strangers.is_one_too_many(sender, reading.commands, now):
            return outcomes.NEW_MAILBOX.outcome
        if left >= 0:
            return ""
        if left == -1:  # explain once a day how to get a letter read anyway
            out = OutgoingLetter("", self.letters.template("letters/unread.txt", most=UNSIGNED.most))
            out.language, out.open = self.letters.language_of(self.players.by_address(sender), mail.letter), True
            out.reply_to = self.mailboxes.write_back(sender, mail.player, now)
            out.answer(mail.letter)
            self.letters.send(sender, out, now)
        return outcomes.TOO_MANY.outcome


def spoken(letter: Letter, reading: Reading | None, *, signed: bool) -> str:
    """The proof that a letter's words are: a command, also as the subject, and any signature lift weak marks."""
    says = signed or (reading is not None and (bool(reading.commands) or reading.optout))
    says = says or bool(asked_by_subject(letter.subject) or mailing_lists.left_by_subject(letter.subject))
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
