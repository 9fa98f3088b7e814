"""The letters that go: each is kept in the memory, with its bytes fixed, before anybody may send it.

A form is signed; without a key, its letter answers one of the server's instead, each of which can be answered once.
Implements docs/attachments.md, "`about`: `reply`", from the reader's side.
"""

from __future__ import annotations

import json
from email.message import EmailMessage
from email.policy import SMTP
from email.utils import format_datetime
from typing import TYPE_CHECKING

from pbem.mail.commands import COMMANDS
from pbem.match.view import OVER
from pbem.player.correspondence.standings import Impossible, is_late
from pbem.player.memory import SentForm, may_repeat

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from pbem.failpoints import Failpoints
    from pbem.match.view import MatchView
    from pbem.player.account_file import Account
    from pbem.player.memory import AnswerPlace, Memory


def composed(sender: str, to: str, subject: str, message_id: str, now: datetime) -> EmailMessage:
    """A letter with its headers, and no text yet."""
    letter = EmailMessage(SMTP)
    letter["From"] = sender
    letter["To"] = to
    letter["Subject"] = subject
    letter["Date"] = format_datetime(now)
    letter["Message-ID"] = message_id
    return letter


class FormOutbox:
    """Prepares letters, and knows which of them may not have left."""

    def __init__(
        self,
        account: Account,
        memory: Memory,
        sign: Callable[[bytes, str], str] | None,
        random: Callable[[int], bytes],
        failpoint: Failpoints,
    ) -> None:
        self._account = account
        self._memory = memory
        self._sign = sign
        self.signs = sign is not None
        self._random = random
        self._at = failpoint

    def prepare(
        self, command: str, match: str, place: str, rev: int, form: str, now: datetime, *, sign: bool = True
    ) -> SentForm:
        """Sign a form, and keep it with the bytes of its letter: from now on it leaves unchanged, or not at all.

        It goes to the address of its match, or to the server's.
        """
        signed = form
        if sign and self._sign is not None:
            signed += self._sign(form.encode(), f"pbem@{self._account.server}")
        self._at("form signed")
        with self._memory.transaction():  # what others prepared meanwhile is known, and the address is nobody else's
            for other in self._memory.sent(command, match, place):
                if other.rev == rev and other.form == form:
                    return other
                if other.rev == rev:
                    raise Impossible("Another `pbem play` was quicker: look at what it sent, then say it again.")
            answered = self._reply_place(command, match) if sign and self._sign is None else None
            known = answered or self._memory.standing(match)
            to = known.address if known else self._account.server_address
            message_id = f"<{self._random(16).hex()}@{self._account.address.rpartition('@')[2]}>"
            letter = composed(self._account.address, to, f"{command} {match}".strip(), message_id, now)
            if answered:
                letter["In-Reply-To"] = letter["References"] = answered.message_id
            letter.set_content(signed)
            raw = letter.as_bytes()
            if answered and command != "ask":  # questions use nothing up
                self._memory.spend(answered)
            sent = self._memory.prepare(SentForm(0, message_id, command, match, place, rev, form, raw, to, "ready"))
        self._at("form kept")
        return sent

    def _reply_place(self, command: str, match: str) -> AnswerPlace | None:
        """The address for a letter without a key: it must answer a letter about its match and turn.

        A letter about no match answers a letter of that kind, or one that is good for nothing else any more. The one
        that asks whether a mailbox is ours is answered itself, whatever came since. None: a question does not need
        one. Raises `Impossible`.
        """
        known, places = self._memory.standing(match), self._memory.places()
        if command == "confirm" and (asked := self._memory.account().asked_by):
            places = [place for place in places if place.message_id == asked]
        past = [place for place in places if self._is_past(place)]
        if known is None:
            fitting = [*(place for place in places if not place.match), *past]
        else:
            own = [place for place in places if place.match == match]
            fitting = [place for place in own if place not in past]
            if COMMANDS[command].place == "player":
                fitting = [*(place for place in own if place in past), *fitting]
        if fitting:
            return fitting[0]
        if command == "ask":
            return None
        raise Impossible(
            "Without a key, a letter of yours answers one of the server's, and all that came are answered."
            " Wait for the next one, or ask for it: pbem play ask {question}",
            question=f"status {match}" if known else "whoami",
        )

    def _is_past(self, place: AnswerPlace) -> bool:
        """True if a match has moved on since a letter about it, or is over."""
        known = self._memory.standing(place.match)
        if known is None:
            return False
        return (place.game, place.turn) != (known.game, known.turn) or known.phase in OVER

    def again(self, sent: SentForm) -> SentForm:
        """The same letter as was prepared before.

        It is sent once more, unchanged, if it bounced, or if the server was restored and may have forgotten it.
        """
        if sent.state != "bounced" and sent.generation >= self._memory.generation(sent.match):
            return sent
        with self._memory.transaction():
            return self._memory.send_again(sent)

    def alive(self, command: str, match: str, place: str) -> SentForm | None:
        """The last letter to the server as it is now, for this place, that was not refused; None if there is none."""
        latest = self._memory.generation(match)
        alive = [
            sent
            for sent in self._memory.sent(command, match, place)
            if sent.state != "refused" and sent.generation >= latest
        ]
        return alive[-1] if alive else None

    def demand_unrefused(self, standing: MatchView, command: str, place: str, now: datetime) -> None:
        """Raise `Impossible` if the server refused the same, in the present state, not long ago."""
        refused = [
            sent
            for sent in self._memory.sent(command, standing.match, place)
            if sent.state == "refused" and f"\nprev {standing.prev}\n" in sent.form
        ]
        if refused and not may_repeat(refused, now):
            faults = "; ".join(json.loads(refused[-1].faults))
            raise Impossible("the server refused what was due: {faults}", faults=faults)

    def unsent(self) -> list[SentForm]:
        """Prepared letters that may not have left; those that are too late by now are given up."""
        left = []
        for sent in self._memory.in_state("ready"):
            known = self._memory.standing(sent.match)
            if known and is_late(known, sent):
                with self._memory.transaction():
                    self._memory.settle(sent.id, "refused", json.dumps(["it was too late to send it"]))
            else:
                left.append(sent)
        return left

    def has_left(self, sent: SentForm) -> None:
        """Record that the mail system has accepted a letter."""
        self._at("letter sent")
        with self._memory.transaction():
            now = self._memory.by_message_id(sent.message_id)
            if now is not None and now.state == "ready":
                self._memory.settle(sent.id, "sent")
        self._at("sending noted")
