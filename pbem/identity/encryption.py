"""Letters encrypted to a player's keys: which keys can decrypt, and a MIME entity encrypted to all of them.

OpenPGP encrypts for every certificate that has a key for that, S/MIME for RSA certificates alone: cryptography makes
no others. A player who has both gets OpenPGP, which also notices whatever was changed on the way. Nothing is
decrypted here. Implements RFC 9580, RFC 8551 and docs/playing.md, "Encrypted letters".
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from pbem.identity import openpgp, smime
from pbem.phrase import Phrase

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from pbem.identity.verdict import Key
    from pbem.mail.compose import Encrypted

_NONE = Phrase("no mail program decrypts with such a key: an OpenPGP key can, or an S/MIME certificate of an RSA key")


def fault(key: Key, at: datetime) -> Phrase | None:
    """The reason why nothing can be encrypted to this key at this time; None if it can."""
    match key.format:
        case "openpgp":
            return openpgp.cannot_encrypt(key, at)
        case "smime":
            return smime.cannot_encrypt(key, at)
    return _NONE


def usable(keys: Sequence[Key], at: datetime) -> list[Key]:
    """The keys to which a letter can be encrypted at this time: all of one format."""
    for kind in ("openpgp", "smime"):
        if found := [key for key in keys if key.format == kind and fault(key, at) is None]:
            return found
    return []


def encrypt(keys: Sequence[Key], entity: bytes) -> Encrypted:
    """The entity, encrypted to each of these keys, which are `usable`: its format, and the octets."""
    kind: Literal["openpgp", "smime"] = "openpgp" if keys[0].format == "openpgp" else "smime"
    return kind, (openpgp if kind == "openpgp" else smime).encrypt(keys, entity)
