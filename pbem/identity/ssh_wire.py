"""The encoding of SSH keys and signatures: strings and numbers of RFC 4251, section 5.

All that takes octets apart raises ValueError where they are cut off, or are not in the one form they may have.
"""

from __future__ import annotations

import base64


def unbase64(text: str) -> bytes:
    """The octets of base64 in its one form; OpenSSH reads no other, and a key in another would be sought in vain."""
    octets = base64.b64decode(text)
    if base64.b64encode(octets).decode() != text:
        raise ValueError("no base64, or in another form")
    return octets


def string(data: bytes) -> bytes:
    """A string: its length, and its octets."""
    return len(data).to_bytes(4, "big") + data


def take(data: bytes) -> tuple[bytes, bytes]:
    """Split a string off the front."""
    end = 4 + int.from_bytes(data[:4], "big")
    if len(data) < end:
        raise ValueError("cut off")
    return data[4:end], data[end:]


def take_name(data: bytes) -> tuple[str, bytes]:
    """Split a string of ASCII off the front."""
    name, rest = take(data)
    return name.decode("ascii"), rest


def mpint(number: int) -> bytes:
    """A number that is not negative."""
    return string(number.to_bytes(number.bit_length() // 8 + 1, "big"))


def take_mpint(data: bytes) -> tuple[int, bytes]:
    """Split a positive number in its shortest form off the front."""
    raw, rest = take(data)
    shortest = raw and not raw[0] & 0x80 and (raw[0] or raw[1:2] >= b"\x80")
    if not shortest:
        raise ValueError("no shortest form")
    return int.from_bytes(raw, "big"), rest
