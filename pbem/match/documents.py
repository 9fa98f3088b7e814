"""The small text files of a match that are hashed: openings, receipts, withdrawals, mailboxes and their evidence.

All are lines of `key value`, some with a block at the end, so that `sha256sum -c` is a complete verifier and
a person can read them. The salt prevents guessing from the hash. Each kind has two versions: papers of matches that
began before bundles said when letters were received (`bundle 1`) are read and made as they were then. Implements
protocol.md, "Commitments" and "Identity"; docs/bundle.md has every line.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, fields
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any

from pbem.match.transcript import is_time, sha256_hex

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

__all__ = ["SALT", "Evidence", "NamedMailbox", "NotADocument", "Opening", "Receipt", "Withdrawal", "mailbox_before"]


SALT = re.compile(r"[0-9a-f]{64}")
"""A salt of a paper of version 2: 256 random bits."""


class NotADocument(ValueError):
    """The text is not an opening, receipt or other document as this module writes it."""


@dataclass(frozen=True, slots=True)
class Opening:
    """An opening opens a commitment: it has a setup, where it belongs, the letter that brought it, and a salt."""

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
        return f"{_title('opening', self.received)}\n{_head(self)}setup\n{self.setup}\nend\n"

    @classmethod
    def read(cls, text: str) -> Opening:
        """The opening of this very text; raises `NotADocument`."""
        return cls(**_values("opening", text))


@dataclass(frozen=True, slots=True)
class Receipt:
    """A receipt represents orders until their turn is resolved: where they belong, their letter, and a salt."""

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
        """Whether these are orders for any missed turn."""
        return self.orders == "default"

    def text(self) -> str:
        """The file whose SHA-256 stands in the transcript."""
        return f"{_title('receipt', self.received)}\n{_head(self)}"

    @classmethod
    @lru_cache(maxsize=16)  # asked for when a turn is made again, and when it is told of
    def read(cls, text: str) -> Receipt:
        """The receipt of this very text; raises `NotADocument`."""
        return cls(**_values("receipt", text))


@dataclass(frozen=True, slots=True)
class Withdrawal:
    """A withdrawal says that a setup (turn 0), orders or default orders were withdrawn, by which letter, and when."""

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
        """Whether default orders were withdrawn."""
        return self.orders == "default"

    def text(self) -> str:
        """The file whose SHA-256 stands in the transcript."""
        return f"pbem withdrawal 1\n{_head(self)}"

    @classmethod
    def read(cls, text: str) -> Withdrawal:
        """The withdrawal of this very text; raises `NotADocument`."""
        return cls(**_values("withdrawal", text))


@dataclass(frozen=True, slots=True)
class Evidence:
    """Why a letter counts at level `mailbox`: who vouched for its From, and in which words."""

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
        """The value in a receipt that takes the place of a key's fingerprint."""
        return f"{self.by}:{self.name}"

    def text(self) -> str:
        """The file whose SHA-256 the opening, receipt or entry names."""
        return f"{_title('evidence', self.place)}\n{_head(self)}"

    @classmethod
    def read(cls, text: str) -> Evidence:
        """The evidence of this very text; raises `NotADocument`."""
        return cls(**_values("evidence", text))


@dataclass(frozen=True, slots=True)
class NamedMailbox:
    """The mailbox from which a seat's letters must come; the transcript holds only its hash, which may be shown.

    The salt prevents readers of the transcript who do not have this paper from trying addresses.
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
        return f"pbem mailbox 2\n{_head(self)}"

    @classmethod
    def read(cls, text: str) -> NamedMailbox:
        """The mailbox of this very text; raises `NotADocument`."""
        return cls(**_values("mailbox", text))


def mailbox_before(server: str, match: str, address: str) -> str:
    """The value for a mailbox in transcripts of `bundle 1`: a hash without salt."""
    text = f"pbem mailbox 1\nserver {server}\nmatch {match}\naddress {address.lower()}\n"
    return sha256_hex(text.encode("utf-8", "replace"))


_Paper = Evidence | NamedMailbox | Opening | Receipt | Withdrawal

_OPTIONAL = frozenset({"evidence", "orders"})
"""Lines that stand in some papers of a kind only."""

_SECOND = frozenset({"received", "rev", "place"})
"""The lines of version 2 of some kinds that version 1 did not have; but the revision was always in a receipt."""

_SALTED_BEFORE = frozenset({Opening, Receipt})
"""The kinds whose first version was written when any salt would do."""

_NUMBERS = frozenset({"game", "turn", "seat", "rev"})

_NAMES: Mapping[type[_Paper], tuple[str, ...]] = {
    paper: tuple(each.name for each in fields(paper) if each.name != "setup")
    for paper in (Evidence, NamedMailbox, Opening, Receipt, Withdrawal)
}

_MAY_LACK: Mapping[type[_Paper], frozenset[str]] = {
    paper: _OPTIONAL | _SECOND - (set() if paper is Opening else {"rev"}) for paper in _NAMES
}
"""The lines that are left out where they have no value."""


def _title(kind: str, second: str) -> str:
    return f"pbem {kind} {2 if second else 1}"


def _head(paper: _Paper) -> str:
    kind = type(paper)
    may_lack = _MAY_LACK[kind]
    given = [(name, getattr(paper, name)) for name in _NAMES[kind]]
    return "".join([f"{name} {value}\n" for name, value in given if value or name not in may_lack])


def _form(kind: str, version: int, paper: type[_Paper], without: Collection[str] = ()) -> str:
    """The regular expression for the lines of a paper exactly as they are written."""
    may_lack = _MAY_LACK[paper]
    lines = [f"pbem {kind} {version}\n"]
    for name in _NAMES[paper]:
        value = ".+" if name in may_lack else ".*"
        if name in _NUMBERS:
            value = "[1-9][0-9]{0,8}" if name in may_lack else "0|[1-9][0-9]{0,8}"
        value = _WORDS.get(name, value)
        if name == "salt" and not (version == 1 and paper in _SALTED_BEFORE):
            value = SALT.pattern
        if name not in without:
            lines.append(f"(?:{name} (?P<{name}>{value})\n){'?' if name in _OPTIONAL else ''}")
    if paper is Opening:
        lines.append(r"setup\n(?P<setup>(?s:.*))\nend\n")
    return "".join(lines)


_WORDS = {"by": "dkim|server", "orders": "default"}
"""The words that may be the values of some lines."""

_FORMS: Mapping[str, Callable[[], Sequence[Callable[[str], re.Match[str] | None]]]] = {
    "opening": lambda: (
        re.compile(_form("opening", 2, Opening)).fullmatch,
        re.compile(_form("opening", 1, Opening, ("received", "rev"))).fullmatch,
    ),
    "receipt": lambda: (
        re.compile(_form("receipt", 2, Receipt)).fullmatch,
        re.compile(_form("receipt", 1, Receipt, ("received",))).fullmatch,
    ),
    "withdrawal": lambda: (re.compile(_form("withdrawal", 1, Withdrawal)).fullmatch,),
    "evidence": lambda: (
        re.compile(_form("evidence", 2, Evidence)).fullmatch,
        re.compile(_form("evidence", 1, Evidence, ("place",))).fullmatch,
    ),
    "mailbox": lambda: (re.compile(_form("mailbox", 2, NamedMailbox)).fullmatch,),
}
"""Each kind in its versions, the latest first."""


@cache
def _forms(kind: str) -> Sequence[Callable[[str], re.Match[str] | None]]:
    """The versions of a kind, compiled when its first paper is read: few programs read all kinds."""
    return _FORMS[kind]()


def _values(kind: str, text: str) -> dict[str, Any]:
    """The values in the lines of a paper of this kind; raises `NotADocument`."""
    found = next(filter(None, (fits(text) for fits in _forms(kind))), None)
    if found is None:
        raise NotADocument(f"not as a paper 'pbem {kind}' is written")
    values: dict[str, Any] = {
        name: int(value) if name in _NUMBERS else value
        for name, value in found.groupdict().items()
        if value is not None
    }
    # That of evidence is judged with what else must hold.
    if kind != "evidence" and "received" in values and not is_time(values["received"]):
        raise NotADocument("received is no time")
    return values


def salt_in(paper: bytes) -> str:
    """The salt in a paper. The paper is not parsed, but compared with the one that is made with this salt."""
    if paper.startswith(b"{"):
        return paper.rpartition(b'"salt":"')[2].partition(b'"')[0].decode()
    return paper.partition(b"\nsalt ")[2].partition(b"\n")[0].decode()


def level_in_words(level: str, key: str) -> str:
    """A level, and at `mailbox` who vouches for it."""
    if level != "mailbox":
        return level
    by_server = key.startswith("server:")
    return f"mailbox, {'by the word of the server' if by_server else 'DKIM with the key record that the server kept'}"
