"""One SMTP session, from greeting to end: it reads lines and messages, sends replies, and limits time and faults.

It restrains aiosmtpd 1.4.6: no client sees an exception, and a message is read in bounded memory. It reads lines
itself, because aiosmtpd spends most of its time on a debug log and on a new timer for each line. Implements
reliability.md, cases 1 to 8 and 10 to 15; RFC 5321 4.5.2.
"""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from copy import copy
from typing import TYPE_CHECKING, AnyStr, NamedTuple, NoReturn

import msgspec
from aiosmtpd.smtp import BOGUS_LIMIT, SMTP

from pbem.networks import network_of
from pbem.smtp.client_connections import OTHERS_WAIT
from pbem.store.inbox import ROLES

if TYPE_CHECKING:
    from pbem.config.limits import Limits
    from pbem.failpoints import Failpoints
    from pbem.smtp.client_connections import Admission
    from pbem.smtp.storing import Storing

COMMAND_BYTES = 512  # RFC 5321 4.5.3.1.4
MAIL_PARAMETERS = 64  # what SIZE and BODY may add to that (RFC 1870 3, RFC 6152 2)
IDLE_COMMANDS = 50  # NOOP, HELP, VRFY and their like, each in one session
FAULTS = 20  # refused commands in one session: a lost client gives up earlier, a scanner does not
LINGER = 2.0  # seconds that a closing connection gets to take our last reply
CONTROL = re.compile(rb"[\0-\x08\x0a-\x1f\x7f]")  # in no command (RFC 5321 4.1.2); a bare CR may end one elsewhere

COMMAND_TOO_LONG = "500 Command line too long"
CHUNK = 64 * 1024
DRAIN = 128  # times the message limit: how much of an oversized message is still read before hanging up

TOO_BIG = "552 5.3.4 message too big"  # RFC 5321 4.5.3.1.9
TOO_MANY_LINES = "552 5.3.4 message has too many lines"
LINE_TOO_LONG = "500 5.5.2 line too long"  # RFC 5321 4.5.3.1.10

END = b"\r\n.\r\n"
"""The end of a message, and nothing else is: a bare CR or LF is just another octet (RFC 5321 4.1.1.4)."""


class Recipients:
    """The addresses of one server, and how many of them one letter may have."""

    def __init__(self, server: str, address: str, delimiter: str, most: int) -> None:
        self._server = server
        self._local, _, self._domain = address.lower().rpartition("@")
        self._delimiter = delimiter
        self._most = most

    def knows(self, recipient: str) -> bool:
        """True if letters for this address are accepted: the mailbox, its sub-addresses, postmaster and abuse."""
        local, _, domain = recipient.lower().rpartition("@")
        if domain not in {self._domain, self._server}:
            return False
        detail = local.removeprefix(self._local + self._delimiter) if self._delimiter else ""
        return local in {self._local, *ROLES} or detail not in {local, ""}

    def judged(self, recipient: str, others: list[str]) -> str:
        """Add a recipient to the others if letters for it are accepted; returns the reply to its RCPT."""
        if not self.knows(recipient):
            return "550 5.1.1 no such mailbox here"
        if len(others) >= self._most:
            return "452 4.5.3 too many recipients"  # RFC 5321 4.5.3.1.10
        others.append(recipient)
        return "250 2.1.5 known"


class SessionServices(msgspec.Struct, frozen=True):
    """The settings and services that all sessions of one server share."""

    server: str
    limits: Limits
    recipients: Recipients
    admission: Admission
    storing: Storing
    points: Failpoints


class _Sizes(dict[str, int]):
    """Command length limits of one session; aiosmtpd's own table is shared by all and grows."""

    def __missing__(self, command: str) -> int:
        return COMMAND_BYTES + (MAIL_PARAMETERS if command == "MAIL" else 0)

    def __setitem__(self, command: str, size: int) -> None:
        """Ignore: aiosmtpd would raise MAIL's limit at each EHLO."""


class Session(SMTP):
    """One connection, with the limits that aiosmtpd lacks; `ended` is done once the connection is over."""

    line_length_limit = CHUNK

    def __init__(self, services: SessionServices, handler: object, loop: asyncio.AbstractEventLoop) -> None:
        limits = services.limits
        self.command_size_limits = _Sizes()
        super().__init__(
            handler,
            data_size_limit=limits.message_bytes,
            enable_SMTPUTF8=False,  # our addresses are ASCII; without it nothing else reaches a header
            hostname=services.server,
            ident="pbem",
            timeout=limits.idle.total_seconds(),
            loop=loop,
        )
        self._calls = {
            "MAIL": limits.messages_per_connection,
            "XFORWARD": limits.messages_per_connection,
            "DATA": limits.messages_per_connection,
            "RSET": limits.messages_per_connection + IDLE_COMMANDS,
            "RCPT": limits.messages_per_connection * limits.recipients + IDLE_COMMANDS,
        }
        self._unknown = 0
        self._services = services
        self._faults = 0
        self._is_storing = False

    def begin_another(self, address: str, transport: asyncio.Transport) -> None:
        """Begin a copy of this session for a connection: to make a new one, aiosmtpd inspects all its members."""
        session = copy(self)
        transport.set_protocol(session)
        session.begin(address, transport)

    def begin(self, address: str, transport: asyncio.Transport) -> None:
        """Begin for a connection that was let in; share nothing more with the session of which this is a copy."""
        reader = asyncio.StreamReader(loop=self.loop, limit=CHUNK)
        connected = self._cb_client_connected
        asyncio.StreamReaderProtocol.__init__(self, reader, client_connected_cb=connected, loop=self.loop)
        self._smtp_methods = {name: getattr(self, f"smtp_{name}") for name in self._smtp_methods}
        self._called: Counter[str] = Counter()
        self.ended: asyncio.Future[None] = self.loop.create_future()
        self.address = self._client = address
        self.network = network_of(address)
        self._active = self.brought = self.loop.time()
        """The time of its last line, and the time at which its last letter was stored, or at first, it began."""
        self._services.admission.enter(self)
        self._deadline = self.loop.call_later(
            self._services.limits.session.total_seconds(), self.dismiss, "421 4.4.2 session too long"
        )
        self.connection_made(transport)

    @property
    def silent(self) -> float:
        """The seconds since the client's last line."""
        return self.loop.time() - self._active

    @property
    def without_result(self) -> float:
        """The seconds since its last letter was stored, or since it began."""
        return self.loop.time() - self.brought

    @property
    def may_be_ended(self) -> bool:
        """True if the client would lose only time, and is not our own mail server."""
        return bool(self.address) and not self._is_storing

    def connection_lost(self, error: Exception | None) -> None:
        """Stop counting the session."""
        if self.ended.done():
            return
        self._deadline.cancel()
        self._services.admission.leave(self)
        super().connection_lost(error)
        self.ended.set_result(None)

    def dismiss(self, reply: str) -> None:
        """End the session with a 421, but never between a letter's final dot and its reply.

        RFC 5321 4.2.5: a letter answered with a 4xx must not be delivered, but this one is being stored.
        """
        transport = self.transport
        if not isinstance(transport, asyncio.Transport) or transport.is_closing():
            return
        if self._is_storing:
            self.loop.call_later(1, self.dismiss, reply)
            return
        transport.write(f"{reply}\r\n".encode("ascii"))
        transport.close()
        # Otherwise a client that does not read would keep the transport open for ever.
        self.loop.call_later(LINGER, transport.abort)

    def make_room(self) -> None:
        """End the session now; the reply arrives only if it needs no waiting."""
        assert isinstance(self.transport, asyncio.Transport)
        self.transport.write(f"{OTHERS_WAIT}\r\n".encode("ascii"))
        self.transport.abort()

    def _hang_up(self, reply: str) -> NoReturn:
        """End the session at once, and read nothing more, not even lines that the client already sent."""
        self.dismiss(reply)
        raise ConnectionResetError

    def data_received(self, data: bytes) -> None:
        """Take in octets."""
        # A client that sends octets but never a whole line is as idle as one that sends nothing.
        if b"\n" in data:
            self._active = self.loop.time()
        super().data_received(data)

    def _reset_timeout(self, duration: float | None = None) -> None:
        """Restart the wait; a session has one timer, which checks the time when it fires."""
        self._active = self.loop.time()
        if duration is not None or self._timeout_handle is None:
            super()._reset_timeout(duration)

    def _timeout_cb(self) -> None:
        left = self._active + self._timeout_duration - self.loop.time()
        if left > 0:
            super()._reset_timeout(left)
        else:
            self.dismiss("421 4.4.2 idle too long")

    async def _handle_client(self) -> None:
        try:
            await self.push(f"220 {self.hostname} pbem")
            while self.transport is not None:
                await self._obey()
        except (ConnectionError, asyncio.IncompleteReadError):
            return  # the client has gone
        except asyncio.CancelledError:
            self._writer.close()
            raise
        except Exception as error:
            self.dismiss(self._services.storing.trouble("421 4.3.0 local trouble", error))

    async def _obey(self) -> None:
        """Handle one command, from its line to its reply."""
        try:
            line = await self._reader.readuntil()
        except asyncio.LimitOverrunError:
            await self._skip_line()
            await self.push(COMMAND_TOO_LONG)
            return
        # No control characters (RFC 5321 4.1.2): other servers may take a bare CR for the end of a command.
        text = line.removesuffix(b"\n").removesuffix(b"\r")
        word, _, rest = text.partition(b" ")
        if not word or CONTROL.search(text):
            await self.push("500 Error: bad syntax")
            return
        # Only ASCII: SMTPUTF8 is not offered.
        if not text.isascii():
            await self.push("500 Error: strict ASCII mode" if word.isascii() else "500 Error: bad syntax")
            return
        # Commands have a length (RFC 5321 4.5.3.1.4), and a number in each session.
        command, argument = word.decode("ascii").upper(), rest.strip().decode("ascii") or None
        if len(line) > self.command_size_limits[command] + len(b"\r\n"):
            await self.push(COMMAND_TOO_LONG)
            return
        self._called[command] += 1
        if self._called[command] > self._calls.get(command, IDLE_COMMANDS):
            self._hang_up(f"421 4.7.0 {command} sent too many times")
        # Who tries many unknown commands speaks no SMTP.
        method = self._smtp_methods.get(command)
        if method is None:
            self._unknown += 1
            if self._unknown == BOGUS_LIMIT:
                self._hang_up("502 5.5.1 Too many unrecognized commands, goodbye.")
            await self.push(f'500 Error: command "{command}" not recognized')
            return
        try:
            await method(argument)
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            raise
        # An error of ours must not look like a refusal: with 451, the client keeps the letter.
        except Exception as error:
            await self.push(self._services.storing.trouble("451 4.3.0 local trouble", error))

    async def _skip_line(self) -> None:
        """Read and discard the rest of a line that is too long."""
        while True:
            try:
                await self._reader.readuntil()
            except asyncio.LimitOverrunError as error:
                await self._reader.read(error.consumed)
            else:
                return

    async def push(self, status: AnyStr) -> None:
        """Send a reply; after too many refusals, end the session."""
        reply = status if isinstance(status, bytes) else str(status).encode("ascii")
        self._writer.write(reply + b"\r\n")
        await self._writer.drain()
        if reply[:1] == b"5":
            self._faults += 1
            if self._faults == FAULTS:
                self._services.admission.turned_away("connection ended: too many faults", self.address)
                self._hang_up("421 4.7.0 too many faults")


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
