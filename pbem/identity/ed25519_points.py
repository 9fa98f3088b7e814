"""The Ed25519 keys and signatures that count: none of small order, none in a non-canonical encoding.

Under a key of small order, one signature holds for many texts; a second encoding makes two signatures out of one. RFC
8032 5.1.3 and 5.1.7 leave room for both, and libraries differ. Sequoia verifies OpenPGP, after key and signature
passed here; `templates/pages/ed25519.js` has the same rules for browsers.
"""

from __future__ import annotations

from functools import lru_cache

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from pbem.phrase import Phrase

_P = 2**255 - 19
_L = 2**252 + 27742317777372353535851937790883648493
"""Order of the group that honest keys are of (RFC 8032 5.1)."""

_Y8 = 2707385501144840649318225287225658788936804267575313519463743609750303402022
SMALL = frozenset({0, 1, _P - 1, _Y8, _P - _Y8})
"""The y of the eight points whose order divides eight; either sign of x is one of them."""

WEAK = Phrase("No program makes an Ed25519 key like this: signatures by it prove nothing. Make a new one.")


def is_sound(point: bytes) -> bool:
    """True if 32 octets are a point in canonical encoding (RFC 8032 5.1.2), and not of small order."""
    y = int.from_bytes(point, "little") & (1 << 255) - 1
    return len(point) == 32 and y < _P and y not in SMALL


def is_sound_signature(signature: bytes) -> bool:
    """True if 64 octets are a sound point R, and a number S below the order of the group."""
    return len(signature) == 64 and is_sound(signature[:32]) and int.from_bytes(signature[32:], "little") < _L


def holds(key: bytes, signature: bytes, message: bytes) -> bool:
    """True if this public key made this signature over this message; never raises."""
    if not is_sound_signature(signature):
        return False
    try:
        _sound(key).verify(signature, message)
    except (InvalidSignature, ValueError):
        return False
    return True


@lru_cache(maxsize=256)  # one key makes many signatures
def _sound(key: bytes) -> Ed25519PublicKey:
    if not is_sound(key):
        raise ValueError("no sound point")
    return Ed25519PublicKey.from_public_bytes(key)
