"""The letters of ours that a letter answers or brings back: each is known by a secret that it was sent with.

Whoever reads a letter of ours knows its Message-ID, so that what the server once said of it is not taken back by
somebody else. Implements docs/attachments.md, "`about`: `command`", from the reader's side.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from pbem.mail.commands import words_hash
from pbem.match.transcript import sha256_hex
from pbem.player.correspondence.event import Event

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pbem.json_object import JsonObject
    from pbem.mail.message import Letter
    from pbem.player.bulletin import Heard
    from pbem.player.memory import Memory, Sent

__all__ = ["MESSAGE_ID", "Answers"]

MESSAGE_ID = re.compile(rb"<[!-;=?-~]{1,200}>")
_QUOTED = 256 << 10


class Answers:
    """What came of the letters in a memory."""

    def __init__(self, memory: Memory) -> None:
        self._memory = memory

    def answered(self, letter: Letter, item: JsonObject) -> Sent | None:
        """The letter of ours that an item answers: at first, only its server can have read its Message-ID.

        An unknown sender gets a short answer, which is in no thread.
        """
        found = [sent for known in letter.in_reply_to if (sent := self._memory.by_message_id(known))]
        found += self._asked()
        found += self._memory.prepared("confirm", "")
        return _named(found, item)

    def _told_of(self, letter: Letter, item: JsonObject) -> Sent | None:
        """The letter of ours that an item of its server answers, in its thread or outside.

        Outside are answers to words that came before under another Message-ID. There it must be these very words:
        whoever read our letter can write others under its Message-ID, and is answered outside its thread, too.
        """
        if (ours := self.answered(letter, item)) is not None:
            return ours
        open_yet = self._memory.in_state("ready", "sent", "asked", "refused", "bounced")
        return _named([sent for sent in open_yet if words_hash(sent.form) == item.get("words")], item)

    def is_asked(self, item: JsonObject) -> bool:
        """Whether an item answers our registration, which holds a secret of ours."""
        words = [words_hash(sent.form) for sent in self._asked()]
        return item.get("about") == "challenge" and item.get("asked") in words

    def _asked(self) -> list[Sent]:
        """Our registrations."""
        return self._memory.sent("register", "", self._memory.fact("fingerprint") or "")

    def bounced(self, letter: Letter) -> Event | None:
        """A letter of ours that came back: only its receiver knows its Message-ID."""
        if not any(part.content_type == "message/delivery-status" for part in letter.root.walk()):
            return None
        for found in MESSAGE_ID.findall(letter.raw[:_QUOTED]):
            sent = self._memory.by_message_id(found.decode())
            if sent is not None and sent.state in {"ready", "sent"} and _failed(letter):
                self._memory.settle(sent.id, "bounced")
                return Event("bounced", letter.subject, sent.match, sent=sent)
        return None

    def settle(self, letter: Letter, heard: Heard) -> list[Event]:
        """Record the server's answers to letters of ours."""
        events = []
        for item in heard.items:
            ours = self._told_of(letter, item) if item.get("about") == "command" else None
            if ours is None:
                continue
            outcome, faults = str(item.get("outcome")), item.get("faults")
            found = tuple(map(str, faults)) if isinstance(faults, list) else ()
            state = {"refused": "refused", "asked": "asked", "unplaced": "refused"}.get(outcome, "done")
            if ours.state == "done" and state != "done":
                continue  # what was obeyed stays so; who saw the letter since can write under its Message-ID
            self._memory.settle(ours.id, state, json.dumps(found))
            ours = ours._replace(state=state)
            events.append(Event("answer", letter.subject, ours.match, outcome, found, ours))
        return events


def _named(found: Sequence[Sent], item: JsonObject) -> Sent | None:
    """The letter whose Message-ID an item names by its hash."""
    return next((sent for sent in found if sha256_hex(sent.message_id.encode()) == item.get("answers")), None)


def _failed(letter: Letter) -> bool:
    """Whether a delivery status says that something failed for good (RFC 3464 2.3.3)."""
    said = [part.content.lower() for part in letter.parts if part.content_type == "message/delivery-status"]
    return any(re.search(rb"^action:\s*failed", content, re.MULTILINE) for content in said)
