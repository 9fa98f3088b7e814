"""DER and BER (X.690) walked through once, before a library takes them apart: how large, and in how many pieces.

asn1crypto takes time that grows with the square of the length for tag numbers, object identifiers, and contents in
pieces. What passes here holds no long ones, and not many. Nothing is decoded. Implements reliability.md, case 31.
"""

from __future__ import annotations

PIECES = 20_000  # a letter with a chain of certificates has a thousand
DEPTH = 64
IDENTIFIER = 100  # octets of an object identifier
WORD = 10_000  # octets of any other primitive that is no string of octets or bits
_OBJECT_IDENTIFIERS = frozenset({0x06, 0x0D})
_STRINGS = frozenset({0x03, 0x04})
_CONSTRUCTED, _HIGH = 0x20, 0x1F


def walk(data: bytes) -> None:
    """Walk through one element and its contents; raises ValueError if it is damaged, or unreasonably large."""
    at = pieces = 0
    ends: list[int | None] = []  # of what is open; None where its end is marked and not known
    while True:
        # Leave the elements that end here.
        while ends and ends[-1] == at:
            ends.pop()
        if pieces and not ends:
            return
        pieces += 1
        if pieces > PIECES or len(ends) > DEPTH:
            raise ValueError("too many pieces, or too deep")
        tag, length, at = _head(data, at)
        last = len(data) if not ends or ends[-1] is None else ends[-1]
        # An element of indefinite length (X.690 8.1.3.6) ends at two zero octets.
        if length is None:
            ends.append(None)
        elif at + length > last:
            raise ValueError("longer than what it is in")
        elif tag == 0 and length == 0 and ends and ends[-1] is None:
            ends.pop()
        # Constructed: go into it. Anything else is skipped, unless parsers would take long for it.
        elif tag & _CONSTRUCTED:
            ends.append(at + length)
        else:
            most = IDENTIFIER if tag in _OBJECT_IDENTIFIERS else WORD
            if length > most and tag not in _STRINGS:
                raise ValueError("too long a word")
            at += length


def _head(data: bytes, at: int) -> tuple[int, int | None, int]:
    """Tag and length of an element (None: up to a mark), and where it begins; raises ValueError."""
    if at + 2 > len(data):
        raise ValueError("ends too early")
    tag, first = data[at], data[at + 1]
    if tag & _HIGH == _HIGH:
        raise ValueError("no such tag in a signature")
    at += 2
    if first == 0x80:
        if not tag & _CONSTRUCTED:
            raise ValueError("a primitive without a length")
        return tag, None, at
    if first < 0x80:
        return tag, first, at
    octets = first & 0x7F
    if octets > 4:
        raise ValueError("too long a length")
    return tag, int.from_bytes(data[at : at + octets], "big"), at + octets
