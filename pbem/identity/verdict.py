"""The common vocabulary of all signature formats: `Key` and `Verdict`, and the limits of a key's cost.

Judging is in `pbem/identity/__init__.py`, each format in its own module, which checks its keys at registration, and
RSA numbers at every use: verifying with the most expensive accepted key stays far below the other costs of a letter.
Implements protocol.md, "Identity"; RFC 8301 and RFC 8017.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Literal

import msgspec

from pbem.phrase import Phrase

if TYPE_CHECKING:
    from collections.abc import Mapping

Kind = Literal["valid", "none", "bad", "unknown key", "expired", "revoked", "refused"]
"""`valid`: a pinned key signed `Verdict.signed`. `none`: the letter bears no signature at all. `bad`: it does,
by a pinned key, but over other bytes, or it is damaged. `unknown key`: by a key that was not offered.
`expired`, `revoked`: by an offered key that no longer counts. `refused`: never looked at further (two
signatures, a certificate, another namespace, a weak algorithm, a format that is not understood)."""

Format = Literal["ssh", "openpgp", "smime", "dkim"]
"""`dkim` is never the format of a player's key: it is what a verdict at level `mailbox` says."""
State = Literal["pinned", "expired", "revoked"]
STATES: Mapping[State, Phrase] = {"expired": Phrase("expired"), "revoked": Phrase("revoked")}
"""The words of a sentence for the states in which a key does not count."""

AHEAD = timedelta(days=1)
"""The most time by which a date may lie ahead of the arrival: clocks in the wrong zone."""
ENCRYPTED = Phrase(
    "Letters must be signed but not encrypted, because this server has no key to read them: turn encryption off, and"
    " send it again without quoting what was encrypted."
)
FUTURE = Phrase("The signature is dated in the future: set your device's clock, and sign again.")
DEMANDS = Phrase("The signature has unknown conditions of its own: sign without them.")


class Vocabulary(msgspec.Struct, frozen=True):
    """The words by which a signed form is found in a letter; they come from the command table, and are handed in."""

    commands: tuple[str, ...]
    """Names of commands, in lower case; of those in two words the first will do."""
    fields: tuple[str, ...]
    """The header fields of the signed forms, each with one word as its value."""


class Key(msgspec.Struct, frozen=True):
    """A public key as it is pinned to a player."""

    format: Format
    fingerprint: str
    """In the format's own notation: for SSH as `ssh-keygen -l` prints it (`SHA256:…`), for OpenPGP as gpg does,
    for S/MIME the SHA-256 as `openssl x509 -fingerprint` prints it."""
    public: str
    """The public key as text, one line for SSH, armor for the others, without the comment."""
    state: State = "pinned"
    """The key's state on arrival of the letter; a signature's own date never counts."""


class Verdict(msgspec.Struct, frozen=True):
    """The signer of a letter, and the signed bytes; with any verdict but `valid`, nothing is signed."""

    kind: Kind
    reason: Phrase
    """A sentence for the player."""
    format: Format | None = None
    key: str | None = None
    """Fingerprint of the signer among the offered keys, in kinds `valid`, `expired` and `revoked`."""
    signed: bytes = b""
    """Exactly the bytes that the signature covers; commands are read from these alone. Empty unless `valid`."""
    entity: bool = False
    """True if `signed` is a MIME entity with headers of its own, whose text is still to be decoded."""
    pasted: str = ""
    """The signed text with its signature below, which is judged alike in any letter; empty if it is not text, but a
    MIME entity, or has a signature that no text can hold."""


class BadKey(ValueError):
    """No public key that can be pinned; `reason` is a sentence for the player."""

    def __init__(self, reason: Phrase) -> None:
        super().__init__(reason)
        self.reason = reason


class BadSignature(Exception):
    """A signature does not count: the kind of the verdict, and `reason`, a sentence for the player."""

    def __init__(self, reason: Phrase, kind: Kind = "refused") -> None:
        super().__init__(reason)
        self.reason = reason
        self.kind = kind


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
