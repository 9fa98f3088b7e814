"""Letters by strangers: which are taken in beyond a network's limit, and how unverified ones are answered.

A letter's writer can put anybody's address above it. So that nobody can make this server write to others, a
letter is answered in full only if the domain of its From signed that it goes to us (DKIM; once); if its return path
is its From, and that domain (DKIM) or our own mail server (SPF) vouches for it; if it answers a letter of ours; or if
a player signed it. Implements reliability.md, "Limits" and cases 34 and 35.
"""

from __future__ import annotations

from dataclasses import dataclass
from operator import itemgetter
from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from pbem.config.values import Duration
from pbem.desk.daily_limits import (
    ANSWER_TO_STRANGER,
    ANSWER_TO_STRANGERS,
    NAMED,
    NAMED_BY_PLAYERS,
    NEW_MAILBOX,
    REGISTERING_STRANGER,
    DailyCounts,
    DailyLimit,
)
from pbem.desk.letter_writer import keys_of
from pbem.desk.reading import Findings, LetterReader, Question, ReaderError
from pbem.desk.reply_tokens import ReplyTokens, demand_dns, token_in
from pbem.mail import delivery_status
from pbem.mail.commands import COMMANDS, AnyCommand
from pbem.proof.mailbox_evidence import marks
from pbem.store.database import Database, to_db
from pbem.store.outbox import Outbox
from pbem.store.players import Players
from pbem.store.retention import note_marks
from pbem.store.tokens import Tokens

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import datetime

    from pbem.config.limits import Limits
    from pbem.config.server import Config
    from pbem.identity.sender_auth import Voucher
    from pbem.mail.message import Letter
    from pbem.store.inbox import Envelope, InboxRow
    from pbem.store.vault import Vault

EACH = ANSWER_TO_STRANGER.most
"""The most such answers that an address gets in a day."""

_UNDOTTED = ("gmail.com", "googlemail.com")
"""One provider's domains, who brings mail to the same mailbox whatever dots are in its name."""


BOUNCES = 3
"""The most bounces to one return path that are taken in beyond the limit."""

READING = Duration(seconds=2)
"""The time limit for reading one letter."""


@dataclass(eq=False, repr=False)
class Strangers:
    """Decides how an unsigned letter is answered; `_in_all` is the most that strangers are answered a day."""

    _database: Database
    _counts: DailyCounts
    _mailboxes: ReplyTokens
    _in_all: int

    def vouched_for(self, letter: Letter, row: InboxRow, found: Voucher) -> bool:
        """True if the letter is from where it says; raises `NeedsDns` while the DNS has to be asked."""
        # What our server says of the client (SPF) holds for From only if that is the return path, too.
        returns = one_mailbox(row.envelope.sender) == one_mailbox(letter.sender or "")
        sent = returns and found.sent
        if not sent:
            demand_dns(found, counts=False)
        # Others may send us letters that the domain signed: one to themselves, or a copy of one to us.
        signed = found.covers_to or (returns and (bool(found.told) or found.verdict.kind == "valid"))
        signed = signed and self._mailboxes.is_written_to_us(letter, found.addressed)
        if not (signed or sent):
            return False
        return note_marks(self._database, marks(letter), to_db(row.received)) or sent

    def may_be_answered(self, address: str, now: datetime, asked: Sequence[AnyCommand] = ()) -> bool:
        """True if one more such answer may go to this address today, and to anybody at all; counts it."""
        if self._are_left(ANSWER_TO_STRANGER, ANSWER_TO_STRANGERS, address, now):
            return True
        return _registers(asked) and self._are_left(REGISTERING_STRANGER, ANSWER_TO_STRANGERS, address, now)

    def is_one_too_many(self, address: str, asked: Sequence[AnyCommand], now: datetime) -> bool:
        """True if its domain had too many first letters today of mailboxes that are no player's; counts it."""
        first, domain = "registering" if _registers(asked) else "mailboxes", one_mailbox(address).rpartition("@")[2]
        return self._counts.left(NEW_MAILBOX, now, first, domain) < 0

    def may_be_named(self, address: str, now: datetime) -> bool:
        """True if one more letter that a player wants sent there may go to somebody else's address today; counts it.

        Accounts cost nothing: such letters are counted by the mailbox that gets them, and in all.
        """
        return self._are_left(NAMED, NAMED_BY_PLAYERS, address, now)

    def _are_left(self, each: DailyLimit, together: DailyLimit, address: str, now: datetime) -> bool:
        """True if neither limit is used up today; a letter beyond the first does not count for the second."""
        left = self._counts.left(each, now, one_mailbox(address))
        return left >= 0 and self._counts.left(together, now, most=self._in_all) >= 0


def _registers(commands: Sequence[AnyCommand]) -> bool:
    return any(COMMANDS[command.name].by_reply == "register" for command in commands)


def enough(commands: Sequence[AnyCommand]) -> list[AnyCommand]:
    """The one command to answer if nobody vouches for the sender: one with which the sender can register."""
    ranked = [(rank, one) for one in commands if (rank := COMMANDS[one.name].unvouched) is not None]
    return [one for _, one in sorted(ranked, key=itemgetter(0))[:1]]


def one_mailbox(address: str) -> str:
    """The mailbox behind an address (RFC 5233): `victim+1` and `victim+2` belong to the same person.

    Other delimiters are not folded: with most providers, such an address is somebody else's.
    """
    local, _, domain = address.lower().rpartition("@")
    local = local.partition("+")[0]
    if domain in _UNDOTTED:
        local, domain = local.replace(".", ""), _UNDOTTED[0]
    return f"{local}@{domain}"


class DeskAdmission:
    """Checks whether letters beyond a network's limit are by players; its reader is started for the first of them."""

    def __init__(
        self, config: Config, database: Database, vault: Vault, reader: Callable[[Limits], LetterReader]
    ) -> None:
        self._config = config
        self._outbox = Outbox(database, vault)
        self._players = Players(database)
        self._tokens = Tokens(database)
        self._open_reader = reader
        self._reader: LetterReader | None = None

    def knows(self, envelope: Envelope, raw: bytes, now: datetime) -> bool:
        """True if a letter answers one of ours, is a bounce of one, or says something new that a player signed."""
        config = self._config
        if not envelope.sender:
            # Bounces go to the return path of one of our letters; one to which little has come yet.
            token = delivery_status.token(envelope.recipients, config.mail_address, config.delimiter)
            returned = self._outbox.returned(token) if token and config.return_paths else None
            return returned is not None and self._outbox.bounces(returned.id).total() < BOUNCES
        given = [self._tokens.find(token_in(recipient, config)) for recipient in envelope.recipients]
        return any(token and token.used is None for token in given) or self._is_by_a_player(raw, now)

    def close(self) -> None:
        """Examine no more letters."""
        if self._reader is not None:
            self._reader.close()

    def _is_by_a_player(self, raw: bytes, now: datetime) -> bool:
        if self._reader is None:
            self._reader = self._open_reader(msgspec.structs.replace(self._config.limits, reading=READING))
        question = Question(raw, now, self._config.server)
        found = self._findings(self._reader, question)
        player = self._players.by_address(found.letter.sender) if found and found.letter.sender else None
        if player is None:
            return False
        keys = keys_of(player.keys)
        found = self._findings(self._reader, replace(question, keys=keys))
        if found is None or found.understood is None or found.understood.judged.verdict.kind != "valid":
            return False
        # Anybody can send again what others were shown.
        return self._players.handled(player.name, found.understood.judged.words) is None

    @staticmethod
    def _findings(reader: LetterReader, question: Question) -> Findings | None:
        """The findings about a letter; None if it cannot be read."""
        try:
            (found,) = reader.read([question])
        except ReaderError:
            return None
        return found if isinstance(found, Findings) else None
