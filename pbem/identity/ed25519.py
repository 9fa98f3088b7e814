"""Bare Ed25519 keys and signatures, as `openssl pkeyutl -sign -rawin` makes them: 64 octets over the text itself.

Only bytes and keys live here: `judge` finds out which text of a letter is signed. In a letter, the
signature is a line `signature: ` with base64 below the text; as a file, it is the octets or their base64.
Implements RFC 8032 and RFC 8410; protocol.md, "Identity".
"""

from __future__ import annotations

import base64
import re
from typing import TYPE_CHECKING

import msgspec
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from pbem.identity.ed25519_points import WEAK, holds, is_sound
from pbem.identity.verdict import BadKey, Key, State
from pbem.phrase import Phrase

if TYPE_CHECKING:
    from datetime import datetime

IN_TEXT = re.compile(
    r"^[^\S\n]*signature:\s*(?P<signature>[A-Za-z0-9+/](?:\s*[A-Za-z0-9+/]){85}\s*=\s*=)[^\S\n]*$", re.I | re.M
)


def parse(data: str) -> Key:
    """Read a public key in PEM; raises `BadKey`."""
    from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat, load_pem_public_key

    try:
        key = load_pem_public_key(data.strip().encode())
    except (ValueError, UnsupportedAlgorithm) as error:
        raise BadKey(
            Phrase("This public key is damaged: send the whole block that `openssl pkey -pubout` prints.")
        ) from error
    if not isinstance(key, Ed25519PublicKey):
        raise BadKey(Phrase("The only bare public keys accepted are Ed25519: `openssl genpkey -algorithm ed25519`."))
    if not is_sound(key.public_bytes_raw()):
        raise BadKey(WEAK)
    pem = key.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo).decode()
    return Key("ed25519", key.public_bytes_raw().hex(), pem)


class Ed25519Signature(msgspec.Struct, frozen=True):
    """64 octets; they do not name their key, so each of the player's keys is tried."""

    signature: bytes

    issuer = "of a bare signature"

    def claims(self, _key: Key) -> bool:
        """True: the signature may be by any key."""
        return True

    def covers(self, key: Key, message: bytes, _at: datetime | None) -> tuple[bytes, State] | None:
        """The signed bytes; None when the signature does not hold."""
        return (message, "pinned") if holds(bytes.fromhex(key.fingerprint), self.signature, message) else None


def read(data: bytes | str) -> Ed25519Signature:
    """Take a signature: its 64 octets, or 86 letters of base64 and what pads them."""
    if isinstance(data, bytes):
        return Ed25519Signature(data)
    letters = re.sub(r"\A\s*signature:|\s", "", data, flags=re.I)
    return Ed25519Signature(base64.b64decode(letters))
