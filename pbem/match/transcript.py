"""The transcript of a match: an append-only chain of entries, each with the hash of the one before it.

Here live the canonical bytes of an entry, its head, the statements about heads and papers that the server signs, and
the check of a whole chain. Nothing here knows what an entry means. Implements protocol.md, "Transcript".
"""

from __future__ import annotations

import hashlib
import json
from datetime import UTC, datetime
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar, Self

import msgspec

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pbem.json_object import JsonObject

BEFORE = "0" * 64
"""The head before the first entry."""


VERSION = 1
"""The version of transcripts, which entry 1 names: `bundle` in one of a match, `register` in one of a tournament."""


class TranscriptError(Exception):
    """A transcript that does not prove what it says: the entry, the file (if one is to blame), and the reason."""

    def __init__(self, seq: int, path: str | None, reason: str) -> None:
        super().__init__(f"entry {seq}: {path + ': ' if path else ''}{reason}")
        self.seq = seq
        self.path = path
        self.reason = reason


class BrokenChain(TranscriptError):
    """An entry does not follow from the one before it."""


class Entry(msgspec.Struct, frozen=True, dict=True):  # in its dictionary it remembers its head
    """One entry: its number from 1, the head before it, its UTC time, its type and its (immutable) body."""

    TAG: ClassVar[bytes] = b"pbem entry 1\n"
    """The line that is hashed before an entry, so that no head is that of anything else."""

    seq: int
    prev: str
    time: str
    type: str
    body: JsonObject

    def canonical(self) -> bytes:
        """The bytes that are hashed: see `canonical`."""
        return canonical(msgspec.structs.asdict(self))

    @cached_property
    def head(self) -> str:
        """The head of the chain after this entry: SHA-256 over a tag and the canonical bytes, in hex."""
        return sha256_hex(self.TAG + self.canonical())

    @classmethod
    def read(cls, line: bytes) -> Self:
        """The entry of these canonical bytes; raises ValueError if they are anything else."""
        found = _DECODER.decode(line.decode("ascii"))
        if not isinstance(found, dict) or sorted(found) != sorted(cls.__struct_fields__):
            raise ValueError("not an entry")
        entry = cls(**found)
        texts = (entry.prev, entry.time, entry.type)
        is_text = all(isinstance(text, str) and text.isascii() for text in texts)
        if type(entry.seq) is not int or not isinstance(entry.body, dict) or not is_text:
            raise ValueError("not an entry")
        try:
            # Other kinds did not come so far; and in a line of ASCII only an escape makes a key of anything else.
            again = canonical(found) if b"\\u" in line else dumped(found)
        except TypeError as error:
            raise ValueError(str(error)) from error
        if again != line:
            raise ValueError("not the canonical bytes of an entry")
        entry.__dict__["head"] = sha256_hex(cls.TAG + line)
        return entry


def _no_number(text: str) -> None:
    raise ValueError(f"not allowed in an entry: {text[:20]}")


_DECODER = json.JSONDecoder(parse_float=_no_number, parse_constant=_no_number)
_ENCODER = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=True)
_QUICK_ENCODER = msgspec.json.Encoder(order="sorted")
"""Writes the same in a twentieth of the time, but for what must be escaped: all beyond ASCII, and DELETE."""

_DELETE = b"\x7f"


def canonical(value: object) -> bytes:
    """Canonical JSON: ASCII, sorted keys, no blanks; raises TypeError on anything but the allowed kinds."""
    _refuse_other_kinds(value)
    return dumped(value)


def dumped(value: object) -> bytes:
    """Canonical JSON of a value that is known to hold only the allowed kinds."""
    try:
        content = _QUICK_ENCODER.encode(value)
    except (TypeError, ValueError):  # a text's or a number's subclass, or half of a character
        content = _DELETE
    if content.isascii() and _DELETE not in content:
        return content
    return _ENCODER.encode(value).encode("ascii")


_LEAVES = frozenset({str, int, bool, type(None)})


def _refuse_other_kinds(value: object) -> None:
    if isinstance(value, dict):
        if not "".join(value).isascii():  # which raises for what is no text
            raise TypeError("a key that is not ASCII")
        value = value.values()
    elif not isinstance(value, (list, tuple)):
        if value is not None and not isinstance(value, (str, int)):
            raise TypeError(f"not allowed in an entry: {type(value).__name__}")
        return
    for inner in value:
        if type(inner) not in _LEAVES:
            _refuse_other_kinds(inner)


def written(time: datetime) -> str:
    """A time as entries and papers write it: UTC to the second."""
    return time.astimezone(UTC).isoformat(timespec="seconds").removesuffix("+00:00") + "Z"


def written_seconds(seconds: int) -> str:
    """The time of a cosignature, in seconds since 1970, in the format of entries."""
    try:
        return written(datetime.fromtimestamp(seconds, UTC))
    except (OverflowError, ValueError, OSError):
        return f"{seconds} s"


def utc(text: str) -> datetime:
    """The time that an entry or a paper writes; raises ValueError.

    A time that is written in another way does not come out when it is made again.
    """
    return datetime.fromisoformat(text).astimezone(UTC)


def is_time(text: str) -> bool:
    """True if this is a time as entries and papers write it."""
    try:
        return written(datetime.fromisoformat(text)) == text
    except (ValueError, OverflowError):
        return False


def sha256_hex(content: bytes) -> str:
    """SHA-256 in hex, as `sha256sum` prints it."""
    return hashlib.sha256(content).hexdigest()


def statement(server: str, match: str, seq: int, head: str) -> bytes:
    """The text about a head that the server signs with its Ed25519 key."""
    return f"pbem head 1\nserver {server}\nmatch {match}\nseq {seq}\nhead {head}\n".encode()


def voucher(server: str, match: str, sha256: str) -> bytes:
    """The text about a paper, by its hash, that the server signs in the letter that brings it."""
    return f"pbem paper 1\nserver {server}\nmatch {match}\nsha256 {sha256}\n".encode()


def announcement(server: str, sha256: str) -> bytes:
    """The text about a letter's bulletin, by its hash, that the server signs in that letter."""
    return f"pbem bulletin 1\nserver {server}\nsha256 {sha256}\n".encode()


def follow(entries: Iterable[Entry]) -> str:
    """Check that entries form one chain from its start; the last head; raises `BrokenChain`."""
    head = BEFORE
    for number, entry in enumerate(entries, start=1):
        if entry.seq != number:
            raise BrokenChain(number, None, f"has the number {entry.seq}")
        if entry.prev != head:
            raise BrokenChain(number, None, "does not name the head before it")
        head = entry.head
    return head
