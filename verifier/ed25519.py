"""2.4 Ed25519 as the page has it."""

from __future__ import annotations

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

FIELD = 2**255 - 19
EIGHT = int.from_bytes(bytes.fromhex("c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a"), "little")
ORDER_8 = EIGHT & (2**255 - 1)
SMALL = {0, 1, FIELD - 1, ORDER_8, FIELD - ORDER_8}


def good_point(octets: bytes) -> bool:
    y = int.from_bytes(octets, "little") & (2**255 - 1)
    return len(octets) == 32 and y < FIELD and y not in SMALL


def ed25519(public: bytes, signature: bytes, text: bytes) -> bool:
    if len(signature) != 64 or not good_point(public) or not good_point(signature[:32]):
        return False
    try:
        Ed25519PublicKey.from_public_bytes(public).verify(signature, text)
    except (InvalidSignature, ValueError):
        return False
    return True
