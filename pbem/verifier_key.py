"""The public key of a log or of a witness, with its name: operators and doubters are told which ones to believe.

Implements C2SP signed-note, "Verifier keys", for Ed25519.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import re

import msgspec

LOG = 1
"""The signature type of a log's own Ed25519 key."""

COSIGNATURE = 4
"""The signature type of a witness: Ed25519, with the time."""

MOST_SIGNATURES = 16
"""The most lines of signatures that a note has: a reader need not take more."""

_NAME = re.compile(r"[^\s+\x00-\x20\x7f]{1,253}")


class VerifierKey(msgspec.Struct, frozen=True):
    """A public key with its name and signature type, written as `name+hash+key` (a vkey)."""

    name: str
    kind: int
    public: bytes

    @classmethod
    def read(cls, text: str) -> VerifierKey:
        """The key of this very text; raises ValueError."""
        parts = text.strip().split("+", 2)
        try:
            name, given, encoded = parts
            content = base64.b64decode(encoded, validate=True)
        except (ValueError, binascii.Error) as error:
            raise ValueError(f'"{text}" is no key of a log or a witness, written name+hash+key') from error
        if not _NAME.fullmatch(name) or len(content) != 33 or content[0] not in {LOG, COSIGNATURE}:
            raise ValueError("no Ed25519 key of a log or a witness")
        found = cls(name, content[0], content[1:])
        if given != found.id.hex() or str(found) != text.strip():
            raise ValueError("the hash in the key is not that of its name and content")
        return found

    @property
    def id(self) -> bytes:
        """The four octets by which signature lines name it."""
        return hashlib.sha256(self.name.encode() + b"\n" + bytes([self.kind]) + self.public).digest()[:4]

    def __str__(self) -> str:
        encoded = base64.b64encode(bytes([self.kind]) + self.public).decode()
        return f"{self.name}+{self.id.hex()}+{encoded}"
