"""Taking letters in by SMTP and LMTP: the only module that knows aiosmtpd, and restrains it.

Here live the listeners, the sessions with their limits, and the replies. A letter is handed on as envelope and
bytes to `accept`, which stores it; "250" is sent after that has returned. Nothing is read or decided here. The gaps
of aiosmtpd 1.4.6 are closed below: DATA is read here (bounded memory, all of LMTP's replies), TLS is started here
(aiosmtpd's way loses count of sessions), an exception is never shown to a client, and connections, commands and
time are counted. Implements reliability.md, promises 1 and 2, cases 1 to 8 and 10 to 15; RFC 5321, RFC 2033 (LMTP),
RFC 3207 (STARTTLS), RFC 2034 (enhanced codes), haproxy's PROXY protocol.
"""

from __future__ import annotations

import asyncio
import errno
import os
import re
import socket
import ssl
from collections import Counter
from collections.abc import Awaitable, Callable
from copy import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING, AnyStr, NoReturn, Self, cast

import structlog
from aiosmtpd.lmtp import LMTP
from aiosmtpd.proxy_protocol import get_proxy
from aiosmtpd.smtp import BOGUS_LIMIT, SMTP

from pbem.failpoints import Failpoints, passing
from pbem.smtp.networks import is_of_this_machine, network_of
from pbem.store.errors import BusyError, FullError
from pbem.store.inbox import ROLES, Envelope

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from aiosmtpd import smtp

    from pbem.config import Limits, Listener

__all__ = ["Accept", "Intake", "Place", "Refusal"]

Accept = Callable[[Envelope, bytes], Awaitable[None]]
"""Stores one letter; returns when it is on disk, and raises when it is not."""

COMMAND_BYTES = 512  # RFC 5321 4.5.3.1.4
MAIL_PARAMETERS = 64  # what SIZE and BODY may add to that (RFC 1870 3, RFC 6152 2)
IDLE_COMMANDS = 50  # NOOP, HELP, VRFY and their like, each in one session
FAULTS = 20  # refused commands in one session: a lost client gives up earlier, a scanner does not
DRAIN = 128  # times the message limit: how much of an oversized message is still read before hanging up
CHUNK = 64 * 1024
LINGER = 2.0  # seconds that a closing connection gets to take our last reply
SHARES = 4  # networks among which connections are divided when all are taken
LOG_EVERY = 10.0  # seconds between lines in the log about connections that are too many
PATIENCE = 1.0  # seconds of silence after which a connection makes room for another when all are taken
WAITING = 1024  # connections that may wait to be looked at: many that come at once must not keep one out
PROXY_SECONDS = 5.0  # until the header of a proxy must be there: it is the first thing that is sent
OURS = 0o660  # a Unix socket is for us and for the mail server, which is in our group
FORWARDED = re.compile(r"ADDR=(?:IPV6:)?([0-9A-F.:]+)", re.IGNORECASE)  # of XFORWARD; "[UNAVAILABLE]" is none
CONTROL = re.compile(rb"[\0-\x08\x0a-\x1f\x7f]")  # in no command (RFC 5321 4.1.2); a bare CR may end one elsewhere
HTTP = ("GET", "POST", "PUT", "HEAD", "OPTIONS", "CONNECT", "DELETE")

TOO_BIG = "552 5.3.4 message too big"  # RFC 5321 4.5.3.1.9
TOO_MANY_LINES = "552 5.3.4 message has too many lines"
TOO_MANY = "421 4.7.0 too many connections"
OTHERS_WAIT = "421 4.7.0 others wait, come again"
LINE_TOO_LONG = "500 5.5.2 line too long"  # RFC 5321 4.5.3.1.10
COMMAND_TOO_LONG = "500 Command line too long"

END = b"\r\n.\r\n"
"""The end of a message, and nothing else is: a bare CR or LF is just another octet (RFC 5321 4.1.1.4)."""

# The plain paths that nearly all clients send; whatever looks otherwise is read by aiosmtpd, twenty times as slowly.
_ATOM = r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+"
_PLAIN = rf"<({_ATOM}(?:\.{_ATOM})*@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)*)>"
PLAIN_MAIL = re.compile(rf"FROM: ?{_PLAIN}( SIZE=[0-9]{{1,9}})?( BODY=(?:7BIT|8BITMIME))?", re.IGNORECASE)
PLAIN_RCPT = re.compile(rf"TO: ?{_PLAIN}", re.IGNORECASE)

log = structlog.get_logger()


class Refusal(Exception):
    """Raised by `accept` to answer a letter with a 4xx or 5xx reply of its own; nothing was stored."""

    def __init__(self, reply: str) -> None:
        super().__init__(reply)
        self.reply = reply


@dataclass(frozen=True, slots=True)
class Place:
    """Where a listener really listens: host and the port that was bound, or the path of a Unix socket."""

    protocol: str
    host: str = ""
    port: int = 0
    path: str = ""


class Intake:
    """The listeners of one server and all their sessions."""

    def __init__(
        self,
        server: str,
        address: str,
        accept: Accept,
        *,
        limits: Limits,
        delimiter: str = "+",
        reference: Callable[[], str],
        points: Failpoints = passing,
    ) -> None:
        self.server = server
        self.points = points
        self.limits = limits
        self.accept = accept
        self.reference = reference
        self._local, _, self._domain = address.lower().rpartition("@")
        self._delimiter = delimiter
        self._servers: list[asyncio.Server] = []
        self._paths: list[Path] = []
        self.sessions: set[_Session] = set()
        self.per_address: Counter[str] = Counter()
        self.writing: set[_Session] = set()
        """The sessions with a letter that has begun and is not all here: others may wait a moment for theirs."""
        self._storing: set[asyncio.Future[None]] = set()
        self._turned_away = 0
        self._log_again = 0.0

    @property
    def mailbox(self) -> str:
        """The server's address."""
        return f"{self._local}@{self._domain}"

    async def listen(self, protocol: str, listener: Listener, handed: Sequence[socket.socket] = ()) -> list[Place]:
        """Bind a place for "smtp" or "lmtp", or take the sockets `handed` over; nobody is let in before `open`.

        Raises OSError if the place is taken, or a certificate is missing.
        """
        kind = _LmtpSession if protocol == "lmtp" else _SmtpSession
        loop = asyncio.get_running_loop()
        first = kind(self, loop, _tls(listener), proxy=listener.proxy)

        def door() -> asyncio.Protocol:
            return AdmissionProtocol(self, first.another)

        place = listener.listen
        if place.systemd:
            servers = [await loop.create_server(door, sock=sock, start_serving=False) for sock in handed]
        elif place.path is not None:
            _clear(place.path)
            servers = [await loop.create_unix_server(door, place.path, start_serving=False)]
            self._paths.append(place.path)
            place.path.chmod(OURS)
        else:
            servers = [await loop.create_server(door, place.host, place.port, backlog=WAITING, start_serving=False)]
        self._servers += servers
        return [_place(protocol, server.sockets[0].getsockname()) for server in servers]

    async def open(self) -> None:
        """Let clients in at all bound places."""
        for server in self._servers:
            await server.start_serving()

    async def close(self) -> None:
        """Stop listening, let letters that are being stored get their reply, and end all sessions."""
        for server in self._servers:
            server.close()
        if self._storing:
            await asyncio.wait(self._storing)
        for session in list(self.sessions):
            session.dismiss("421 4.3.2 the server is going down")
        await asyncio.gather(*(session.ended for session in self.sessions))
        for path in self._paths:
            path.unlink(missing_ok=True)

    def knows(self, recipient: str) -> bool:
        """Whether letters for this address are accepted: the mailbox, its sub-addresses, postmaster and abuse."""
        local, _, domain = recipient.lower().rpartition("@")
        if domain not in {self._domain, self.server}:
            return False
        detail = local.removeprefix(self._local + self._delimiter) if self._delimiter else ""
        return local in {self._local, *ROLES} or detail not in {local, ""}

    def judged(self, recipient: str, others: list[str]) -> str:
        """Add a recipient to the others if letters for it are accepted; returns the reply to its RCPT."""
        if not self.knows(recipient):
            return "550 5.1.1 no such mailbox here"
        if len(others) >= self.limits.recipients:
            return "452 4.5.3 too many recipients"  # RFC 5321 4.5.3.1.10
        others.append(recipient)
        return "250 2.1.5 known"

    def admits(self, address: str) -> bool:
        """Whether there is room for one more connection from there; a silent one may be closed for it."""
        # Whoever comes through a Unix socket is our own mail server, and has no address.
        if address and self.per_address[address] >= self.limits.connections_per_address:
            return False
        return len(self.sessions) < self.limits.connections or self._make_room()

    def _make_room(self) -> bool:
        """End the least important connection; returns whether there was one.

        First of a network that holds more than its share, then of those that have been silent for a while, the
        longest silent one, so that nobody keeps others out by coming first, or with many addresses.
        """
        held = Counter(session.network for session in self.sessions)
        share = max(self.limits.connections // SHARES, self.limits.connections_per_address)
        candidates = [session for session in self.sessions if session.may_be_ended]
        least = min(candidates, key=lambda one: (held[one.network] <= share, -one.silent), default=None)
        if least is None or not (held[least.network] > share or least.silent > PATIENCE):
            return False
        self.turned_away("connection ended: others wait", least.address)
        least.make_room()
        return True

    def turned_away(self, event: str, address: str) -> None:
        """Log that connections are too many, or misused: only now and then, because there may be many more."""
        self._turned_away += 1
        now = asyncio.get_running_loop().time()
        if now >= self._log_again:
            log.warning(event, peer=address, count=self._turned_away)
            self._turned_away, self._log_again = 0, now + LOG_EVERY

    async def store(self, envelope: Envelope, raw: bytes) -> str:
        """Store a letter and return the reply.

        A client that hangs up cancels its session, never the storing: the letter is stored whole, and the
        client's retry is recognised.
        """
        self.points("message read")
        storing = asyncio.ensure_future(self.accept(envelope, raw))
        self._storing.add(storing)
        storing.add_done_callback(self._stored)
        try:
            await asyncio.shield(storing)
            self.points("letter stored")
        except Refusal as refusal:
            return refusal.reply
        except BusyError:
            return self.trouble("451 4.3.0 busy, come again", None)
        except FullError as error:
            return self.trouble("452 4.3.1 no room, come again", error)  # RFC 3463 3.4: mail system full
        except Exception as error:
            return self.trouble("451 4.3.0 local trouble, come again", error)
        log.debug("letter stored", octets=len(raw), recipients=len(envelope.recipients))
        return "250 2.0.0 stored"

    def _stored(self, storing: asyncio.Future[None]) -> None:
        self._storing.discard(storing)
        if not storing.cancelled():
            storing.exception()  # a client that hung up does not ask for it

    def trouble(self, reply: str, error: BaseException | None) -> str:
        """Log our own fault under a new reference, and return a reply that names only that reference."""
        reference = self.reference()
        log.error("intake trouble", reference=reference, reply=reply[:3], exc_info=error)
        return f"{reply} (reference {reference})"


def _tls(listener: Listener) -> ssl.SSLContext | None:
    if not listener.certificate:
        return None
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(listener.certificate, listener.certificate_key)
    return context


def _clear(path: Path) -> None:
    """Remove a Unix socket that a killed process left behind; raises OSError if somebody listens there."""
    if not path.is_socket():
        return
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_CLOEXEC) as visitor:
        try:
            visitor.connect(str(path))
        except ConnectionRefusedError:
            path.unlink()
        else:
            raise OSError(errno.EADDRINUSE, os.strerror(errno.EADDRINUSE), str(path))


def _place(protocol: str, name: tuple[str, int] | bytes | str) -> Place:
    if isinstance(name, tuple):
        return Place(protocol, host=name[0], port=name[1])
    return Place(protocol, path=name.decode() if isinstance(name, bytes) else name)


class AdmissionProtocol(asyncio.Protocol):
    """Lets a connection in as a session, or turns it away cheaply: a session is costly to make."""

    def __init__(self, intake: Intake, session: Callable[[], _Session]) -> None:
        self._intake = intake
        self._session = session

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        transport = cast("asyncio.Transport", transport)
        peer = transport.get_extra_info("peername")
        address = str(peer[0]) if isinstance(peer, tuple) else ""
        if self._intake.admits(address):
            session = self._session()
            transport.set_protocol(session)
            session.admitted(address, transport)
            return
        self._intake.turned_away("connection refused: too many", address)
        transport.write(TOO_MANY.encode("ascii") + b"\r\n")
        transport.close()


class _Sizes(dict[str, int]):
    """Command length limits of one session; aiosmtpd's own table is shared by all and grows."""

    def __missing__(self, command: str) -> int:
        return COMMAND_BYTES + (MAIL_PARAMETERS if command == "MAIL" else 0)

    def __setitem__(self, command: str, size: int) -> None:
        """Nothing: aiosmtpd adds to MAIL's limit at each EHLO."""


class _Handler:
    """aiosmtpd's hooks for one intake."""

    def __init__(self, intake: Intake) -> None:
        self._intake = intake

    async def handle_EHLO(
        self, server: _Session, session: smtp.Session, envelope: smtp.Envelope, hostname: str, responses: list[str]
    ) -> list[str]:
        del envelope, responses
        session.host_name = hostname
        offers = [f"SIZE {server.data_size_limit}", "8BITMIME", "PIPELINING", "ENHANCEDSTATUSCODES"]
        if server.offers_tls:
            offers.append("STARTTLS")
        if server.hears_of_clients:
            offers.append("XFORWARD ADDR")
        return [f"250-{line}" for line in (server.hostname, *offers)] + ["250 HELP"]

    async def handle_RCPT(
        self, server: SMTP, session: smtp.Session, envelope: smtp.Envelope, address: str, options: list[str]
    ) -> str:
        del server, session, options
        return self._intake.judged(address, envelope.rcpt_tos)


class _Session(SMTP):
    """One connection, with what aiosmtpd lacks; `ended` is done once the connection is over.

    The commands that each letter takes are read here, too: aiosmtpd spends more time on its debug log, on a timer a
    line and on the email package's reading of a path than on all the rest.
    """

    line_length_limit = CHUNK

    def __init__(
        self, intake: Intake, loop: asyncio.AbstractEventLoop, tls: ssl.SSLContext | None, *, proxy: bool
    ) -> None:
        limits = intake.limits
        self.command_size_limits = _Sizes()
        super().__init__(
            _Handler(intake),
            data_size_limit=limits.message_bytes,
            enable_SMTPUTF8=False,  # our addresses are ASCII; without it nothing else reaches a header
            hostname=intake.server,
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
        self._called: Counter[str] = Counter()
        self._unknown = 0
        self._active = 0.0
        self._introducing = False
        self._intake = intake
        self._tls = tls
        self._proxy = proxy
        self._faults = 0
        self._secure = False
        self._storing = False
        self._deadline: asyncio.TimerHandle | None = None
        self.address = ""
        self.network = ""
        self._client = ""
        self.ended: asyncio.Future[None] = loop.create_future()

    def another(self) -> Self:
        """A session like this one, for the next connection: aiosmtpd looks through all its members to make one."""
        made = copy(self)
        made.begin_anew()
        return made

    def begin_anew(self) -> None:
        """Share nothing any more with the session of which this is a copy."""
        reader = asyncio.StreamReader(loop=self.loop, limit=CHUNK)
        connected = self._cb_client_connected
        asyncio.StreamReaderProtocol.__init__(self, reader, client_connected_cb=connected, loop=self.loop)
        self._smtp_methods = {name: getattr(self, f"smtp_{name}") for name in self._smtp_methods}
        self._called = Counter()
        self.ended = self.loop.create_future()

    @property
    def silent(self) -> float:
        """For how many seconds the client has been silent."""
        return self.loop.time() - self._active

    @property
    def may_be_ended(self) -> bool:
        """Whether the client would lose only time, and is not our own mail server."""
        return bool(self.address) and not self._storing

    @property
    def offers_tls(self) -> bool:
        """Whether STARTTLS is possible and not yet done."""
        return self._tls is not None and not self._secure

    def admitted(self, address: str, transport: asyncio.Transport) -> None:
        """Begin the session of a connection that was let in."""
        # A proxy stands for many clients: each is counted once it is named.
        self.address = "" if self._proxy else address
        self.network = network_of(self.address)
        self._client = self.address
        self._active = self.loop.time()
        self._intake.sessions.add(self)
        self._intake.per_address[self.address] += 1
        self._deadline = self.loop.call_later(
            self._intake.limits.session.total_seconds(), self.dismiss, "421 4.4.2 session too long"
        )
        self.connection_made(transport)

    def proxied(self, address: str) -> bool:
        """Count the client for which a proxy speaks; returns whether it is let in."""
        if address and self._intake.per_address[address] >= self._intake.limits.connections_per_address:
            self._intake.turned_away("connection refused: too many", address)
            self.dismiss(TOO_MANY)
            return False
        self._uncount()
        self.address = self._client = address
        self.network = network_of(address)
        self._intake.per_address[address] += 1
        return True

    def connection_lost(self, error: Exception | None) -> None:
        if self.ended.done():
            return
        if self._deadline is not None:
            self._deadline.cancel()
        self._intake.sessions.discard(self)
        self._intake.writing.discard(self)
        self._uncount()
        super().connection_lost(error)
        self.ended.set_result(None)

    def _uncount(self) -> None:
        self._intake.per_address[self.address] -= 1
        if not self._intake.per_address[self.address]:
            del self._intake.per_address[self.address]

    def dismiss(self, reply: str) -> None:
        """End the session with a 421, but never between a letter's final dot and its reply.

        RFC 5321 4.2.5: a letter answered with a 4xx must not be delivered, but this one is being stored.
        """
        transport = self.transport
        if not isinstance(transport, asyncio.Transport) or transport.is_closing():
            return
        if self._storing:
            self.loop.call_later(1, self.dismiss, reply)
            return
        transport.write(f"{reply}\r\n".encode("ascii"))
        transport.close()
        # A client that does not read keeps the transport from closing: it had its chance.
        self.loop.call_later(LINGER, transport.abort)

    def make_room(self) -> None:
        """End the session now, with what can be said without waiting."""
        assert isinstance(self.transport, asyncio.Transport)
        self._intake.sessions.discard(self)
        self.transport.write(f"{OTHERS_WAIT}\r\n".encode("ascii"))
        self.transport.abort()

    def _hang_up(self, reply: str) -> NoReturn:
        """End the session at once: nothing more of what the client already sent is read."""
        self.dismiss(reply)
        raise ConnectionResetError

    def data_received(self, data: bytes) -> None:
        # Who sends octets but never a whole line is as idle as who sends nothing.
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
        if self._introducing:
            cast("asyncio.Transport", self.transport).close()  # a proxy is told nothing
        elif left > 0:
            super()._reset_timeout(left)
        else:
            self.dismiss("421 4.4.2 idle too long")

    async def _handle_client(self) -> None:
        try:
            if self._proxy:
                await self._introduce()
            await self.push(f"220 {self.hostname} pbem")
            while self.transport is not None:
                await self._obey()
        except (ConnectionError, asyncio.IncompleteReadError):
            return  # the client went away; there is nobody to answer
        except asyncio.CancelledError:
            self._writer.close()
            raise
        except Exception as error:  # such as a PROXY header without an end
            self.dismiss(self._intake.trouble("421 4.3.0 local trouble", error))

    async def _introduce(self) -> None:
        """Read from the proxy for whom it speaks."""
        assert self.session is not None
        self._introducing = True
        self._reset_timeout(PROXY_SECONDS)
        self.session.proxy_data = data = await get_proxy(self._reader)
        if not data or not self.proxied(str(data.src_addr or "")):
            assert isinstance(self.transport, asyncio.Transport)
            self.transport.close()
            raise ConnectionResetError
        self._introducing = False
        self._reset_timeout(self._timeout_duration)

    async def _obey(self) -> None:
        """One command, from its line to its reply."""
        try:
            line = await self._reader.readuntil()
        except asyncio.LimitOverrunError:
            await self._skip_line()
            await self.push(COMMAND_TOO_LONG)
            return
        said = line.removesuffix(b"\n").removesuffix(b"\r")
        word, _, rest = said.partition(b" ")
        if not word or CONTROL.search(said):
            await self.push("500 Error: bad syntax")
            return
        if not said.isascii():
            await self.push("500 Error: strict ASCII mode" if word.isascii() else "500 Error: bad syntax")
            return
        command, argument = word.decode("ascii").upper(), rest.strip().decode("ascii") or None
        if len(line) > self.command_size_limits[command] + len(b"\r\n"):
            await self.push(COMMAND_TOO_LONG)
            return
        self._called[command] += 1
        if self._called[command] > self._calls.get(command, IDLE_COMMANDS):
            self._hang_up(f"421 4.7.0 {command} sent too many times")
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
        except Exception as error:
            await self.push(self._intake.trouble("451 4.3.0 local trouble", error))

    async def _skip_line(self) -> None:
        """Read a line that is too long to its end, keeping nothing."""
        while True:
            try:
                await self._reader.readuntil()
            except asyncio.LimitOverrunError as error:
                await self._reader.read(error.consumed)
            else:
                return

    async def push(self, status: AnyStr) -> None:
        """Send a reply; a session that earned too many refusals is ended."""
        reply = status if isinstance(status, bytes) else str(status).encode("ascii")
        self._writer.write(reply + b"\r\n")
        await self._writer.drain()
        if reply[:1] == b"5":
            self._faults += 1
            if self._faults == FAULTS:
                self._intake.turned_away("connection ended: too many faults", self.address)
                self._hang_up("421 4.7.0 too many faults")

    async def smtp_HELP(self, arg: str | None) -> None:
        """HELP, for people who connect by hand."""
        del arg
        await self.push(f"214 2.0.0 letters for {self._intake.mailbox}; one that says `help` is answered")

    async def smtp_AUTH(self, arg: str | None) -> None:
        """AUTH: nobody logs in here."""
        del arg
        await self.push("502 5.5.1 no accounts here")

    async def smtp_BDAT(self, arg: str | None) -> None:
        """BDAT, which is not offered: the letter that follows must not be read as commands."""
        del arg
        self._hang_up("421 4.7.0 no chunks here")

    async def smtp_STARTTLS(self, arg: str | None) -> None:
        """STARTTLS (RFC 3207): what was said before it is forgotten, and what came too early is dropped."""
        if arg:
            await self.push("501 5.5.4 STARTTLS takes no argument")
            return
        if not self.offers_tls:
            await self.push("503 5.5.1 TLS is in use" if self._secure else "454 4.7.0 TLS is not available")
            return
        assert self._tls is not None
        transport = cast("asyncio.Transport", self.transport)
        transport.pause_reading()
        await self.push("220 2.0.0 go ahead")
        # Plain text that was sent along would be taken for what the client said under TLS.
        self._reader._buffer.clear()  # type: ignore[attr-defined] # noqa: SLF001 - asyncio has no other way to drop it
        try:
            await self._writer.start_tls(self._tls, ssl_handshake_timeout=self._timeout_duration)
        except OSError as error:
            self._intake.turned_away("connection ended: no TLS", self.address)
            transport.abort()
            self.connection_lost(None)  # which asyncio does not say of a handshake that failed
            raise ConnectionResetError from error
        self.transport = self._reader._transport = self._writer.transport  # type: ignore[attr-defined] # noqa: SLF001
        self._secure = True
        self._client = self.address
        self.envelope = self._create_envelope()
        self.session = self._create_session()
        self._reset_timeout()

    @property
    def hears_of_clients(self) -> bool:
        """Whether this is a mail server of this machine, which is believed about its clients."""
        return is_of_this_machine(self.address)

    async def smtp_XFORWARD(self, arg: str | None) -> None:
        """XFORWARD (Postfix's extension): the client from which the next letters came."""
        if not self.hears_of_clients:
            await self.push("550 5.7.0 not from you")
            return
        if await self.check_helo_needed():
            return
        if self.envelope is not None and self.envelope.mail_from:
            await self.push("503 5.5.1 not within a letter")
            return
        if not arg or "=" not in arg:
            await self.push("501 5.5.4 XFORWARD NAME=value")
            return
        named = FORWARDED.search(arg)
        self._client = named[1] if named else ""
        await self.push("250 2.0.0 noted")

    async def smtp_MAIL(self, arg: str | None) -> None:
        """MAIL; a plain path is used as it is."""
        plain = PLAIN_MAIL.fullmatch(arg or "")
        session, envelope = self.session, self.envelope
        assert session is not None
        assert envelope is not None
        if (
            plain is None
            or not session.host_name
            or envelope.mail_from
            or ((plain[2] or plain[3]) and not session.extended_smtp)
            or int((plain[2] or "=0").partition("=")[2]) > self._intake.limits.message_bytes
        ):
            await super().smtp_MAIL(arg)
            return
        envelope.mail_from = plain[1]
        self._intake.writing.add(self)
        await self.push("250 OK")

    def _create_envelope(self) -> smtp.Envelope:
        """A new envelope, for what follows a letter or a RSET."""
        self._intake.writing.discard(self)
        return super()._create_envelope()

    async def smtp_RCPT(self, arg: str | None) -> None:
        """RCPT; a plain path is used as it is, and `<postmaster>` without a domain is valid (RFC 5321 4.5.1)."""
        plain = PLAIN_RCPT.fullmatch(arg or "")
        if plain is not None and self.envelope is not None and self.envelope.mail_from:
            await self.push(self._intake.judged(plain[1], self.envelope.rcpt_tos))
            return
        if arg is not None and arg.lower().replace(" ", "") == "to:<postmaster>":
            arg = f"TO:<postmaster@{self._intake.server}>"
        await super().smtp_RCPT(arg)

    async def smtp_DATA(self, arg: str | None) -> None:
        """DATA, read here: aiosmtpd keeps all of an endless line, and gives one reply to LMTP's recipients."""
        if await self.check_helo_needed():
            return
        envelope = self.envelope
        assert envelope is not None
        if not envelope.rcpt_tos:
            await self.push("503 5.5.1 need RCPT first")
            return
        if arg:
            await self.push("501 5.5.4 DATA takes no argument")
            return
        # What ends an empty message must be seen as the end, too: its CRLF came with the command.
        self._reader._buffer[:0] = b"\r\n"  # type: ignore[attr-defined] # noqa: SLF001 - asyncio cannot give back
        await self.push("354 end with a dot on a line of its own")
        raw, refusal, hang_up = await self._read()
        sender = "" if envelope.mail_from == "<>" else envelope.mail_from or ""
        network = "" if is_of_this_machine(self._client) else network_of(self._client)
        reply = refusal or await self._store(Envelope(sender, tuple(envelope.rcpt_tos), network), raw)
        self.envelope = self._create_envelope()
        await self.push("\r\n".join([reply] * self._replies(len(envelope.rcpt_tos))))
        self._intake.points("250 said")
        if hang_up:
            self._hang_up("421 4.7.0 out of step")

    def _replies(self, recipients: int) -> int:
        """How many replies the final dot gets."""
        del recipients
        return 1

    async def _store(self, envelope: Envelope, raw: bytes) -> str:
        self._storing = True
        self._intake.writing.discard(self)
        try:
            return await self._intake.store(envelope, raw)
        finally:
            self._storing = False
            if self.transport is not None:
                self._reset_timeout()

    async def _read(self) -> tuple[bytes, str, bool]:
        """The message with its dots unstuffed, or the reply that refuses it; and whether to hang up afterwards."""
        pieces: list[bytes] = []
        size = 0
        while True:
            try:
                pieces.append(await self._reader.readuntil(END))
            except asyncio.LimitOverrunError as error:
                pieces.append(await self._reader.read(error.consumed))
            else:
                break
            size += len(pieces[-1])
            if size > self._intake.limits.message_bytes + CHUNK:
                seen = b"".join(pieces)
                return b"", *await self._drain(self._beyond(seen) or TOO_BIG, seen[1 - len(END) :])
        raw = b"".join(pieces)[: -len(b".\r\n")].replace(b"\r\n.", b"\r\n")[len(b"\r\n") :]
        return raw, self._beyond(raw), False

    def _beyond(self, raw: bytes) -> str:
        """The reply to a message beyond the limits; empty for all others."""
        limits = self._intake.limits
        if max(map(len, raw.split(b"\r\n"))) > limits.line_bytes:
            return LINE_TOO_LONG
        if raw.count(b"\r\n") > limits.message_lines:
            return TOO_MANY_LINES
        return TOO_BIG if len(raw) > limits.message_bytes else ""

    async def _drain(self, reply: str, seen: bytes) -> tuple[str, bool]:
        """Read a refused message to its end, keeping nothing; hang up if it seems to have no end.

        What a client sent after the end without waiting for the reply is lost with the message, so that
        such a session ends too.
        """
        end = b"\r\n.\r\n"
        left = DRAIN * self._intake.limits.message_bytes
        while left > 0:
            chunk = await self._reader.read(CHUNK)
            if not chunk:
                raise ConnectionResetError
            left -= len(chunk)
            window = seen + chunk
            found = window.find(end)
            if found >= 0:
                return reply, found + len(end) < len(window)
            seen = window[1 - len(end) :]
        return reply, True


async def _drop(self: _Session, arg: str | None) -> None:
    del arg
    self._intake.turned_away("connection ended: HTTP", self.address)
    self._hang_up("421 4.7.0 this is a mail server")


for _method in HTTP:
    # A browser can be made to post SMTP commands to us: the first line ends it.
    setattr(_Session, f"smtp_{_method}", _drop)


class _SmtpSession(_Session):
    """A session that speaks SMTP."""


class _LmtpSession(_Session, LMTP):
    """A session that speaks LMTP: LHLO, and a reply for each recipient (RFC 2033 4.2)."""

    def _replies(self, recipients: int) -> int:
        return recipients
