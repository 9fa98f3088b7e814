"""Limits of a key's cost: verifying with the most expensive accepted key stays far below the other costs of a letter.

Only the numbers are here; each format checks its own keys, at registration, and RSA numbers at every use.
Implements RFC 8301 and RFC 8017; protocol.md, "Identity".
"""

from __future__ import annotations

from pbem.identity.verdict import BadKey
from pbem.phrase import Phrase

RSA_BITS = range(2048, 8192 + 1)  # above, one verification costs more than a letter is worth
EXPONENT_BITS = 64  # everybody has 17 bits; with as many as the modulus, verifying takes as long as signing
CERTIFICATE_BYTES = 16 * 1024  # ten times what authorities hand out; it stands in every transcript


def check_rsa(modulus: int, exponent: int) -> None:
    """Refuse RSA numbers that are too small to prove anything, or costly to verify; raises `BadKey`."""
    if modulus.bit_length() not in RSA_BITS:
        raise BadKey(
            Phrase(
                "RSA keys must have {least} to {most} bits, this one has {key_size}.",
                least=RSA_BITS[0],
                most=RSA_BITS[-1],
                key_size=modulus.bit_length(),
            )
        )
    if exponent < 3 or exponent % 2 == 0 or exponent.bit_length() > EXPONENT_BITS:
        raise BadKey(Phrase("This RSA key has an exponent that programs do not make. Make a new key."))
