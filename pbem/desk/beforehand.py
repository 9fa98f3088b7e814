"""Strangers' letters are parsed before anything is decided: the sandbox is never asked while the store is locked.

If a decision needs something that only the sandbox can find out, it breaks off. The sandbox is asked once the store
is free again, and the decision is made again. Implements design.md, "The way of a letter".
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar, cast

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Mapping, Sequence
    from datetime import datetime

    from pbem.desk.reading import Reader, Understood
    from pbem.identity import Key
    from pbem.identity.sender_auth import Voucher
    from pbem.mail.bounces import Bounce
    from pbem.mail.message import Letter
    from pbem.proof.signed_letters import Heard
    from pbem.store.database import Database

__all__ = ["Beforehand", "NotYetRead"]

T = TypeVar("T")


class NotYetRead(Exception):
    """A decision needs something that was not parsed yet; `Beforehand.find_out` parses it."""


class Beforehand:
    """A reader's findings, each found out while the store is not locked.

    What raised in the reader raises here; while the store is locked, unknown findings raise `NotYetRead`.
    """

    def __init__(self, reader: Reader, database: Database) -> None:
        self._reader = reader
        self._database = database
        self._known: dict[Hashable, object] = {}
        self._open: dict[Hashable, Callable[[], object]] = {}

    @property
    def waits(self) -> bool:
        """Whether anything has still to be found out."""
        return bool(self._open)

    def find_out(self) -> None:
        """Ask the sandbox for the findings that decisions broke off for."""
        while self._open:
            question, ask = self._open.popitem()
            try:
                self._known[question] = ask()
            except Exception as error:
                self._known[question] = error

    def forget(self) -> None:
        """Forget all findings: the letters are settled."""
        self._known.clear()
        self._open.clear()

    def understand(self, letter: Letter, keys: Sequence[Key], server: str, at: datetime) -> Understood:
        """Who signed a letter, and what it says."""
        question = ("understand", letter.raw, tuple(keys), server, at)
        return self._find(question, lambda: self._reader.understand(letter, keys, server, at))

    def shown(self, content: bytes, keys: Sequence[str], server: str) -> Heard:
        """A signed text as the other players will read it; raises `BadKey`."""
        question = ("shown", content, tuple(keys), server)
        return self._find(question, lambda: self._reader.shown(content, keys, server))

    def read(self, raw: bytes) -> Letter:
        """A letter, read; raises `Unreadable`."""
        return self._find(("read", raw), lambda: self._reader.read(raw))

    def vouch(self, letter: Letter, records: Mapping[str, str | None], authserv_id: str, at: datetime) -> Voucher:
        """Who vouches for a letter's From."""
        question = ("vouch", letter.raw, tuple(records.items()), authserv_id, at)
        return self._find(question, lambda: self._reader.vouch(letter, records, authserv_id, at))

    def parse_key(self, data: str | bytes, at: datetime | None = None) -> Key:
        """A public key; raises `BadKey`."""
        return self._find(("key", data, at), lambda: self._reader.parse_key(data, at))

    def bounce(self, letter: Letter) -> Bounce:
        """Read what came to a return path."""
        return self._find(("bounce", letter.raw), lambda: self._reader.bounce(letter))

    def _find(self, question: Hashable, ask: Callable[[], T]) -> T:
        if question not in self._known:
            if not self._database.in_transaction:
                return ask()
            self._open[question] = ask
            raise NotYetRead
        found = self._known[question]
        if isinstance(found, Exception):
            raise found
        return cast("T", found)
