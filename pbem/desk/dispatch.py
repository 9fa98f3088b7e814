"""Dispatch: passes each command of a letter, in turn, to the function of its name, and uses up reply addresses.

A command's row in the table of commands lists its requirements, which this module checks before it calls the
function. Implements protocol.md, "Commands" and "Identity".
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import structlog
from msgspec.structs import replace

from pbem.desk import account_keys, outcomes, seats
from pbem.desk.caller import Caller, MailboxProof, Novelty, Trust, refused
from pbem.desk.commands.account import stop_mail
from pbem.desk.completion import NOT_SIGNED, completed, proposing, stands
from pbem.desk.daily_limits import (
    CHANGES_NOTHING,
    COMMAND,
    SAME_WORDS,
    SIGNED_FOR_NOTHING,
    UNKNOWN_HEAD,
    WITHOUT_COMMAND,
)
from pbem.desk.outcomes import NOT_REGISTERED, OTHER_ADDRESS, Reply, refusal
from pbem.desk.seats import SeatContext, find_seat, number_of, own_match
from pbem.desk.short_answers import against_yes, understood
from pbem.desk.strangers import enough, one_mailbox
from pbem.desk.together import to_answer, unfit_together
from pbem.games import Fault, Refused, refuse
from pbem.letters import mailing_lists
from pbem.letters.safe_text import escaped
from pbem.mail.commands import (
    COMMANDS,
    NAME_THE_MATCH,
    OF_ANY_PLACE,
    AnyCommand,
    Reading,
    asked_by_nothing,
    asked_by_subject,
    parse,
)
from pbem.match.transcript import sha256_hex, written
from pbem.phrase import Phrase
from pbem.requests import Choose
from pbem.store.database import from_db, to_db
from pbem.store.retention import note_marks

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from structlog.typing import FilteringBoundLogger

    from pbem.config.server import Config
    from pbem.desk.account_keys import Keyring
    from pbem.desk.answer_letter import Answered, AnswerWriter
    from pbem.desk.bounces import Bounces
    from pbem.desk.daily_limits import DailyCounts
    from pbem.desk.outcomes import Decision, Handler, Silence
    from pbem.desk.reply_tokens import ReplyTokens
    from pbem.desk.seats import Seats
    from pbem.store.database import Database
    from pbem.store.people import People
    from pbem.store.players import Players


_NUMBERED = re.compile(r"\brev [0-9]+|\bprev [0-9a-f]+")
"""The words that differ in a form for the same place that is sent again."""

_HEAD = re.compile(r"[0-9a-f]{64}")

_BULKY = 5
"""The most of them that may bring sheets, reports, transcripts and rules."""

_BLOCKS = 10_000
"""The most characters of a letter's setups and orders together: a game judges them while the store is locked."""

_TOO_BULKY = Phrase(
    "one letter may ask for at most {most} sheets, reports, transcripts and rules: ask for this one in another letter"
)
_TOO_LONG = Phrase("the setups and orders in one letter may have at most {most} characters together")

_ENOUGH_TODAY = Phrase("`{command}` is answered {count} times a day; try again tomorrow")

_ELSEWHERE = Phrase(
    "the reply address that your letter was sent to belongs to another match or turn. Answer our latest letter about"
    " {match}, such as this one"
)

_MISDATED = Phrase(
    "the date of your letter cannot be right: {fault}. Such a letter proves nothing later; set the clock of your"
    " computer, and send it again"
)


_LOG: FilteringBoundLogger = structlog.get_logger("desk")


class _NothingObeyedError(Exception):
    """Undoes the effects of a letter that gets an answer only if one of its commands is obeyed, and none was."""


class _UnplacedError(Exception):
    """Undoes the effects of a sentence that did not name its place, and carries the answer."""

    def __init__(self, reply: Reply) -> None:
        super().__init__(reply.template)
        self.reply = reply


class _Effect(NamedTuple):
    """The effect of the commands of a letter that were obeyed."""

    once: bool
    """True if it is one that the same words have only once."""
    changes: bool
    """True if anything is different now."""

    @classmethod
    def of(cls, replies: Sequence[Answered], *, optout: bool) -> _Effect:
        """The effect by the replies, and by whether the sender wants no more mail."""
        done = [COMMANDS[command.name] for command, reply in replies if reply.outcome in {"done", "declined"}]
        once = optout or any(spec.once for spec in done)
        changes = once or any(spec.changes for spec in done)
        return cls(once, changes)


@dataclass(eq=False, repr=False)
class Dispatch:
    """The commands of letters, each obeyed or refused."""

    config: Config
    part: Decision
    database: Database
    players: Players
    people: People
    keys: Keyring
    seats: Seats
    mailboxes: ReplyTokens
    counts: DailyCounts
    bounces: Bounces
    answers: AnswerWriter
    handlers: Mapping[str, Handler]

    def carry_out(self, caller: Caller) -> str:
        """Obey the commands of a letter, and write the answer; returns the outcome in a few words."""
        reading = caller.reading
        # Answers, papers and entries name a player's letter by its octets and its time: these must tell copies apart.
        arrival = f"{sha256_hex(caller.letter.raw)} {written(caller.received)}"
        if caller.player is not None and not note_marks(self.database, [arrival], to_db(caller.now)):
            return outcomes.CAME_TWICE.outcome
        # A letter without a command asks for what its subject says.
        if not (reading.commands or reading.optout or reading.meant):
            subject = caller.letter.subject
            asked = mailing_lists.left_by_subject(subject)
            leaving = [command for command in asked if mailing_lists.may_leave(caller.tokens, command)]
            reading = replace(reading, commands=leaving or asked_by_subject(subject))
        if caller.novelty is not Novelty.SILENT:
            return self._carry_out(caller, reading)
        try:
            with self.part():
                return self._carry_out(caller, reading)
        except _NothingObeyedError:
            return outcomes.SAID_BEFORE.of("not obeyed now either")

    def _carry_out(self, caller: Caller, reading: Reading) -> str:
        # Step 1: its player can be reached. A repeated letter shows nothing: anybody who saw it can send it.
        reached = self.bounces.hear_from(caller)
        # Step 2: the sender wants no more mail. If anybody else may have written that, only ask the address.
        if reading.optout and not stop_mail(self.keys, self.people, caller, reading.place):
            return outcomes.STOP.outcome
        # Step 3: each command is obeyed or refused, in its turn.
        replies, reading = self._replies(caller, reading)
        effect = _Effect.of(replies, optout=reading.optout)
        # Step 4: a stranger who repeats a player's words gets no answer, unless they are obeyed only now.
        if caller.novelty is Novelty.SILENT and not effect.changes:
            raise _NothingObeyedError
        # Step 5: against replays, remember the letter's words, and use up a reply address that was of use.
        used = reached or effect.changes
        self._remember(caller, effect, used=used)
        # Step 6: a player who signs with an old key has not lost it: recoveries by the mailbox alone stop.
        if _is_of_player(caller, replies, changes=effect.changes):
            account_keys.stop_recoveries(self.keys, caller)
        # Step 7: answer, but not without end: machines would answer each other for ever.
        outcome = f"commands: {' '.join(command.name for command in reading.commands) or 'none'}"
        if caller.quiet:
            return outcomes.QUIET.of(outcome)
        silence = self._answer(caller, reading, replies, used=used)
        return silence.of(outcome) if silence else outcome

    def _remember(self, caller: Caller, effect: _Effect, *, used: bool) -> None:
        """Note the words of a letter that a key signed, and use up the reply address of another one."""
        if caller.trust is Trust.KEY and caller.again is None:
            name, time = caller.known_player.name, to_db(caller.now)
            self.players.handle(name, caller.words, time, effect=effect.once, changed=effect.changes)
        if used and caller.new and caller.proof is not None and caller.proof.token is not None:
            self.mailboxes.use(caller.proof.token, caller.letter, caller.now)

    def _answer(self, caller: Caller, reading: Reading, replies: Sequence[Answered], *, used: bool) -> Silence | None:
        """Write the answer to a letter; returns the reason if there is none."""
        if caller.trust is Trust.STRANGER:
            self.answers.write_short(caller, replies)
            return None
        same, left = self._left(caller, replies, optout=reading.optout, used=used)
        if min(same, left) < 0:
            return outcomes.SAME_WORDS if same < 0 else outcomes.CHANGES_NOTHING
        # A player's letter without a command is told what is due in each match; from another address, that it is one.
        due = None
        if (caller.player is not None or caller.is_elsewhere) and not (replies or reading.optout):
            reply = self._reply(caller, asked_by_nothing(), ())
            due = reply if reply.outcome == "done" or caller.is_elsewhere else None
        self.answers.write(caller, reading, replies, due=due, last=0 in {same, left})
        return None

    def _replies(self, caller: Caller, reading: Reading) -> tuple[list[Answered], Reading]:
        """The commands that are answered, each with its reply; and the reading, in which the others are ignored."""
        wanted, left_out = to_answer(reading)
        if caller.trust is Trust.STRANGER:
            wanted, left_out = enough(reading.commands), []
        ignored, replies = reading.ignored, list[tuple[AnyCommand, Reply]]()
        bulky = characters = 0
        for command in wanted:
            spec = COMMANDS[command.name]
            bulky += spec.bulky
            characters += len(command.block or "") if spec.body == "text" else 0
            if spec.bulky and bulky > _BULKY:
                reply = refusal(command, _TOO_BULKY.given(most=_BULKY))
            elif spec.body == "text" and characters > _BLOCKS:
                reply = refusal(command, _TOO_LONG.given(most=_BLOCKS))
            else:
                # With those left out: a verifier of the letter does not know how many were answered.
                reply = self._reply(caller, command, reading.commands)
            replies.append((command, reply))
        replies += [(command, self._without_effect(caller, command)) for command in reading.meant or []]
        if (whole := understood(self.seats, self.mailboxes, caller)) is not None:
            command, reply, ignored = whole
            replies = [(command, self._offered(caller, command, reply))]
        return replies, replace(reading, ignored=[*ignored, *left_out])

    def _left(self, caller: Caller, replies: Sequence[Answered], *, optout: bool, used: bool) -> tuple[int, int]:
        """The numbers of letters still answered today: with the same words, as a machine's have; and of no use."""
        writer = one_mailbox(caller.address)
        if caller.trust is Trust.KEY:  # whoever repeats signed words uses up nothing of their writer's
            writer = f"{'again' if caller.repeated else 'key'} {caller.known_player.name}"
        # No command, and no words that are answered like one.
        asks_nothing = not replies and not optout and not caller.letter.several
        same, limit = 1, CHANGES_NOTHING if caller.tokens else None
        if caller.trust is Trust.KEY or not asks_nothing:
            # Without their numbers: programs send the same orders again with the next one. The echo of a secret
            # command leaves out what it says: wrong codes must not use up the right one's answer.
            words = [
                one.same if COMMANDS[one.name].secret else " ".join(_NUMBERED.sub("", one.echo.lower()).split())
                for one, _ in replies
            ]
            said = sha256_hex(repr((caller.answers, optout, words)).encode())
            same = self.counts.left(SAME_WORDS, caller.now, f"{writer} {said}")
        if caller.trust is Trust.KEY:
            limit = SIGNED_FOR_NOTHING
        elif asks_nothing:
            limit = WITHOUT_COMMAND
        idle = 1 if used or same < 0 or limit is None else self.counts.left(limit, caller.now, writer)
        return same, idle

    def _reply(self, caller: Caller, command: AnyCommand, together: Sequence[AnyCommand]) -> Reply:
        """The reply to one command; a refused command has changed nothing."""
        spec = COMMANDS[command.name]
        # A replay of words that a key signed.
        if caller.again is not None and spec.once:
            return Reply("again", {"name": command.name, "when": from_db(caller.again)}, outcome="again")
        # The same letter again from a mailbox, whose reply address is used up.
        proof = caller.proof
        if proof is not None and proof.again is not None and spec.signed:
            facts = {"name": command.name, "when": from_db(proof.again), "match": command.match}
            return Reply("again_mailbox", facts, at=self._place(caller, command), outcome="again")
        try:
            if caller.player is not None and (fault := unfit_together(command, together)):
                raise Refused(fault)
            with self.part():
                return self._obey(caller, command)
        except _UnplacedError as unplaced:
            return unplaced.reply
        except Refused as refused:
            return self._refused(caller, command, refused)

    def _without_effect(self, caller: Caller, command: AnyCommand) -> Reply:
        """The reply to a command without effect; to an answer to our own letter, with the form that will count."""
        if COMMANDS[command.name].by_reply and caller.player is None:  # it only asks for the address that will count
            return self._reply(caller, command, [command])
        at = self._place(caller, command)
        faults, form = command.faults, None
        # Anybody may write in this name: do not lay a stranger's words before its owner, ready to be sent back.
        if at is not None and caller.answers == at.place and caller.trust is not Trust.STRANGER:
            faults, form = completed(at, command, command.faults)
            form = form or (None if command.faults else command.echo)
        facts = {
            "faults": self._shown_faults(caller, faults),
            "form": form,
            "level": "mailbox",
            "match": command.match,
        }
        reply = Reply("completed" if form else "without_effect", facts, at=at, outcome="unplaced")
        return self._offered(caller, command, reply)

    def _offered(self, caller: Caller, command: AnyCommand, reply: Reply) -> Reply:
        """The reply that offers a command to send back, or the refusal of it, by a trial that is undone."""
        form = reply.facts.get("form")
        if COMMANDS[command.name].block or not form:
            return reply
        (offered,) = parse(form).commands
        try:
            with self.part():
                self.handlers[command.name](replace(caller, proof=MailboxProof()), offered)
                raise _UnplacedError(reply)
        except _UnplacedError:
            return reply
        except Refused as refused:
            return self._refused(caller, command, refused)

    def _refused(self, caller: Caller, command: AnyCommand, refused: Refused) -> Reply:
        """The reply to a refused command: all its faults, and the form to send instead."""
        at = self._place(caller, command)
        head = command.fields.get("prev", "")
        cites = at is not None and any(fault.rule == "prev" for fault in refused.faults) and _HEAD.fullmatch(head)
        if cites and at and caller.player and not self.seats.archive.matches.signature(at.row.number, head):
            # Usually a head that this transcript never had is the player's slip; but after a restore, or if the disk
            # was set back, it proves that we told a story which we have forgotten.
            match, name = at.match.id, caller.player.name
            _LOG.warning("unknown head cited", match=at.row.number, player=name)
            subject = Phrase("[pbem] {match}: a head that this server does not know", match=match)
            about = {"player": name, "match": match, "head": head}
            self.seats.letters.tell_operator(UNKNOWN_HEAD, caller.now, subject, about, about=[match])
        shift = max(command.block_line - command.line, 0)
        faults, form = refused.faults, None
        if caller.may_get_form:
            if at:
                faults, form = completed(at, command, faults)
            elif caller.player:
                form = proposing(command, self.config.server, caller.player.name)
        told = self._shown_faults(caller, faults)
        level = "mailbox" if caller.player is None or caller.keyless_name else "key"
        kept = at is not None and stands(at, command)
        facts = {"faults": told, "shift": shift, "command": command, "form": form, "level": level, "stands": kept}
        facts["yes"] = at is not None and against_yes(self.mailboxes, caller, at.match) is None
        return Reply("refused", facts, at=at, outcome="refused")

    def _shown_faults(self, caller: Caller, faults: Sequence[Fault]) -> list[Fault]:
        """Faults as the answer shows them: an example that names a match names one of the writer's own."""
        shown = []
        for fault in faults:
            message, facts = fault.message, fault.message.facts
            if facts.get("missing") == NAME_THE_MATCH and (own := own_match(self.seats, caller)) is not None:
                message = message.given(**facts | {"missing": NAME_THE_MATCH.given(match=own)})
            shown.append(escaped(fault._replace(message=message)))
        return shown

    def _obey(self, caller: Caller, command: AnyCommand) -> Reply:
        """Check a command's requirements, and carry it out; raises `Refused`."""
        if command.faults:
            raise Refused(*command.faults)
        spec = COMMANDS[command.name]
        if spec.for_players and caller.player is None:
            raise refused(command.name, None, OTHER_ADDRESS if caller.is_elsewhere else NOT_REGISTERED)
        if spec.shown != "never" and caller.misdated:
            raise refused(command.name, None, _MISDATED.given(fault=caller.misdated))
        left_out: dict[str, str] = {}
        if mailing_lists.may_leave(caller.tokens, command) or spec.asks(command.request):
            pass
        elif spec.signed and caller.verdict.kind != "valid":
            self._demand_mailbox(caller, command)
        else:
            left_out = self._left_out(caller, command)
        if caller.waits and not spec.newcomer:
            raise refused(command.name, None, Phrase("the key of this letter, or its address, is not yours yet"))
        if spec.a_day is not None and self._is_one_too_many(caller, command, spec.a_day):
            return refusal(command, _ENOUGH_TODAY.given(command=command.name, count=spec.a_day))
        handle = self.handlers[command.name]
        if not left_out:
            return handle(caller, command)
        # A trial, which the raise below undoes: its faults are reported now, and not when it comes back signed.
        at = self._place(caller, command)
        handle(caller, seats.filled_in(command, left_out))
        whole = {"sentence": seats.sentence(command, left_out)}
        raise _UnplacedError(Reply("whole_sentence", whole, at=at, outcome="unplaced"))

    def _is_one_too_many(self, caller: Caller, command: AnyCommand, a_day: int) -> bool:
        """True if the player's letters gave this command more often today; counts it."""
        # The house program sends a greeting and its seed in each of its matches.
        if caller.player is None or caller.player.name == self.config.house_name:
            return False
        # Counted separately, so that letters forged in this name do not use up the player's limit.
        proved = (caller.verdict.kind == "valid" and not caller.repeated) or bool(caller.tokens)
        about = command.name, caller.player.name, "proved" if proved else "unproved"
        return self.counts.left(COMMAND, caller.now, *about, most=a_day) < 0

    def _left_out(self, caller: Caller, command: AnyCommand) -> dict[str, str]:
        """All fields for a signed sentence that does not name its whole place; empty if it does."""
        spec = COMMANDS[command.name]
        if caller.player is None or not spec.fields:
            return {}
        name, server = caller.player.name, self.config.server
        _demand_place(command, {"server": server, "player": name})
        request = command.request
        setting = request.name if isinstance(request, Choose) else ""
        # A `set` without a place that overrides no choice may be late, or from another server.
        is_first_choice = setting in OF_ANY_PLACE and not self.players.has_chosen(name, setting)
        if spec.body in {"text", "sections"} or is_first_choice:
            return {}
        at = self._place(caller, command)
        place = {"server": server, "player": name, **seats.missing(command, at.match if at else None)}
        if place.keys() <= command.fields.keys() and ("prev" not in place or command.form.rev):
            return {}
        if spec.sentence and at:
            rev = seats.next_rev(command, at.match, at.seat)
        else:
            rev = self.players.handled_count(name) + 1
        return {**place, "rev": str(rev), **command.fields}

    def _demand_mailbox(self, caller: Caller, command: AnyCommand) -> None:
        """Refuse a command that changes something unless the letter counts at level `mailbox`, here and now."""
        proof = caller.proof
        if caller.player is None or caller.player.level == "key" or proof is None:
            raise refused(command.name, None, NOT_SIGNED)
        if proof.missing is not None:
            raise refused(command.name, None, proof.missing)
        at = self._place(caller, command)
        if at is None or proof.again is not None:
            return
        whole_match = COMMANDS[command.name].place == "player"
        place = proof.token.place if proof.token else None
        if place != at.place and not (whole_match and place and place[0] == at.row.number):
            raise refused(command.name, None, _ELSEWHERE.given(match=at.match.id))

    def _place(self, caller: Caller, command: AnyCommand) -> SeatContext | None:
        """The caller's seat in the match that a command names; None if there is none."""
        return find_seat(self.seats, number_of(command), caller.player.name) if caller.player else None


def _is_of_player(caller: Caller, replies: Sequence[Answered], *, changes: bool) -> bool:
    """True if a key of the player signed something for players alone that is obeyed, and only now.

    If an earlier copy was obeyed, others may be repeating it; if it was refused, others may have sent it first.
    """
    if caller.trust is not Trust.KEY:
        return False
    if caller.seen is not None:
        return changes and not caller.seen.changed
    obeyed = [COMMANDS[command.name] for command, reply in replies if reply.outcome in {"done", "asked"}]
    return any(spec.level != "anyone" for spec in obeyed)


def _demand_place(command: AnyCommand, wanted: dict[str, str]) -> None:
    """Refuse a command for another server, or by another player."""
    faults = [
        Fault(key, f"{key} {command.fields[key]}", Phrase("wrong `{key}`; expected {value}", key=key, value=value))
        for key, value in wanted.items()
        if command.fields.get(key, value) != value
    ]
    refuse(faults)
