"""The small text files of a match that are hashed: openings, receipts, withdrawals, mailboxes and their evidence.

All are lines of `key value` with a block at the end or none, so that `sha256sum -c` is a complete verifier and
a person can read them. The salt keeps the hash from being guessed. Each kind has two versions: papers of matches that
began before bundles said when letters were received (`bundle 1`) are read and made as they were then. Implements
protocol.md, "Commitments" and "Identity"; docs/bundle.md has every line.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, fields
from datetime import datetime
from functools import lru_cache
from typing import Any

from pbem.match.transcript import digest

__all__ = ["SALT", "Evidence", "NamedMailbox", "NotAPaper", "Opening", "Receipt", "Withdrawal", "mailbox_before"]


SALT = re.compile(r"[0-9a-f]{64}")
"""A salt of a paper of version 2: 256 random bits."""


class NotAPaper(ValueError):  # noqa: N818 - what it says of the text
    """The text is no opening, or no receipt, as this module writes them."""


@dataclass(frozen=True, slots=True)
class Opening:
    """What opens a commitment: a setup, where it belongs, the letter it came in, and a salt."""

    server: str
    match: str
    game: int
    seat: int
    player: str
    rules: str
    mail: str
    evidence: str = field(default="", kw_only=True)
    """SHA-256 of the evidence for the letter, where it came at level `mailbox`; else the line is not there."""
    received: str = field(default="", kw_only=True)
    """When the letter was received, UTC to the second; not in version 1."""
    rev: int = field(default=0, kw_only=True)
    """The revision of the setup; not in version 1."""
    salt: str
    setup: str

    @property
    def level(self) -> str:
        """The level of the letter: `key` or `mailbox`."""
        return "mailbox" if self.evidence else "key"

    def text(self) -> str:
        """The file whose SHA-256 is the commitment."""
        return f"{_title('opening', self.received)}\n{_head(self, _names(Opening)[:-1])}setup\n{self.setup}\nend\n"

    @classmethod
    def read(cls, text: str) -> Opening:
        """The opening of this very text; raises `NotAPaper`."""
        head, mark, rest = text.partition("\nsetup\n")
        values = _values("opening", head, _names(cls)[:-1])
        if not mark or not rest.endswith("\nend\n"):
            raise NotAPaper("no setup")
        opening = cls(**_typed(values), setup=rest.removesuffix("\nend\n"))
        if opening.text() != text:
            raise NotAPaper("not as an opening is written")
        return opening


@dataclass(frozen=True, slots=True)
class Receipt:
    """What stands for orders until their turn is resolved: where they belong, their letter, and a salt."""

    server: str
    match: str
    game: int
    turn: int
    seat: int
    player: str
    rev: int
    level: str
    key: str
    mail: str
    evidence: str = field(default="", kw_only=True)
    """SHA-256 of the evidence for the letter, where it came at level `mailbox`; else the line is not there."""
    orders: str = field(default="", kw_only=True)
    """`default` where they are default orders, of turn 0 until they are played; else the line is not there."""
    received: str = field(default="", kw_only=True)
    """When the letter was received, UTC to the second; not in version 1."""
    salt: str

    @property
    def by_default(self) -> bool:
        """Whether these are orders for whichever turn is missed."""
        return self.orders == "default"

    def text(self) -> str:
        """The file whose SHA-256 stands in the transcript."""
        return f"{_title('receipt', self.received)}\n{_head(self, _names(Receipt))}"

    @classmethod
    @lru_cache(maxsize=16)  # asked for when a turn is made again, and when it is told of
    def read(cls, text: str) -> Receipt:
        """The receipt of this very text; raises `NotAPaper`."""
        receipt = cls(**_typed(_values("receipt", text.removesuffix("\n"), _names(cls))))
        if receipt.text() != text or receipt.orders not in {"", "default"}:
            raise NotAPaper("not as a receipt is written")
        return receipt


@dataclass(frozen=True, slots=True)
class Withdrawal:
    """What says that a setup (turn 0), orders or default orders were withdrawn, by which letter, and when it came."""

    server: str
    match: str
    game: int
    turn: int
    seat: int
    player: str
    rev: int
    level: str
    key: str
    mail: str
    evidence: str = field(default="", kw_only=True)
    """SHA-256 of the evidence for the letter, where it came at level `mailbox`; else the line is not there."""
    orders: str = field(default="", kw_only=True)
    """`default` where default orders were withdrawn, which have turn 0, too; else the line is not there."""
    received: str
    salt: str

    @property
    def by_default(self) -> bool:
        """Whether orders for whichever turn is missed were withdrawn."""
        return self.orders == "default"

    def text(self) -> str:
        """The file whose SHA-256 stands in the transcript."""
        return f"pbem withdrawal 1\n{_head(self, _names(Withdrawal))}"

    @classmethod
    def read(cls, text: str) -> Withdrawal:
        """The withdrawal of this very text; raises `NotAPaper`."""
        withdrawal = cls(**_typed(_values("withdrawal", text.removesuffix("\n"), _names(cls))))
        if withdrawal.text() != text or withdrawal.orders not in {"", "default"}:
            raise NotAPaper("not as a withdrawal is written")
        return withdrawal


@dataclass(frozen=True, slots=True)
class Evidence:
    """Why a letter counts at level `mailbox`: whose word was taken for its From, and the word itself."""

    server: str
    match: str
    player: str
    mail: str
    """SHA-256 of the letter."""
    received: str
    """When, UTC to the second: by then the signature must not have expired."""
    token: str
    """SHA-256 of the single-use reply token that the letter brought back."""
    place: str = field(default="", kw_only=True)
    """What the letter that brought the token was about, as `game 1 turn 5`; not in version 1."""
    by: str
    """`dkim`: the letter's DKIM signature holds with this key record. `server`: our mail server said so."""
    name: str
    """Where the DNS kept the key record, or the authserv-id of our mail server."""
    record: str
    """The TXT record as the DNS gave it, or the Authentication-Results header of the letter."""

    @property
    def key(self) -> str:
        """What stands in a receipt where else the fingerprint of a key does."""
        return f"{self.by}:{self.name}"

    def text(self) -> str:
        """The file whose SHA-256 the opening, receipt or entry names."""
        return f"{_title('evidence', self.place)}\n{_head(self, _names(Evidence))}"

    @classmethod
    def read(cls, text: str) -> Evidence:
        """The evidence of this very text; raises `NotAPaper`."""
        evidence = cls(**_values("evidence", text.removesuffix("\n"), _names(cls)))
        if evidence.text() != text or evidence.by not in {"dkim", "server"}:
            raise NotAPaper("not as evidence is written")
        return evidence


@dataclass(frozen=True, slots=True)
class NamedMailbox:
    """Whose mailbox a seat's letters must come from: what the transcript holds is its hash, which may be shown.

    The salt keeps those who have the transcript, but not this paper, from trying addresses.
    """

    server: str
    match: str
    seat: int
    player: str
    address: str
    """In lower case."""
    salt: str

    def text(self) -> str:
        """The file whose SHA-256 stands in the transcript."""
        return f"pbem mailbox 2\n{_head(self, _names(NamedMailbox))}"

    @classmethod
    def read(cls, text: str) -> NamedMailbox:
        """The mailbox of this very text; raises `NotAPaper`."""
        named = cls(**_typed(_values("mailbox", text.removesuffix("\n"), _names(cls))))
        if named.text() != text:
            raise NotAPaper("not as a mailbox is written")
        return named


def mailbox_before(server: str, match: str, address: str) -> str:
    """What stood for a mailbox in the transcripts of `bundle 1`: a hash without salt."""
    text = f"pbem mailbox 1\nserver {server}\nmatch {match}\naddress {address.lower()}\n"
    return digest(text.encode("utf-8", "replace"))


_Paper = Evidence | NamedMailbox | Opening | Receipt | Withdrawal

_OPTIONAL = ("evidence", "orders")
"""Lines that stand in some papers of a kind only."""

_SECOND = {"opening": ("received", "rev"), "receipt": ("received",), "evidence": ("place",)}
"""The lines of version 2 of a kind that version 1 did not have."""

_VERSIONS = {"withdrawal": ("1",), "mailbox": ("2",)}
"""The versions of the kinds that have one alone."""

_SALTED_BEFORE = ("opening", "receipt")
"""The kinds whose first version was written when any salt would do."""

_TIME = "%Y-%m-%dT%H:%M:%SZ"

_NUMBERS = frozenset({"game", "turn", "seat", "rev"})

_NAMES = {
    paper: [each.name for each in fields(paper)] for paper in (Evidence, NamedMailbox, Opening, Receipt, Withdrawal)
}


def _names(paper: type[_Paper]) -> list[str]:
    return _NAMES[paper]


def _title(kind: str, second: str) -> str:
    return f"pbem {kind} {2 if second else 1}"


def _head(paper: _Paper, names: list[str]) -> str:
    given = ((name, getattr(paper, name)) for name in names)
    may_lack = {*_OPTIONAL, "received", "place"} | ({"rev"} if isinstance(paper, Opening) else set())
    return "".join(f"{name} {value}\n" for name, value in given if value or name not in may_lack)


def _values(kind: str, head: str, names: list[str]) -> dict[str, str]:
    lines = head.split("\n")
    there = {line.partition(" ")[0] for line in lines}
    versions = [one for one in _VERSIONS.get(kind, ("1", "2")) if lines[0] == f"pbem {kind} {one}"]
    if not versions:
        raise NotAPaper(f"not 'pbem {kind}'")
    later = _SECOND.get(kind, ()) if versions == ["1"] else ()
    names = [name for name in names if name not in later and (name not in _OPTIONAL or name in there)]
    if len(lines) != len(names) + 1:
        raise NotAPaper(f"not the lines of {lines[0]!r}")
    values: dict[str, str] = {}
    for name, line in zip(names, lines[1:], strict=True):
        key, _, value = line.partition(" ")
        if key != name:
            raise NotAPaper(f"no {name}")
        values[name] = value
    if kind != "evidence" and "received" in values and not _is_time(values["received"]):
        raise NotAPaper("received is no time")
    if "salt" in values and kind in _SALTED_BEFORE and versions == ["1"]:
        return values
    if "salt" in values and not SALT.fullmatch(values["salt"]):
        raise NotAPaper("salt is none")
    return values


def _is_time(text: str) -> bool:
    """Whether this is a time as all of a bundle write it; of evidence, that is judged with what else must hold."""
    try:
        return f"{datetime.strptime(text, _TIME):{_TIME}}" == text  # noqa: DTZ007 - it says that it is in UTC
    except ValueError:
        return False


def _typed(values: dict[str, str]) -> dict[str, Any]:
    """The values with their numbers as such."""
    return {name: _number(name, value) if name in _NUMBERS else value for name, value in values.items()}


def _number(name: str, value: str) -> int:
    if not (value.isascii() and value.isdigit() and len(value) < 10):
        raise NotAPaper(f"{name} is no number")
    return int(value)
