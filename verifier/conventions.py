"""Conventions of the page: hashes, times, numbers, Ed25519 (2.4); and how a verifier says what does not hold."""

from __future__ import annotations

import hashlib
import re
from datetime import UTC, datetime, timedelta
from typing import Any

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

Body = dict[str, Any]


class Wrong(Exception):
    """The fault: the entry, the file, and why."""

    def __init__(self, seq: int | None, path: str | None, reason: str) -> None:
        super().__init__(f"entry {seq}, {path}: {reason}")
        self.seq, self.path, self.reason = seq, path, reason


class Unknown(Wrong):
    """A game that is not in `rules/`: the file holds as far as chain and heads go, and the rest is not judged."""


class OtherVersion(Wrong):
    """A version that is not the one of section 3, or of 12.3: nothing is judged."""


class No(Exception):
    """Why something does not hold, before it is known where."""


def must(condition: object, reason: str) -> None:
    if not condition:
        raise No(reason)


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


HASH = re.compile(r"[0-9a-f]{64}", re.ASCII)
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", re.ASCII)
NUMBER = re.compile(r"0|[1-9][0-9]{0,8}", re.ASCII)


def moment(text: str) -> datetime:
    must(TIME.fullmatch(text), "no time")
    try:
        return datetime.strptime(text, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=UTC)
    except ValueError as error:
        raise No("no time") from error


def seconds(number: float) -> timedelta:
    return timedelta(seconds=number)


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
