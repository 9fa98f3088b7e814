"""The account: the letter that asks for it, and the one that proves that key or mailbox are the player's.

Each of them is prepared once, and is the same again as long as it is not answered. The first is written anew after a
day without an answer: what a server answers to strangers in one day, others can use up in their name.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from pbem.player import forms
from pbem.player.known import AccountKnown
from pbem.player.memory import may_repeat

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from pbem.player.account_file import Account
    from pbem.player.correspondence.outgoing import FormOutbox
    from pbem.player.memory import Memory, SentForm


_ANEW = timedelta(days=1)

_MAILBOX = "mailbox"
"""Stands where others have the fingerprint of their key."""


class Registration:
    """The registration of one player with one server."""

    def __init__(self, account: Account, memory: Memory, outbox: FormOutbox, random: Callable[[int], bytes]) -> None:
        self._account = account
        self._memory = memory
        self._outbox = outbox
        self._random = random

    def register(self, public_key: str, fingerprint: str, now: datetime, *, anew: bool = False) -> SentForm:
        """Prepare the letter that asks for an account; the same one again as long as it may be answered.

        `anew`: the ways of letters have changed since, so that the last one may not have gone to the server.
        """
        failed = anew or any(sent.state == "refused" for sent in self._memory.sent("confirm", "", self._challenge))
        # Not as long as a recovery code, which is masked wherever it is repeated.
        return self._register(
            fingerprint,
            failed,
            lambda: forms.registration(self._account.name, public_key, self._random(20).hex()),
            now,
        )

    def register_mailbox(self, now: datetime, *, anew: bool = False) -> SentForm:
        """Prepare the letter that asks for an account without a key, in the same way."""
        asked = self._memory.sent("register", "", _MAILBOX)[-1:]
        failed = anew or any(sent.state == "refused" for one in asked for sent in self._brought_back(one))
        return self._register(_MAILBOX, failed, lambda: forms.checked(f"register {self._account.name}\n"), now)

    def _register(self, fingerprint: str, failed: bool, form: Callable[[], str], now: datetime) -> SentForm:
        """Prepare a registration, unless one may still be answered; `failed`: it was refused, or went elsewhere."""
        before = self._memory.sent("register", "", fingerprint)
        if before and before[-1].state != "refused" and not failed and not _is_overdue(before[-1], now):
            return self._outbox.again(before[-1])
        with self._memory.transaction():
            with self._memory.noting(AccountKnown) as account:
                account.fingerprint = fingerprint
            return self._outbox.prepare("register", "", fingerprint, len(before) + 1, form(), now, sign=False)

    def is_overdue(self, fingerprint: str, now: datetime) -> bool:
        """True if the request for an account was not answered in time, or its proof was refused."""
        asked = self._memory.sent("register", "", fingerprint)[-1:]
        answered = self._memory.sent("confirm", "", self._challenge)[-1:]
        failed = any(sent.state == "refused" and _is_old(sent, now) for sent in answered)
        return any(_is_overdue(sent, now) or (failed and _is_old(sent, now)) for sent in asked)

    def _brought_back(self, asked: SentForm) -> list[SentForm]:
        """The letter that answered the server's question whether this mailbox is ours."""
        return self._memory.sent("confirm", "", f"{_MAILBOX} {asked.rev}")

    def _bring_back(self, now: datetime) -> SentForm | None:
        """Prepare the answer to that question, if any: the same words, to the address that only we were told."""
        asked = self._memory.sent("register", "", _MAILBOX)
        if self._memory.account().name or not asked or asked[-1].state != "asked":
            return None
        if before := self._brought_back(asked[-1]):
            return self._outbox.again(before[-1])
        place = f"{_MAILBOX} {asked[-1].rev}"
        return self._outbox.prepare("confirm", "", place, 1, asked[-1].form, now)

    @property
    def _challenge(self) -> str:
        return self._memory.account().challenge

    def confirm(self, now: datetime) -> SentForm | None:
        """Prepare the answer to the challenge of our key, if there is one; a refused answer is not repeated soon."""
        if not self._outbox.signs:
            return self._bring_back(now)
        challenge = self._challenge
        if not challenge or self._memory.account().name:
            return None
        before = self._memory.sent("confirm", "", challenge)
        if before and not (before[-1].state == "refused" and may_repeat(before, now)):
            return self._outbox.again(before[-1])
        place = {"server": self._account.server, "challenge": challenge}
        form = forms.sentence(f"confirm {self._account.name}", place)
        return self._outbox.prepare("confirm", "", challenge, len(before) + 1, form, now)

    def confirm_again(self, now: datetime) -> None:
        """Prepare a new answer to the challenge if the last one was refused, and not just now."""
        if [sent for sent in self._memory.sent("confirm", "", self._challenge)[-1:] if sent.state == "refused"]:
            self.confirm(now)


def _is_overdue(asked: SentForm, now: datetime) -> bool:
    """True if a letter left, and has not been answered for a day."""
    return asked.state == "sent" and _is_old(asked, now)


def _is_old(sent: SentForm, now: datetime) -> bool:
    """True if a letter was written a day ago, or on another day while our own clock was wrong."""
    return abs(now - sent.written) >= _ANEW
