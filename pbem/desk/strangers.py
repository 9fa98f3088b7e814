"""Answers to letters for whose sender nobody vouches: few, short, and without a word of the letter.

A letter's writer can put anybody's address above it. So that nobody can make this server write to others, a
letter is answered in full only if the domain of its From signed that it goes to us (DKIM; once); if its return path
is its From, and that domain (DKIM) or our own mail server (SPF) vouches for it; if it answers a letter of ours; or if
a player signed it.
Implements reliability.md, case 35.
"""

from __future__ import annotations

from dataclasses import dataclass
from operator import itemgetter
from typing import TYPE_CHECKING

from pbem.desk.daily_limits import (
    ANSWER_TO_STRANGER,
    ANSWER_TO_STRANGERS,
    NAMED,
    NAMED_BY_PLAYERS,
    NEW_MAILBOX,
    NEW_PLAYER,
    REGISTERING_STRANGER,
    DailyCounts,
    DailyLimit,
)
from pbem.desk.reply_tokens import ReplyTokens, demand_dns
from pbem.mail.commands import COMMANDS, AnyCommand
from pbem.store.database import Database, to_db
from pbem.store.vouched import note_marks

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from pbem.identity.sender_auth import Voucher
    from pbem.mail.message import Letter
    from pbem.store.inbox import InboxRow

EACH = ANSWER_TO_STRANGER.most
"""The most such answers that an address gets in a day."""

_UNDOTTED = ("gmail.com", "googlemail.com")
"""One provider's domains, who brings mail to the same mailbox whatever dots are in its name."""


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
        return note_marks(self._database, found.marks, to_db(row.received)) or sent

    def may_be_answered(self, address: str, now: datetime, asked: Sequence[AnyCommand] = ()) -> bool:
        """True if one more such answer may go to this address today, and to anybody at all; counts it."""
        if self._are_left(ANSWER_TO_STRANGER, ANSWER_TO_STRANGERS, address, now):
            return True
        return _registers(asked) and self._are_left(REGISTERING_STRANGER, ANSWER_TO_STRANGERS, address, now)

    def is_one_too_many(self, address: str, asked: Sequence[AnyCommand], now: datetime) -> bool:
        """True if its domain had too many first letters today of mailboxes that are no player's; counts it."""
        limit = NEW_PLAYER if _registers(asked) else NEW_MAILBOX
        domain = one_mailbox(address).rpartition("@")[2]
        return self._counts.left(limit, now, domain) < 0

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
