"""OpenPGP packets taken apart: their sizes, the keys in a certificate, and what a signature says of itself.

Only bytes live here: nothing is unpacked, verified or judged, and no library is asked, so that a packet costs no
more than its length and means the same for ever. Implements RFC 9580 sections 4.2, 5.2.3, 5.5.2 and 9.
"""

from __future__ import annotations

from datetime import UTC, datetime
from enum import IntEnum
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from collections.abc import Iterator


class Tag(IntEnum):
    """The kind of a packet (RFC 9580 5)."""

    SIGNATURE = 2
    KEY = 6
    USER_ID = 13
    SUBKEY = 14


RSA = frozenset({1, 2, 3})
ECDH = frozenset({18, 25, 26})
ELGAMAL, DSA, _EDDSA, _ED25519 = 16, 17, 22, 27
"""Algorithms (RFC 9580 9.1); `_EDDSA` is the older way in which an Ed25519 key is written."""

_CREATED, _EXPIRES = 2, 3
_PLAIN = frozenset({_CREATED, _EXPIRES, 16, 28, 33})
"""Subpackets (RFC 9580 5.2.3.7) that ask nothing of a reader beyond when and by whom: these may be critical."""


def packets(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Tag and body of each packet; raises ValueError at partial, open or broken lengths."""
    at = 0
    while at < len(data):
        first = data[at]
        if not first & 0x80:
            raise ValueError("no packet")
        if first & 0x40:
            tag, (size, start) = first & 0x3F, _length(data, at + 1, 224)
        else:
            tag, width = first >> 2 & 0x0F, (1, 2, 4, 0)[first & 3]
            if not width:
                raise ValueError("open length")
            start = at + 1 + width
            size = int.from_bytes(data[at + 1 : start], "big")
        if start + size > len(data):
            raise ValueError("cut off")
        yield tag, data[start : start + size]
        at = start + size


def _length(data: bytes, at: int, partial: int = 255) -> tuple[int, int]:
    """A length, and where what has it begins; from `partial` on, the first octet stands for a part's alone."""
    first = data[at] if at < len(data) else 255
    if first < 192:
        return first, at + 1
    if first < partial:
        return (first - 192 << 8) + int.from_bytes(data[at + 1 : at + 2], "big") + 192, at + 2
    if first < 255:
        raise ValueError("partial length")
    return int.from_bytes(data[at + 1 : at + 5], "big"), at + 5


def _number(data: bytes, at: int) -> tuple[bytes, int]:
    """A multiprecision integer (RFC 9580 3.2) without leading zeros, and where it ends."""
    start = at + 2
    end = start + (int.from_bytes(data[at:start], "big") + 7) // 8
    if end > len(data):
        raise ValueError("cut off")
    return data[start:end].lstrip(b"\0"), end


class PublicKey(msgspec.Struct, frozen=True):
    """The content of a public key or subkey packet."""

    version: int
    algorithm: int
    modulus: int = 0
    exponent: int = 0
    """The two of an RSA key."""
    point: bytes | None = None
    """The point of an Ed25519 key."""

    @classmethod
    def read(cls, body: bytes) -> PublicKey:
        """Read the body of such a packet; raises ValueError."""
        if len(body) < 6:
            raise ValueError("cut off")
        version, algorithm = body[0], body[5]
        at = 10 if version == 6 else 6
        if version not in {4, 6}:
            return cls(version, algorithm)
        if algorithm in RSA:
            modulus, at = _number(body, at)
            exponent, _ = _number(body, at)
            return cls(version, algorithm, int.from_bytes(modulus, "big"), int.from_bytes(exponent, "big"))
        if algorithm == _EDDSA:
            # Of the curves that have been written so, Ed25519 alone has points with this mark (RFC 9580 11.2.2).
            point, _ = _number(body, at + 1 + body[at])
            return cls(version, algorithm, point=point[1:] if point[:1] == b"\x40" else None)
        return cls(version, algorithm, point=body[at : at + 32] if algorithm == _ED25519 else None)


class SignatureBody(msgspec.Struct, frozen=True):
    """The content of a signature packet, beside the signature itself."""

    created: datetime
    """The time at which it says it was made; the latest if it names several."""
    expires: bool
    """True if it says that it will expire."""
    demands: bool
    """True if it demands that readers refuse it unless they understand all of it (RFC 9580 5.2.3.7)."""
    version: int
    kind: int
    algorithm: int
    digest: int
    """The algorithm of its digest (RFC 9580 9.5)."""
    ed25519: bytes | None
    """R and S, where it was made by an Ed25519 key."""

    @classmethod
    def read(cls, body: bytes) -> SignatureBody:
        """Read the body of such a packet, version 4 or 6; raises ValueError."""
        if len(body) < 4:
            raise ValueError("cut off")
        width = 4 if body[0] == 6 else 2
        said: list[tuple[int, bool, bytes]] = []
        at = 4
        for _ in ("hashed", "unhashed"):
            end = at + width + int.from_bytes(body[at : at + width], "big")
            if end > len(body):
                raise ValueError("cut off")
            said += _subpackets(body[at + width : end])
            at = end
        at += 2  # of the digest
        if body[0] == 6:
            at += 1 + body[at]  # salt
        latest = {_CREATED: 0, _EXPIRES: 0}
        for kind, _, what in said:
            if kind in latest:
                latest[kind] = max(latest[kind], int.from_bytes(what[:4], "big"))
        demands = any(is_critical and kind not in _PLAIN for kind, is_critical, _ in said)
        created = datetime.fromtimestamp(latest[_CREATED], UTC)
        version, kind, algorithm, digest = body[:4]
        ed25519 = body[at:] if algorithm == _ED25519 else None
        if algorithm == _EDDSA:
            r, at = _number(body, at)
            s, _ = _number(body, at)
            ed25519 = r.rjust(32, b"\0") + s.rjust(32, b"\0")
        return cls(created, latest[_EXPIRES] > 0, demands, version, kind, algorithm, digest, ed25519)


def _subpackets(area: bytes) -> Iterator[tuple[int, bool, bytes]]:
    """The subpackets of a signature: the kind of each, whether it is critical, and its body."""
    at = 0
    while at < len(area):
        size, start = _length(area, at)  # never a partial one (RFC 9580 5.2.3.7)
        if not size or start + size > len(area):
            raise ValueError("cut off")
        yield (area[start] & 0x7F, bool(area[start] & 0x80), area[start + 1 : start + size])
        at = start + size
