"""Minisign keys and signatures, prehashed and legacy, and signify's, which are the legacy ones without a comment.

Only bytes and keys live here: `judge` finds out which text of a letter is signed. Implements
https://jedisct1.github.io/minisign (signature format) and signify(1); protocol.md, "Identity".
"""

from __future__ import annotations

import base64
import hashlib
import re
from typing import TYPE_CHECKING

import msgspec

from pbem.identity.ed25519_points import WEAK, holds, is_sound
from pbem.identity.verdict import BadKey, BadSignature, Key, State
from pbem.phrase import Phrase

if TYPE_CHECKING:
    from datetime import datetime

COMMENT = "untrusted comment:"
PUBLIC = re.compile(r"RW[A-Za-z0-9+/]{54}")
_LINE = r"[A-Za-z0-9+/](?:\s*+[A-Za-z0-9+/]){%d}(?:\s*+=){%d}"
# 74 and 64 octets in base64, however a mail program broke the line.
_BENEATH_COMMENT = re.compile(
    r"\n\s*+(?P<signature>R[UW]" + _LINE % (96, 1) + r")[^\S\n]*+"
    r"(?:\n\s*+trusted comment:[^\S\n]?(?P<comment>[^\n]*+(?:\n(?![A-Za-z0-9+/=]{40})[^\n]*+)?)"
    r"\n\s*+(?P<whole>" + _LINE % (85, 2) + r"))?"
)


def parse(data: str) -> Key:
    """Read a public key file, or its second line alone; raises `BadKey`."""
    lines = [line.strip() for line in data.strip().splitlines() if line.strip()]
    comment = ""
    if lines and lines[0].startswith(COMMENT):
        comment = lines.pop(0).removeprefix(COMMENT).strip()[:80]
    public = "".join(lines)
    if "secret key" in comment or "encrypted" in comment or len(public) > 100:
        raise BadKey(
            Phrase("This is not a minisign public key: send your minisign.pub, and keep minisign.key to yourself.")
        )
    if not PUBLIC.fullmatch(public):
        raise BadKey(Phrase("This minisign key is damaged: send the two lines of your minisign.pub."))
    raw = base64.b64decode(public)
    if raw[:2] != b"Ed":
        raise BadKey(Phrase("Only minisign's Ed25519 keys are supported."))
    if not is_sound(raw[10:]):
        raise BadKey(WEAK)
    return Key("minisign", public, public, comment)


def beneath(text: str, comment: int) -> re.Match[str] | None:
    """The signature below the untrusted comment that begins at a place of a text, up to its last line."""
    end = text.find("\n", comment)
    return _BENEATH_COMMENT.match(text, end) if end >= 0 else None


class MinisignSignature(msgspec.Struct, frozen=True):
    """A signature file taken apart."""

    prehashed: bytes
    """Algorithm: ED over the BLAKE2b hash, Ed over the text itself."""
    key_id: bytes
    signature: bytes
    comments: tuple[bytes, ...]
    """The trusted comment, in the ways in which it may have been written before it was mailed."""
    whole: bytes | None
    """Signature over signature and trusted comment; signify has neither."""

    @property
    def issuer(self) -> str:
        """The key's number as minisign prints it."""
        return self.key_id[::-1].hex().upper()

    def claims(self, key: Key) -> bool:
        """True if the signature names this key."""
        return base64.b64decode(key.public)[2:10] == self.key_id

    def covers(self, key: Key, message: bytes, _at: datetime | None) -> tuple[bytes, State] | None:
        """The signed bytes; None if the signature, or the one over the trusted comment, does not hold."""
        public = base64.b64decode(key.public)[10:]
        data = hashlib.blake2b(message).digest() if self.prehashed == b"ED" else message
        if not holds(public, self.signature, data):
            return None
        if self.whole is not None and not any(
            holds(public, self.whole, self.signature + comment) for comment in self.comments
        ):
            return None
        return message, "pinned"


def read(text: str) -> MinisignSignature:
    """Take apart a signature; raises `BadSignature`."""
    match = beneath(text.strip() + "\n", 0) if text.strip().startswith(COMMENT) else None
    damaged = BadSignature(Phrase("The minisign signature is damaged: paste or attach all its four lines."), "bad")
    if match is None:
        raise damaged
    if text.strip()[match.end() :].strip():
        raise damaged
    raw = base64.b64decode("".join(match["signature"].split()))
    if match["whole"] is None:
        # Minisign always signs a trusted comment; a prehashed signature without one was cut.
        if raw[:2] != b"Ed":
            raise damaged
        return MinisignSignature(raw[:2], raw[2:10], raw[10:], (), None)
    comment = match["comment"]
    ways = dict.fromkeys((comment, comment.rstrip(), " ".join(comment.split())))
    whole = base64.b64decode("".join(match["whole"].split()))
    return MinisignSignature(
        raw[:2], raw[2:10], raw[10:], tuple(way.encode("utf-8", "replace") for way in ways), whole
    )
