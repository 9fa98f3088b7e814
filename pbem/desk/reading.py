"""Reading: the interface by which the desk has strangers' letters taken apart, judged and parsed.

Here live the `Reader` that the desk is handed, and the one that reads in the same process (tests, verification). The
one with a separate process is the server's sandbox. Mail, identity and proof define what reading means; nothing
here decides anything. Implements reliability.md, "Ground facts", case 16.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

import msgspec
import structlog

from pbem import identity
from pbem.identity.sender_auth import vouch
from pbem.mail import bounces, commands
from pbem.mail.commands import Reading
from pbem.mail.html import own_words
from pbem.mail.message import Letter, Unreadable, received
from pbem.proof.signed_letters import VOCABULARY, Heard, heard, shown

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from pbem.config.limits import Limits
    from pbem.identity import Key
    from pbem.identity.sender_auth import Voucher
    from pbem.mail.bounces import Bounce

__all__ = ["AT_HAND", "Asked", "Found", "InProcess", "Reader", "ReaderError", "Understood"]

AT_HAND = 8  # letters that are read together

log = structlog.get_logger()


class ReaderError(Exception):
    """Reading failed, and nobody can be told whose fault it is: it took too long or too much memory."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A letter to be read; and, if there are any, to be judged by the keys that probably signed it."""

    raw: bytes = field(repr=False)
    keys: Sequence[Key] | None
    at: datetime


class Understood(msgspec.Struct, frozen=True):
    """Who signed a letter, of those whose keys were named; what it says; and its commands."""

    heard: Heard
    reading: Reading


class Found(msgspec.Struct, frozen=True):
    """What reading a letter gave or raised, and what it says by the keys that were named; None if none were."""

    letter: Letter | Unreadable | ReaderError
    understood: Understood | None = None


class Reader(Protocol):
    """Reads what strangers wrote, within the limits it was made with; all methods may raise `ReaderError`."""

    def get_ready(self) -> None:
        """Make sure that reading is possible at all, before any letter is leased."""

    def read(self, raw: bytes) -> Letter:
        """`mail.letter.read`: raises `Unreadable` beyond the limits."""

    def ask(self, asked: Sequence[Asked], server: str) -> None:
        """Begin to `read` and to `understand` several letters, while others are worked on; raises nothing.

        Earlier requests that are not `found` yet are forgotten.
        """

    def found(self) -> list[Found]:
        """The findings of `ask`, in order; waits until all are there."""

    def understand(self, letter: Letter, keys: Sequence[Key], server: str, at: datetime) -> Understood:
        """`identity.judge` at receipt, `proof.signed_letters.heard` and `mail.commands.parse`."""

    def shown(self, content: bytes, keys: Sequence[str], server: str) -> Heard:
        """`proof.signed_letters.shown`: raises `BadKey`."""

    def vouch(self, letter: Letter, records: Mapping[str, str | None], authserv_id: str, at: datetime) -> Voucher:
        """`identity.vouching.vouch`."""

    def parse_key(self, data: str | bytes, at: datetime | None = None) -> Key:
        """`identity.parse_key`: raises `BadKey`."""

    def bounce(self, letter: Letter) -> Bounce:
        """`mail.bounces.read`."""

    def close(self) -> None:
        """Read no more."""


class InProcess:
    """A reader without a worker."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._asked: tuple[Sequence[Asked], str] = ((), "")

    def get_ready(self) -> None:
        """There is nothing to wait for."""

    def read(self, raw: bytes) -> Letter:
        """Read a letter; raises `Unreadable`."""
        return received(raw, self._limits)

    def ask(self, asked: Sequence[Asked], server: str) -> None:
        """Remember what was asked."""
        self._asked = (asked, server)

    def found(self) -> list[Found]:
        """Read and judge now."""
        asked, server = self._asked
        self._asked = ((), "")
        return [self._find(one, server) for one in asked]

    def _find(self, asked: Asked, server: str) -> Found:
        try:
            letter = self.read(asked.raw)
        except Unreadable as error:
            return Found(error)
        return Found(letter, self.understood(letter, asked.keys, server, asked.at))

    def understood(self, letter: Letter, keys: Sequence[Key] | None, server: str, at: datetime) -> Understood | None:
        """What a letter says, if there are keys to judge by; what fails is tried again when it matters."""
        if keys is None:
            return None
        try:
            return self.understand(letter, keys, server, at)
        except MemoryError:
            raise
        except Exception:
            log.exception("judging ahead failed")
            return None

    def understand(self, letter: Letter, keys: Sequence[Key], server: str, at: datetime) -> Understood:
        """Say who signed a letter, and what it says."""
        verdict = identity.judge(letter, keys, server, words=VOCABULARY, at=at)
        said = heard(letter, verdict, self.read)
        if letter.html is not None and not said.text.strip():
            return Understood(said, commands.without_effect(commands.parse(own_words(letter.html.text))))
        return Understood(said, commands.parse(said.text))

    def shown(self, content: bytes, keys: Sequence[str], server: str) -> Heard:
        """Read what a player signed as the others will read what they are shown of it; raises `BadKey`."""
        return shown(content, keys, server)

    def vouch(self, letter: Letter, records: Mapping[str, str | None], authserv_id: str, at: datetime) -> Voucher:
        """Say who vouches for a letter's From."""
        return vouch(letter, records, authserv_id, at)

    def parse_key(self, data: str | bytes, at: datetime | None = None) -> Key:
        """Read a public key; raises `BadKey`."""
        return identity.parse_key(data, at)

    def bounce(self, letter: Letter) -> Bounce:
        """Read what came to a return path."""
        return bounces.read(letter)

    def close(self) -> None:
        """There is nothing to end."""
