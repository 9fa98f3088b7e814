"""The conversation with the smarthost on one connection: letters one after the other, in few round trips.

aiosmtplib connects, secures, greets and authenticates. After that it would need four round trips per letter; here,
the commands of one letter leave together if the server offers that (RFC 2920). `delivery` decides what a refusal
means for a letter, and how long a connection is kept. Implements RFC 5321 2.3.8 and 4.5.2.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
from typing import cast

import aiosmtplib

MOST_REPLY = 32 * 1024  # octets of one reply, all its lines; RFC 5321 4.5.3.1.5 knows 512 a line
ROOM = 4096  # octets that are read at once
GOODBYE = 5.0  # seconds that the server has to answer QUIT
MALFORMED = -1  # as aiosmtplib numbers what is no reply
LINE_END = re.compile(rb"\r\n|\r|\n")


class RefusedBySmtp(aiosmtplib.SMTPResponseException):
    """The server did not take a letter: its reply to MAIL, RCPT, DATA or the final dot."""


class SmtpClient:
    """A connection to the smarthost that carries one letter at a time; any error closes it."""

    def __init__(self, client: aiosmtplib.SMTP, timeout: float) -> None:
        self._client = client
        self._timeout = timeout
        self._replies = _Replies()
        self._pipelining = False
        self.letters = 0
        """The number of letters that it carried, or tried to."""
        self.begun = False
        """True if the server took the MAIL of the last of them, and so heard of it."""

    @property
    def open(self) -> bool:
        """True if the connection can still be used."""
        return self._client.is_connected

    async def connect(self) -> None:
        """Connect and introduce ourselves; like all other methods, raises aiosmtplib's exceptions and OSError."""
        try:
            await self._client.connect()
            if self._client.is_ehlo_or_helo_needed:
                try:
                    await self._client.ehlo()
                except aiosmtplib.SMTPHeloError:
                    await self._client.helo()
        except BaseException:
            self._client.close()
            raise
        self._pipelining = self._client.supports_extension("pipelining")
        if self._client.transport is None:
            raise aiosmtplib.SMTPServerDisconnected("Connection lost")
        self._client.transport.set_protocol(self._replies)

    async def send(self, sender: str, recipient: str, raw: bytes) -> str:
        """Send a letter and return the server's reply; also raises `RefusedBySmtp`."""
        self.letters += 1
        self.begun = False
        commands = (
            f"MAIL FROM:<{sender}>\r\n".encode("ascii"),
            f"RCPT TO:<{recipient}>\r\n".encode("ascii"),
            b"DATA\r\n",
        )
        if self._pipelining:
            self._write(b"".join(commands))
        message = b"%b.\r\n" % _on_the_wire(raw)  # while the server thinks about them
        for left, command in zip((2, 1, 0), commands, strict=True):
            if not self._pipelining:
                self._write(command)
            code, text = await self._reply()
            if code // 100 != (2 if left else 3):
                if self._pipelining:
                    await self._pass_over(left)
                raise RefusedBySmtp(code, text)
            self.begun = True
        self._write(message)
        code, text = await self._reply()
        if code // 100 != 2:
            raise RefusedBySmtp(code, text)
        return text

    async def reset(self) -> bool:
        """Forget a refused letter; return whether the connection is ready for the next."""
        with contextlib.suppress(aiosmtplib.SMTPException, OSError):
            self._write(b"RSET\r\n")
            code, _ = await self._reply()
            return code // 100 == 2
        return False

    async def end(self) -> None:
        """Say goodbye if it is still open; errors here do not affect any letter."""
        if self.open and self.letters:
            with contextlib.suppress(aiosmtplib.SMTPException, OSError):
                async with asyncio.timeout(GOODBYE):
                    self._write(b"QUIT\r\n")
                    await self._reply()
        self._client.close()

    async def _pass_over(self, replies: int) -> None:
        """Read the replies to commands that went out with one that was refused."""
        code = 0
        # It may hang up at once; what decides is what it said before.
        with contextlib.suppress(aiosmtplib.SMTPException, OSError):
            for _ in range(replies):
                code, _ = await self._reply()
            if code // 100 == 3:
                # RFC 2920 3.1: it waits for a message all the same, and gets an empty one, for nobody.
                self._write(b".\r\n")
                await self._reply()

    async def _reply(self) -> tuple[int, str]:
        try:
            while (reply := self._replies.next()) is None:
                await self._replies.more(self._timeout)
        except BaseException:
            # A late reply could be taken for the answer to another command.
            self._client.close()
            raise
        return reply

    def _write(self, data: bytes) -> None:
        if not self.open:
            raise aiosmtplib.SMTPServerDisconnected("Connection lost")
        cast("asyncio.WriteTransport", self._client.transport).write(data)


class _Replies(asyncio.BufferedProtocol):
    """The server's replies, one by one.

    Buffered, because for a plain protocol asyncio allocates 256 KiB at each reading, and frees it again.
    """

    def __init__(self) -> None:
        # A view: under TLS asyncio fills it by slices, and a slice of a bytearray is a copy.
        self._room = memoryview(bytearray(ROOM))
        self._heard = bytearray()
        self._waiter: asyncio.Future[None] | None = None
        self._lost: Exception | None = None

    def get_buffer(self, _sizehint: int) -> memoryview:
        return self._room

    def buffer_updated(self, nbytes: int) -> None:
        self._heard += self._room[:nbytes]
        self._tell()

    def connection_lost(self, exc: Exception | None) -> None:
        self._lose(exc or aiosmtplib.SMTPServerDisconnected("Connection lost"))

    async def more(self, seconds: float) -> None:
        """Wait until the server has sent something; raises if it does not."""
        if self._lost is not None:
            raise self._lost
        loop = asyncio.get_running_loop()
        self._waiter = loop.create_future()
        late = aiosmtplib.SMTPReadTimeoutError("Timed out waiting for server response")
        # A tenth of what asyncio.timeout costs, and this is done twice for each letter.
        timer = loop.call_later(seconds, self._lose, late)
        try:
            await self._waiter
        finally:
            timer.cancel()

    def _lose(self, error: Exception) -> None:
        self._lost = error
        self._tell()

    def _tell(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    def next(self) -> tuple[int, str] | None:
        """The next reply: its code and the text of all its lines; None if it is not there yet."""
        lines = []
        start = 0
        while (end := self._heard.find(b"\n", start)) >= 0:
            line = bytes(self._heard[start:end])
            start = end + 1
            if not line[:3].isdigit():
                raise aiosmtplib.SMTPResponseException(MALFORMED, "Malformed SMTP response line")
            lines.append(line[4:].strip())
            if line[3:4] != b"-":
                del self._heard[:start]
                return int(line[:3]), b"\n".join(lines).decode("utf-8", "surrogateescape")
        if len(self._heard) > MOST_REPLY:
            raise aiosmtplib.SMTPResponseException(MALFORMED, "Response too long")
        return None


def _on_the_wire(raw: bytes) -> bytes:
    """A message with CRLF at the end of each line, and an extra dot before each line that begins with one."""
    if not raw.count(b"\r\n") == raw.count(b"\n") == raw.count(b"\r"):
        raw = LINE_END.sub(b"\r\n", raw)
    if not raw.endswith(b"\r\n"):
        raw += b"\r\n"
    return (b"." + raw if raw.startswith(b".") else raw).replace(b"\r\n.", b"\r\n..")
