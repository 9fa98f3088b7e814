"""Sealing at rest: encryption of what the store may not hold in clear, and the key files that open it.

Here live AES-256-GCM over byte strings and the making and reading of key files. No tables, no knowledge of what
is sealed. Keys are kept outside the database, so that a copied database alone gives no setup away.
Implements protocol.md, "Commitments": setups rest encrypted in the store.
"""

from __future__ import annotations

import hashlib
import hmac
import os
from pathlib import Path
from typing import TYPE_CHECKING

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from pbem import durable
from pbem.store.disk import THIS_DISK

if TYPE_CHECKING:
    from collections.abc import Callable

    from pbem.store.disk import Disk

KEY_BYTES = 32  # AES-256, and equally the seed of an Ed25519 key (RFC 8032 5.1.5)
NONCE_BYTES = 12  # the length for which GCM is defined without a further hash (NIST SP 800-38D 8.2)
VERSION = b"\x01"


class Sealed(Exception):
    """Unsealing failed: another key, another context, or damaged bytes."""


class KeyFileError(Exception):
    """A key file is missing, damaged, or readable by others."""


class Vault:
    """Seals byte strings, each bound to a context; `random` gives as many random bytes as it is asked for."""

    def __init__(self, key: bytes, random: Callable[[int], bytes] = os.urandom) -> None:
        if len(key) != KEY_BYTES:
            raise ValueError(f"the store key has {KEY_BYTES} bytes")
        self._cipher = AESGCM(key)
        self._random = random
        # A key of its own, so that no digest reveals anything about a seal.
        self._digest_key = hmac.digest(key, b"pbem vault digest 1", "sha256")

    def seal(self, plain: bytes, context: str) -> bytes:
        """Encrypt `plain` so that it opens again only under the same context."""
        nonce = self._random(NONCE_BYTES)
        return VERSION + nonce + self._cipher.encrypt(nonce, plain, context.encode())

    def open(self, sealed: bytes, context: str) -> bytes:
        """Decrypt what `seal` gave for this context; raises `Sealed`."""
        if sealed[:1] != VERSION:
            raise Sealed(context)
        body = sealed[1:]
        try:
            return self._cipher.decrypt(body[:NONCE_BYTES], body[NONCE_BYTES:], context.encode())
        except (InvalidTag, ValueError):
            raise Sealed(context) from None

    def digest(self, data: bytes) -> str:
        """A keyed SHA-256 in hex: recognises equal bytes, and lets nobody without the key guess at them."""
        return hmac.digest(self._digest_key, hashlib.sha256(data).digest(), "sha256").hex()


def load_key(path: Path | str) -> bytes:
    """The 32 bytes of a key file (64 hex digits); raises `KeyFileError`."""
    path = Path(path)
    if not path.exists():
        raise KeyFileError(f'{path} is missing: bring it back (docs/operating.md, "A key is lost")')
    try:
        if path.stat().st_mode & 0o077:
            raise KeyFileError(f"{path} may be read by others: chmod 600 {path}")
        key = bytes.fromhex(path.read_text("ascii"))
    except (OSError, ValueError) as error:
        raise KeyFileError(f"{path}: {getattr(error, 'strerror', None) or 'not a key file'}") from error
    if len(key) != KEY_BYTES:
        raise KeyFileError(f"{path}: not a key of {KEY_BYTES} bytes")
    return key


def create_key(path: Path | str, random: Callable[[int], bytes], disk: Disk = THIS_DISK) -> bytes:
    """Make a key and keep it in a new file, mode 0600, on disk when this returns; raises FileExistsError."""
    path = Path(path)
    disk.make_folder(path.parent)
    key = random(KEY_BYTES)
    # Written aside and linked into place: a crash leaves either no key file or a whole one.
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    durable.write(draft, key.hex().encode() + b"\n")
    try:
        disk.sync(draft)
        os.link(draft, path)
    finally:
        draft.unlink()
    disk.sync(path.parent)
    return key


def load_or_create_key(path: Path | str, random: Callable[[int], bytes], disk: Disk = THIS_DISK) -> bytes:
    """The key of this file, made on first use."""
    path = Path(path)
    if not path.exists():
        return create_key(path, random, disk)
    disk.sync(path.parent)  # who made it may have been killed before its name was on disk
    return load_key(path)
