"""A desk at work on its inbox: letters are leased, read, given their effect in batches, retried, and set aside.

Strangers' letters are read, judged and parsed before the transaction begins; a letter that needs more is given back,
and read anew. Answers are put into words within it; the intake waits for that, some
milliseconds, which its benchmark does not notice.

Errors are treated by whose fault they are. A player's fault is answered by mail; ours is logged with a reference,
and the letter is tried three times in all, then set aside. A want of descriptors, processes or memory is the
machine's: no letter's attempts are spent, and all wait. Implements design.md, "The way of a letter", and
reliability.md, promises 1 to 4.
"""

from __future__ import annotations

import errno
from time import monotonic
from typing import TYPE_CHECKING

import structlog
from msgspec.structs import replace

from pbem.desk.authenticate import KeysChanged
from pbem.desk.caller import Caller
from pbem.desk.daily_limits import LETTER_SET_ASIDE, SET_ASIDE
from pbem.desk.reading import BATCH, Findings, Question, ReaderError
from pbem.desk.reply_tokens import NeedsDns
from pbem.letters.draft import OutgoingLetter
from pbem.mail import delivery_status
from pbem.phrase import Phrase
from pbem.store.errors import StoreError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import datetime

    from structlog.typing import FilteringBoundLogger

    from pbem.desk.wiring import Desk
    from pbem.store.inbox import InboxRow, Stranded
    from pbem.store.noted_time import Leap

    _Read = tuple[InboxRow, Findings | ReaderError]
    """A leased letter, and what was found in it."""

_HELD = 0.05
"""Seconds after which a decision on several letters takes no more: the intake waits for its commit."""

_SCARCE = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EAGAIN})
"""The errors of a machine that has no descriptors, memory or processes left."""

_LOG: FilteringBoundLogger = structlog.get_logger("desk")


class WorkingDesk:
    """A desk at work: what whoever has a desk asks of it, from one thread, one call at a time."""

    def __init__(self, desk: Desk, clock: Callable[[], float] = monotonic) -> None:
        """`clock`: seconds that go by, whatever the time is said to be."""
        self._desk = desk
        self._clock = clock
        self._takes_over = False
        """True until the letters that another one had leased are given back."""

    def may_decide(self) -> bool:
        """True if this server is the one that decides, or has just become it."""
        if not self._desk.database.engine.decides:
            if not self._desk.database.try_to_decide():
                return False
            self._desk.forget()  # others decided meanwhile
            self._takes_over = True
        if self._takes_over:
            # Raises on a full disk, and is asked again. Who has died meanwhile, too, blames no letter this once.
            _LOG.info("decides", letters=self._desk.inbox.release_all(blame=not self._desk.in_doubt))
            self._takes_over = False
        return True

    def handle_next(self, now: datetime) -> int:
        """Handle the next few letters of the inbox, in one decision if they do not take long; returns how many.

        Raises only if the store fails, the reader cannot even be started, or the machine has no descriptors left.
        """
        if self._desk.in_doubt:
            self._desk.inbox.give_back_all()
        self._desk.in_doubt = True
        # Instructions come before letters: a restored match must stand still first.
        self._desk.operator.obey(now)
        self._desk.due_tasks.beat(now)
        self._desk.reader.get_ready()  # without one no letter's attempts are spent
        rows = self._desk.inbox.lease_some(BATCH, now)
        if rows:
            self._handle_batch(rows, now)
        else:
            self._set_aside(now)
        self._desk.in_doubt = False
        return len(rows)

    def tick(self, now: datetime) -> datetime | None:
        """Do what is due; returns when to be called again."""
        return self._desk.due_tasks.tick(now)

    def stand_still(self, leap: Leap, now: datetime) -> None:
        """Decide nothing because the clock leapt, and tell the operator once."""
        self._desk.due_tasks.stand_still(leap, now)

    def obey(self, now: datetime) -> None:
        """Carry out the operator's instructions."""
        self._desk.operator.obey(now)

    def _question(self, row: InboxRow, records: dict[str, str | None]) -> Question:
        """The question about a letter, with the keys of its envelope's sender; None if it goes to the operator."""
        sender, recipients, config = row.envelope.sender, row.envelope.recipients, self._desk.config
        keys = None if row.envelope.for_operator else self._desk.authentication.offered(sender) if sender else []
        token = delivery_status.token(recipients, config.mail_address, config.delimiter)
        returned = token is not None if config.return_paths else not sender or None
        authserv_id, host = config.identity.authserv_id, config.pages_host
        return Question(row.raw, row.received, config.server, keys, authserv_id, records, returned, host)

    def _read(self, rows: Sequence[InboxRow]) -> list[_Read]:
        """The letters as they were read; read again by the keys of From if the envelope names somebody else."""
        records = self._desk.lookups.found([row.id for row in rows])
        questions = [self._question(row, records.get(row.id, {})) for row in rows]
        found = self._desk.reader.read(questions)
        again = {}
        for at, (row, question, findings) in enumerate(zip(rows, questions, found, strict=True)):
            if not isinstance(findings, Findings) or findings.understood is None:
                continue
            sender = findings.letter.sender
            if (
                sender not in {None, row.envelope.sender}
                and (offered := self._desk.authentication.offered(sender)) != question.keys
            ):
                again[at] = replace(question, keys=offered)
        for at, findings in zip(again, self._desk.reader.read([*again.values()]), strict=True):
            found[at] = findings
        return [*zip(rows, found, strict=True)]

    def _handle_batch(self, rows: Sequence[InboxRow], now: datetime) -> None:
        """Read leased letters, and give them their effect."""
        self._desk.points("letter leased")
        # No letter is from the future: the clock may have been set back a little since it was received.
        letters = self._read([replace(row, received=min(row.received, now)) for row in rows])
        for row, _ in letters:
            if row.suspect:
                self._desk.inbox.begin_alone(row.id, now)
        self._desk.points("letter read")
        outcomes: dict[int, str] = {}
        while len(outcomes) < len(letters):
            outcomes |= self._decide_together(letters[len(outcomes) :], now)
        self._desk.points("effects committed")
        for row_id, outcome in outcomes.items():
            if outcome:
                _LOG.info("letter handled", inbox=row_id, outcome=outcome)

    def _decide_together(self, letters: Sequence[_Read], now: datetime) -> dict[int, str]:
        """Give the first of some letters its effect, and those after it for which one decision has time.

        Returns the outcome of each, empty if there is none yet.
        """
        ends = self._clock() + _HELD
        outcomes: dict[int, str] = {}
        try:
            with self._desk.decision():
                for row, findings in letters:
                    if outcomes and self._clock() > ends:
                        break
                    outcomes[row.id] = self._handle_one(row, findings, now)
        except StoreError:
            raise
        except Exception as error:
            if len(letters) > 1:
                return {row: outcome for one in letters for row, outcome in self._decide_together([one], now).items()}
            row, _ = letters[0]
            self._failed(row, error)
            return {row.id: ""}
        return outcomes

    def _handle_one(self, row: InboxRow, findings: Findings | ReaderError, now: datetime) -> str:
        """Give one letter its effect within the decision on several; returns the outcome, if there is one yet."""
        try:
            if isinstance(findings, ReaderError):
                raise findings
            with self._desk.part():
                found = self._desk.authentication.caller_of(row, findings, now)
                outcome = found if isinstance(found, str) else self._desk.dispatch.carry_out(found)
                # Just now proved by the player whose address the envelope names.
                new = isinstance(found, Caller) and found.new and found.player and found.address.lower()
                self._desk.inbox.done(row.id, outcome, proved=new == row.envelope.sender.lower())
                self._desk.points("effects written")
        except StoreError:
            raise
        except KeysChanged:
            self._desk.inbox.give_back(row.id)
        except NeedsDns as awaited:
            self._desk.lookups.ask(row.id, awaited.names, awaited.tries, now, counts=awaited.counts)
            self._desk.inbox.give_back(row.id)
            _LOG.info("letter waits for the DNS", inbox=row.id)
        except Exception as error:
            self._failed(row, error)
        else:
            return outcome
        return ""

    def _failed(self, row: InboxRow, error: Exception) -> None:
        """Give back a letter on which we failed; raises the error if the machine had nothing left to work with."""
        cause = error.__cause__ or error  # a reader says so by its cause
        if isinstance(cause, OSError) and cause.errno in _SCARCE:
            raise error
        reference = self._desk.random(6).hex()
        _LOG.error("letter failed", inbox=row.id, attempt=row.attempts + 1, reference=reference, exc_info=error)
        self._desk.inbox.give_back(row.id, failed=1)

    def _set_aside(self, now: datetime) -> None:
        """Set aside letters whose attempts are all used up, and tell the operator and the sender."""
        for stranded in self._desk.inbox.stranded():
            reference = self._desk.random(6).hex()
            with self._desk.decision():
                if not self._desk.inbox.set_aside(stranded.id, reference):
                    continue  # the operator has it tried again
                self._regret(stranded, reference, now)
                facts = {"letter": stranded, "reference": reference}
                self._desk.letters.tell_operator(
                    LETTER_SET_ASIDE, now, Phrase("[pbem] A letter was set aside"), facts
                )
            _LOG.error("letter set aside", inbox=stranded.id, reference=reference)

    def _regret(self, stranded: Stranded, reference: str, now: datetime) -> None:
        """Tell the sender of a letter that it was set aside; by its envelope, as nobody reads the letter any more."""
        sender = stranded.envelope.sender
        if not sender or sender.lower() == self._desk.config.mail_address.lower():
            return
        if self._desk.players.by_address(sender):
            told = self._desk.counts.left(SET_ASIDE, now, sender.lower()) >= 0
        else:
            told = self._desk.strangers.may_be_answered(sender, now)
        if told:
            text = self._desk.letters.template(
                "letters/set_aside.txt", received=stranded.received, reference=reference
            )
            self._desk.letters.send(sender, OutgoingLetter(Phrase("[pbem] Your letter was set aside"), text), now)
