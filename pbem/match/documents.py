"""The small text files of a match that are hashed: openings, receipts, traces, evidence, replies and others.

All are lines of `key value`, some with a block at the end, so that `sha256sum -c` is a complete verifier and a person
can read them; a salt prevents guessing from the hash. Implements docs/bundle.md, which has every line.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any, ClassVar, Self

import msgspec

from pbem.match.transcript import is_time, sha256_hex
from pbem.requests import DEFAULT

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from pbem.match.state import Match
    from pbem.match.step import Signed

SALT = re.compile(r"[0-9a-f]{64}")
"""A salt: 256 random bits."""

SIGNED_TEXT = ".signed.txt"
"""The end of the names of files with what was signed in a letter."""


def text_name(match: str, letter: str) -> str:
    """The name of the file with what was signed in a letter, by its path."""
    return f"{match}-{letter.removeprefix('letters/').removesuffix('.eml')}{SIGNED_TEXT}"


_OPTIONAL = frozenset({"branch", "evidence", "orders"})
"""Lines that stand in some papers of a kind only."""

_NUMBERS = frozenset({"game", "turn", "seat", "rev"})

_VALUES = {
    "branch": "[1-8]",
    "by": "dkim|server",
    "evidence": ".+",
    "orders": "default",
    "place": ".+",
    "received": ".+",
    "salt": SALT.pattern,
}
"""The values of lines that hold no number and not just any text."""


class NotADocument(ValueError):
    """The text is not an opening, receipt or other document as this module writes it."""


class _Paper(msgspec.Struct, frozen=True, kw_only=True):
    """A kind of paper: a title, a line for each field in order, and in an opening the setup."""

    TITLE: ClassVar[str]
    """Kind and version."""

    def text(self) -> str:
        """The file whose SHA-256 stands in the transcript or in another paper."""
        given = [(name, getattr(self, name)) for name in self._lines()]
        lines = [f"{name} {value}\n" for name, value in given if value or name not in _OPTIONAL]
        return "".join([f"pbem {self.TITLE}\n", *lines])

    @classmethod
    def read(cls, text: str) -> Self:
        """The paper of this very text; raises `NotADocument`."""
        return cls(**cls._values(text))

    @classmethod
    @cache
    def _lines(cls) -> list[str]:
        """The names of a paper's lines."""
        return [name for name in cls.__struct_fields__ if name != "setup"]

    @classmethod
    @cache
    def _form(cls) -> re.Pattern[str]:
        """The lines of a paper, and the setup of an opening, exactly as they are written.

        Compiled when the first paper of its kind is read: few programs read all kinds.
        """
        lines = [f"pbem {cls.TITLE}\n"]
        for name in cls._lines():
            value = _VALUES.get(name, "0|[1-9][0-9]{0,8}" if name in _NUMBERS else ".*")
            if cls is Opening and name == "rev":
                value = "[1-9][0-9]{0,8}"
            lines.append(f"(?:{name} (?P<{name}>{value})\n){'?' if name in _OPTIONAL else ''}")
        if cls is Opening:
            lines.append(r"setup\n(?P<setup>(?s:.*))\nend\n")
        return re.compile("".join(lines))

    @classmethod
    @lru_cache(maxsize=16)  # a receipt is read when its turn is made again, and when it is reported
    def _values(cls, text: str) -> dict[str, Any]:
        """The values in the lines of a paper of this kind; raises `NotADocument`."""
        found = cls._form().fullmatch(text)
        if found is None:
            raise NotADocument(f"not as a paper 'pbem {cls.TITLE.split()[0]}' is written")
        values: dict[str, Any] = {
            name: int(value) if name in _NUMBERS else value
            for name, value in found.groupdict().items()
            if value is not None
        }
        # That of evidence is judged with what else must hold.
        if cls is not Evidence and "received" in values and not is_time(values["received"]):
            raise NotADocument("received is no time")
        return values


class Opening(_Paper, frozen=True, kw_only=True):
    """An opening opens a commitment: it has a setup, where it belongs, the letter that brought it, and a salt."""

    TITLE = "opening 1"

    server: str
    match: str
    game: int
    seat: int
    player: str
    rules: str
    mail: str
    evidence: str = ""
    """SHA-256 of the evidence for the letter, where it came at level `mailbox`; else the line is not there."""
    received: str
    """The time of the letter's arrival, UTC to the second."""
    rev: int
    """The revision of the setup, at least 1."""
    salt: str
    setup: str

    @property
    def level(self) -> str:
        """The level of the letter: `key` or `mailbox`."""
        return "mailbox" if self.evidence else "key"

    def text(self) -> str:
        """The file whose SHA-256 is the commitment."""
        return f"{_Paper.text(self)}setup\n{self.setup}\nend\n"


class _OfOrders(_Paper, frozen=True, kw_only=True):
    """The lines of a receipt and a withdrawal: where the orders belong, the letter that brought them, and a salt."""

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
    evidence: str = ""
    """SHA-256 of the evidence for the letter, where it came at level `mailbox`; else the line is not there."""
    orders: str = ""
    """`default` where they are default orders, of turn 0 until they are played; else the line is not there."""
    received: str
    """The time of the letter's arrival, UTC to the second."""
    salt: str

    @classmethod
    def of(cls, match: Match, seat: int, turn: int, rev: int | None, signed: Signed, salt: str) -> Self:
        """The paper about what a seat signed for a turn."""
        return cls(
            server=match.server,
            match=match.id,
            game=match.game,
            turn=turn,
            seat=seat,
            player=match.name(seat),
            rev=rev or 1,
            level=signed.level,
            key=signed.key,
            mail=signed.hash,
            evidence=signed.evidence_hash,
            orders="default" if match.phase == "playing" and turn == DEFAULT else "",
            received=signed.received,
            salt=salt,
        )

    @property
    def by_default(self) -> bool:
        """True if they are orders for any missed turn."""
        return self.orders == "default"


class Receipt(_OfOrders, frozen=True, kw_only=True):
    """A receipt represents orders until their turn is resolved."""

    TITLE = "receipt 1"

    branch: str = ""
    """The branch of conditional orders that counts, once that is known; else the line is not there."""


class Withdrawal(_OfOrders, frozen=True, kw_only=True):
    """A withdrawal says that a setup (turn 0), orders or default orders were withdrawn, by which letter, and when."""

    TITLE = "withdrawal 1"


class Evidence(_Paper, frozen=True, kw_only=True):
    """The evidence that lets a letter count at level `mailbox`: who verified its From, and in which words."""

    TITLE = "evidence 1"

    server: str
    match: str
    player: str
    mail: str
    """SHA-256 of the letter."""
    received: str
    """UTC to the second: by then the signature must not have expired."""
    token: str
    """SHA-256 of the single-use reply token that the letter brought back."""
    place: str
    """The place that the letter with the token was about, as `game 1 turn 5`."""
    by: str
    """`dkim`: the letter's DKIM signature holds with this key record. `server`: our mail server said so."""
    name: str
    """The DNS name of the key record, or the authserv-id of our mail server."""
    record: str
    """The TXT record as the DNS gave it, or the Authentication-Results header of the letter."""

    @property
    def key(self) -> str:
        """The value in a receipt that takes the place of a key's fingerprint."""
        return f"{self.by}:{self.name}"


class NamedMailbox(_Paper, frozen=True, kw_only=True):
    """The mailbox from which a seat's letters must come; the transcript holds only its hash, which may be shown.

    The salt prevents readers of the transcript who do not have this paper from trying addresses.
    """

    TITLE = "mailbox 1"

    server: str
    match: str
    seat: int
    player: str
    address: str
    """In lower case."""
    salt: str


class Replies(_Paper, frozen=True, kw_only=True):
    """The secret of the reply addresses of a turn, which nobody can guess from its hash: see `pbem.match.asking`."""

    TITLE = "replies 1"

    server: str
    match: str
    salt: str


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


_TRACE = (
    r"pbem trace 1\nserver (\S+)\nmatch (\S+)\ngame ([0-9]{1,9})\nturn ([0-9]{1,9})\nsalt ([0-9a-f]{64})\n"
    r"((?:[0-9a-f]{64}  (?:receipts|withdrawals)/[a-z0-9-]+\.txt\n)*)"
)


class SetAside(msgspec.Struct, frozen=True):
    """One letter that was set aside, and its paper: a withdrawal, or the receipt of unused orders."""

    paper: str
    letter: bytes
    evidence: bytes = b""

    @property
    def unused_default(self) -> bool:
        """True if these are default orders that could not be played."""
        paper = read_set_aside(self.paper)
        return isinstance(paper, Receipt) and paper.by_default

    @property
    def stem(self) -> str:
        """The name of its files in the bundle."""
        return stem(read_set_aside(self.paper))

    @property
    def path(self) -> str:
        """The path of the paper in the bundle."""
        return (
            f"{'withdrawals' if isinstance(read_set_aside(self.paper), Withdrawal) else 'receipts'}/{self.stem}.txt"
        )

    @property
    def hash(self) -> str:
        """SHA-256 of the paper."""
        return sha256_hex(self.paper.encode())


def read_set_aside(text: str) -> Receipt | Withdrawal:
    """The paper of something that was set aside; raises `NotADocument`."""
    return Withdrawal.read(text) if text.startswith("pbem withdrawal ") else Receipt.read(text)


def stem(paper: Receipt | Withdrawal) -> str:
    """The name of the files of something that was set aside."""
    what = "default" if paper.by_default else f"turn-{paper.turn}" if paper.turn else "setup"
    kind = "withdrawn" if isinstance(paper, Withdrawal) else "unused"
    return f"game-{paper.game}-{what}-{kind}-seat-{paper.seat}-rev-{paper.rev}"


class Trace(msgspec.Struct, frozen=True):
    """The list of what was set aside for a turn (0: for the setups), by path and hash."""

    server: str
    match: str
    game: int
    turn: int
    salt: str
    named: Mapping[str, str]

    @classmethod
    def of(cls, place: tuple[str, str, int, int], salt: str, found: Iterable[SetAside]) -> Trace:
        """The trace of these, at server, match, game and turn."""
        return cls(*place, salt, {one.path: one.hash for one in found})

    def text(self) -> str:
        """The file whose SHA-256 the entry names."""
        lines = "".join(f"{value}  {path}\n" for path, value in sorted(self.named.items()))
        head = f"server {self.server}\nmatch {self.match}\ngame {self.game}\nturn {self.turn}\nsalt {self.salt}\n"
        return f"pbem trace 1\n{head}{lines}"

    @classmethod
    def read(cls, text: str) -> Trace:
        """The trace of this very text; raises `NotADocument`."""
        found = re.fullmatch(_TRACE, text)
        if found is None:
            raise NotADocument("not 'pbem trace 1'")
        named = {path: sha256 for sha256, path in (line.split("  ") for line in found[6].splitlines())}
        trace = cls(found[1], found[2], int(found[3]), int(found[4]), found[5], named)
        if trace.text() != text:  # neither sorted nor each once
            raise NotADocument("not as a trace is written")
        return trace
