"""The signed note: a text with signature lines, each by a named key.

Implements C2SP signed-note for Ed25519, and the timestamped signatures of C2SP tlog-cosignature (cosignature/v1).
Other programs can read what is written here, and what they write is read here.
"""

from __future__ import annotations

import base64
import binascii
import re
from typing import TYPE_CHECKING

import msgspec

from pbem.identity import ed25519_points
from pbem.verifier_key import COSIGNATURE, LOG, MOST_SIGNATURES, VerifierKey

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

_CONTROL = re.compile(r"[\x00-\x09\x0b-\x1f]")
_LINE = re.compile(r"— ([^\s+\x7f]{1,253}) ([A-Za-z0-9+/]{8,6800}={0,2})")
_OCTETS = {LOG: 64, COSIGNATURE: 72}
_TIMES = 1 << 63
"""The end of the range of cosignatures' times (C2SP tlog-cosignature)."""


class NotANote(ValueError):
    """The text is not a signed note as C2SP defines it; the message says why."""


class NoteSignature(msgspec.Struct, frozen=True):
    """A signature line: the name and id of its key, and the signature itself."""

    name: str
    id: bytes
    content: bytes

    @classmethod
    def read(cls, line: str) -> NoteSignature:
        """The signature of this line; raises `NotANote`."""
        found = _LINE.fullmatch(line)
        try:
            content = base64.b64decode(found[2], validate=True) if found else b""
        except binascii.Error as error:
            raise NotANote("no signature line") from error
        if found is None or len(content) <= 4 or base64.b64encode(content).decode() != found[2]:
            raise NotANote("no signature line")
        return cls(found[1], content[:4], content[4:])

    def __str__(self) -> str:
        return f"— {self.name} {base64.b64encode(self.id + self.content).decode()}"

    @property
    def time(self) -> int:
        """The time of a witness's signature, in seconds since 1970."""
        return int.from_bytes(self.content[:8], "big")


class Note(msgspec.Struct, frozen=True):
    """A text, which ends with a line end, and its signatures."""

    text: str
    signatures: tuple[NoteSignature, ...]

    @classmethod
    def read(cls, content: str) -> Note:
        """The note in this text; raises `NotANote`. Signatures are not verified here."""
        text, blank, lines = content.rpartition("\n\n")
        if not blank or not lines.endswith("\n") or _CONTROL.search(content):
            raise NotANote("a note is a text, an empty line, and lines of signatures")
        signatures = tuple(map(NoteSignature.read, lines.removesuffix("\n").split("\n")))
        if len(signatures) > MOST_SIGNATURES:
            raise NotANote("too many signatures")
        return cls(text + "\n", signatures)

    def __str__(self) -> str:
        return f"{self.text}\n" + "".join(f"{signature}\n" for signature in self.signatures)

    def by(self, key: VerifierKey) -> NoteSignature | None:
        """The valid signature by this key; None if there is none."""
        found = [one for one in self.signatures if (one.name, one.id) == (key.name, key.id)]
        return found[0] if found and all(holds(key, self.text, one) for one in found) else None

    def with_(self, *more: NoteSignature) -> Note:
        """The note with these signatures added."""
        return Note(self.text, (*self.signatures, *more))


def holds(key: VerifierKey, text: str, signature: NoteSignature) -> bool:
    """True if a key signed a text; for a witness, at the time in the signature."""
    content = signature.content
    if len(content) != _OCTETS[key.kind] or (key.kind == COSIGNATURE and signature.time >= _TIMES):
        return False
    return ed25519_points.holds(key.public, content[-64:], _message(key.kind, text, signature))


def signed(name: str, key: Ed25519PrivateKey, text: str) -> NoteSignature:
    """The signature of a log under a text."""
    own = VerifierKey(name, LOG, key.public_key().public_bytes_raw())
    return NoteSignature(name, own.id, key.sign(text.encode()))


def cosigned(name: str, key: Ed25519PrivateKey, text: str, time: int) -> NoteSignature:
    """The signature of a witness under a text, at a time in seconds since 1970."""
    own = VerifierKey(name, COSIGNATURE, key.public_key().public_bytes_raw())
    at = time.to_bytes(8, "big")
    return NoteSignature(name, own.id, at + key.sign(_message(COSIGNATURE, text, NoteSignature(name, own.id, at))))


def _message(kind: int, text: str, signature: NoteSignature) -> bytes:
    """The bytes that are actually signed."""
    return (f"cosignature/v1\ntime {signature.time}\n" if kind == COSIGNATURE else "").encode() + text.encode()
