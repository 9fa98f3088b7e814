"""The envelope that a letter still shows when it lies in a mailbox: who sent it, and to which addresses.

A mail server that delivers a letter writes both above it: Return-Path (RFC 5321 4.4) and Delivered-To, some servers
X-Original-To as well. To and Cc are the writer's. Only headers are looked at, and nothing is believed:
the caller looks for its own addresses. Implements mailbox.md, "Envelope".
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

HEAD = 64 * 1024  # octets that are searched for headers
MOST = 50  # recipients that are given
LINE = 8000  # octets of one header that are searched for addresses
DELIVERED = (b"delivered-to", b"x-original-to", b"to", b"cc")

_FOLD = re.compile(rb"\r?\n(?=[ \t])")
_ADDRESS = re.compile(r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~.-]{1,255}@[A-Za-z0-9.-]{1,255}")
_BRACKETED = re.compile(rf"<({_ADDRESS.pattern})>[^<>]*$")


def sender(raw: bytes) -> str:
    """The address in the topmost Return-Path, "" for the null sender; if no server wrote one, that in From."""
    author = ""
    for name, value in _headers(raw):
        if name == b"return-path":
            if "<>" in "".join(value.split()):
                return ""
            if found := _ADDRESS.search(value):
                return found[0]
        elif name == b"from" and not author and (written := _BRACKETED.search(value) or _ADDRESS.search(value)):
            author = written[written.lastindex or 0]
    return author


def recipients(raw: bytes) -> tuple[str, ...]:
    """All addresses to which a letter was delivered or written, each once, as written there."""
    found: dict[bytes, list[str]] = {name: [] for name in DELIVERED}
    for name, value in _headers(raw):
        if name in found:
            found[name] += _ADDRESS.findall(value)
    return tuple(dict.fromkeys(address for name in DELIVERED for address in found[name]))[:MOST]


def _headers(raw: bytes) -> Iterator[tuple[bytes, str]]:
    head = re.split(rb"\r?\n\r?\n", raw[:HEAD], maxsplit=1)[0]
    for line in _FOLD.sub(b"", head).splitlines():
        name, colon, value = line.partition(b":")
        if colon:
            yield name.strip().lower(), value[:LINE].decode("latin-1")
