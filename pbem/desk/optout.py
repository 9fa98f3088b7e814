"""Opting out: who wants no more mail, and how we know that it was they who said so.

A letter that is signed, or that proves its mailbox, counts at once. Any other `stop` may be anybody's: its address is
asked, once a week at the most, and only an answer from there counts. Where nobody vouches for the letter, the
question repeats nothing of it. Implements protocol.md, "Commands" (`stop`).
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from pbem.desk.out import Out
from pbem.store.database import stamp

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from pbem.desk.clerk import Clerk
    from pbem.desk.mailbox import Mailboxes
    from pbem.desk.reply import Caller
    from pbem.mail.letter import Letter
    from pbem.phrase import Phrase
    from pbem.store.people import People

__all__ = ["OptOut"]

_A_WEEK = timedelta(days=7)


class OptOut:
    """Those who want no more mail from a server.

    `reply` sends an answer to a letter; `short` is the subject of one that repeats nothing.
    """

    def __init__(
        self,
        people: People,
        mailboxes: Mailboxes,
        clerk: Clerk,
        reply: Callable[[Letter, str, Out, datetime], None],
        short: Phrase,
    ) -> None:
        self._short = short
        self._people = people
        self._mailboxes = mailboxes
        self._clerk = clerk
        self._reply = reply

    def take(self, caller: Caller, *, proved: bool) -> bool:
        """Send the address no more mail, if its owner said so; else ask there. Whether its owner did."""
        answered = next((token for token in caller.tokens if token.purpose == "stop"), None)
        if answered is not None:
            self._mailboxes.use(answered, caller.letter, caller.now)
        elif not proved:
            self._ask(caller)
            return False
        self._people.silence(caller.address, stamp(caller.now))
        return True

    def _ask(self, caller: Caller) -> None:
        address, now = caller.address, caller.now
        if self._people.silent(address) or self._mailboxes.asked("stop", address, now - _A_WEEK):
            return
        out = Out("", self._clerk.draft("letters/stop.txt"), asks=True, language=caller.language)
        out.reply_to = self._mailboxes.ask("stop", address, caller.player.name if caller.player else "", now)
        if caller.short:
            out.subject = self._short
            self._clerk.send(address, out, now)
        else:
            self._reply(caller.letter, address, out, now)
