"""The letters that come: which of them are the server's own, and for this player. Any other changes nothing.

`belief` takes over what is in them, `answers` finds which letter of ours they answer. Implements docs/attachments.md,
"The bulletin", from the reader's side.
"""

from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING

from pbem.match.transcript import sha256_hex, written
from pbem.phrase import Phrase
from pbem.player.correspondence.answers import Answers
from pbem.player.correspondence.belief import Belief
from pbem.player.known import AccountKnown
from pbem.player.server_letter import LIMITS, Event, NotGenuine, hear, opened

if TYPE_CHECKING:
    from datetime import datetime

    from pbem.failpoints import Failpoints
    from pbem.mail.message import Letter
    from pbem.player.account_file import Account
    from pbem.player.memory import Memory
    from pbem.player.server_letter import HeardBulletin


class LetterInbox:
    """Takes in letters, whoever wrote them."""

    def __init__(self, account: Account, memory: Memory, failpoint: Failpoints) -> None:
        self._account = account
        self._memory = memory
        self._at = failpoint
        self._answers = Answers(memory)
        self._belief = Belief(account, memory)

    def receive(self, raw: bytes, now: datetime) -> list[Event]:
        """Take in a letter: all of it is on the disk afterwards, or nothing happened.

        Whatever is in it, this raises only `sqlite3.Error`, if the memory cannot be written.
        """
        try:
            with self._memory.transaction():
                events = self._receive(raw, now)
        except sqlite3.Error:
            raise  # no fault of the letter: it is taken in when there is room
        except Exception as error:
            # A letter may come from anybody: none may keep those behind it from being read.
            return [Event("forged", said=Phrase("it cannot be taken in: {error}", error=type(error).__name__))]
        self._at("letter taken in")
        return events

    def _receive(self, raw: bytes, now: datetime) -> list[Event]:
        if len(raw) > LIMITS.message_bytes:
            return [Event("foreign", said="it is larger than any letter of a server")]
        try:
            letter = opened(raw)
        except NotGenuine as error:
            return [Event("foreign", said=str(error))]
        if bounced := self._answers.bounced(letter):
            return [bounced]
        try:
            # What is said beside something encrypted would be compared with no bundle.
            heard = None if letter.is_encrypted else hear(letter)
            if heard is None:
                return [self._without_bulletin(letter)]
            if heard.server != self._account.server:
                raise NotGenuine("it is signed by another server, {server}", server=heard.server)
            if heard.to.lower() != self._account.address.lower():
                raise NotGenuine("it was written to {address}", address=heard.to)
        except NotGenuine as error:
            return [Event("forged", letter.subject, said=error.args[0])]
        hashed = sha256_hex(raw.replace(b"\r\n", b"\n"))  # mailboxes differ in this alone
        if self._memory.has_read(hashed):
            return [Event("doubled", letter.subject)]
        if not_counting := self._judge_key(letter, heard):
            return [not_counting]
        number = self._memory.keep_letter(hashed, written(now), letter.subject, letter.text or "", raw)
        events = self._belief.take_over(number, letter, heard, now) + self._answers.settle(letter, heard, now)
        self._answers.repeat(heard, now)
        return events

    def pin_key(self, key: str) -> None:
        """Believe only this server key from now on, and read again the letters that were taken for forged.

        Only the user decides that: by `pbem play register --server-key`, or `server_key` in a program's settings.
        """
        if key != self._memory.account().server_key:
            with self._memory.noting(AccountKnown) as account:
                account.server_key = key
                self._memory.read_forged_again()

    def _judge_key(self, letter: Letter, heard: HeardBulletin) -> Event | None:
        """Return what a letter is if it is not signed with the server's key, and None if it is.

        The first answer to a letter of ours pins its key. From then on, a letter with another key is `forged`: it
        changes nothing, whatever it says. Only `pin_key` replaces a pinned key.
        """
        if (pinned := self._memory.account().server_key) is None:
            if not any(self._answers.answered(letter, item) or self._answers.is_asked(item) for item in heard.items):
                return Event("unpinned", letter.subject)
            with self._memory.noting(AccountKnown) as account:
                account.server_key = heard.key
        elif pinned != heard.key:
            said = Phrase(
                "it is signed with the key {key}, and the server's is {pinned}", key=heard.key, pinned=pinned
            )
            return Event("forged", letter.subject, said=said)
        return None

    def _without_bulletin(self, letter: Letter) -> Event:
        if (letter.sender or "").lower() != self._account.server_address.lower():
            return Event("foreign", letter.subject)
        if letter.is_encrypted:
            said = Phrase("it is encrypted, and only a mail program can read it: `set encrypted no` ends that")
            return Event("forged", letter.subject, said=said)
        anybody = Phrase("it has no signed bulletin, so that anybody may have written it")
        return Event("forged", letter.subject, said=anybody)
