"""The DKIM signature of outgoing letters (RFC 6376): made once, when a letter gets its bytes, never again.

Here live the signer and the loading of its key. Time is handed in, so that the same letter at the same time gives
the same bytes; RSA with SHA-256 is deterministic. Judging others' signatures is identity's.
Implements reliability.md, promise 3.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    import dkim

BITS = 1024  # RFC 8301 3.2: what is shorter is not believed by anybody


class BadDkimKey(Exception):
    """The DKIM key cannot be used; the message says why."""


class DkimSigner:
    """Signs letters for a domain under a selector; raises `BadDkimKey`."""

    def __init__(self, selector: str, domain: str, key_file: Path | str) -> None:
        self._selector = selector.encode("ascii")
        self._domain = domain.encode("ascii")
        self._key = _key(Path(key_file))

    def __call__(self, raw: bytes, date: datetime) -> bytes:
        """The letter with its signature on top."""
        signer = _at_time()(raw, int(date.timestamp()))
        signature: bytes = signer.sign(self._selector, self._domain, self._key, canonicalize=(b"relaxed", b"relaxed"))
        return signature + raw


@cache
def _at_time() -> Callable[[bytes, int], dkim.DKIM]:
    """The signer of dkimpy with the time handed in; its own clock would give one letter two sets of bytes."""
    import dkim

    class AtTime(dkim.DKIM):  # type: ignore[misc]  # dkimpy ships no types
        def __init__(self, message: bytes, time: int) -> None:
            super().__init__(message, linesep=b"\r\n")
            self._time = str(time).encode("ascii")

        def gen_header(self, fields: list[tuple[bytes, bytes]], *arguments: object, **named: object) -> bytes:
            fields[:] = [(name, self._time if name == b"t" else value) for name, value in fields]
            header: bytes = super().gen_header(fields, *arguments, **named)
            return header

    return AtTime


def _key(path: Path) -> bytes:
    """The private key as dkimpy reads it: PKCS #1 in PEM."""
    try:
        if path.stat().st_mode & 0o007:
            raise BadDkimKey(f"{path} may be read by everybody: chmod o-rwx {path}")
        key = serialization.load_pem_private_key(path.read_bytes(), None)
    except OSError as error:
        raise BadDkimKey(f"{path}: {error.strerror}") from error
    except (ValueError, TypeError, UnsupportedAlgorithm) as error:
        raise BadDkimKey(f"{path}: no private key in PEM without a passphrase") from error
    if not isinstance(key, RSAPrivateKey) or key.key_size < BITS:
        raise BadDkimKey(f"{path}: an RSA key of {BITS} bits or more is needed")
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.TraditionalOpenSSL, serialization.NoEncryption()
    )
