"""A message from DATA to its final dot (RFC 5321 4.5.2), in bounded memory, and the replies to what is too much.

aiosmtpd would keep all of an endless line. Nothing is stored or decided here.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from pbem.config.limits import Limits

CHUNK = 64 * 1024
DRAIN = 128  # times the message limit: how much of an oversized message is still read before hanging up

TOO_BIG = "552 5.3.4 message too big"  # RFC 5321 4.5.3.1.9
TOO_MANY_LINES = "552 5.3.4 message has too many lines"
LINE_TOO_LONG = "500 5.5.2 line too long"  # RFC 5321 4.5.3.1.10

END = b"\r\n.\r\n"
"""The end of a message, and nothing else is: a bare CR or LF is just another octet (RFC 5321 4.1.1.4)."""


class Data(NamedTuple):
    """The message with its dots unstuffed, or the reply that refuses it; and whether to hang up afterwards."""

    raw: bytes
    refusal: str = ""
    hang_up: bool = False


async def read_data(reader: asyncio.StreamReader, limits: Limits) -> Data:
    """Read a message to its end; what is read begins with the CRLF of the command."""
    pieces: list[bytes] = []
    size = 0
    while True:
        try:
            pieces.append(await reader.readuntil(END))
        except asyncio.LimitOverrunError as error:
            pieces.append(await reader.read(error.consumed))
        else:
            break
        size += len(pieces[-1])
        if size > limits.message_bytes + CHUNK:
            seen = b"".join(pieces)
            refusal = _beyond(seen, limits) or TOO_BIG
            return Data(b"", refusal, await _drain(reader, limits, seen[1 - len(END) :]))
    raw = b"".join(pieces)[: -len(b".\r\n")].replace(b"\r\n.", b"\r\n")[len(b"\r\n") :]
    return Data(raw, _beyond(raw, limits))


def _beyond(raw: bytes, limits: Limits) -> str:
    """The reply to a message beyond the limits; empty for all others."""
    if max(map(len, raw.split(b"\r\n"))) > limits.line_bytes:
        return LINE_TOO_LONG
    if raw.count(b"\r\n") > limits.message_lines:
        return TOO_MANY_LINES
    return TOO_BIG if len(raw) > limits.message_bytes else ""


async def _drain(reader: asyncio.StreamReader, limits: Limits, seen: bytes) -> bool:
    """Read a refused message to its end, keeping nothing; returns whether to hang up: it seems to have no end.

    What a client sent after the end without waiting for the reply is lost with the message, so that
    such a session ends too.
    """
    left = DRAIN * limits.message_bytes
    while left > 0:
        chunk = await reader.read(CHUNK)
        if not chunk:
            raise ConnectionResetError
        left -= len(chunk)
        window = seen + chunk
        found = window.find(END)
        if found >= 0:
            return found + len(END) < len(window)
        seen = window[1 - len(END) :]
    return True
