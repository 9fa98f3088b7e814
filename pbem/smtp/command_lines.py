"""The commands of SMTP and LMTP, from EHLO to DATA, and their replies.

aiosmtpd 1.4.6 obeys most of them; plain paths are read here, because it takes longer for them than for all the rest,
and TLS is started here, because it loses count of sessions. Implements RFC 5321, RFC 2033 (LMTP), RFC 3207
(STARTTLS), RFC 2034 (enhanced codes), and Postfix's XFORWARD.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, cast

from aiosmtpd.lmtp import LMTP

from pbem.mail.mail_addresses import without_tags
from pbem.networks import is_of_this_machine, network_of
from pbem.smtp.session import Session, read_data
from pbem.store.inbox import Envelope

if TYPE_CHECKING:
    import asyncio
    import ssl

    from aiosmtpd import smtp

    from pbem.smtp.session import Recipients, SessionServices

FORWARDED = re.compile(r"ADDR=(?:IPV6:)?([0-9A-F.:]+)", re.IGNORECASE)  # of XFORWARD; "[UNAVAILABLE]" is none

# The paths that nearly all clients send. aiosmtpd reads others by the email package, twenty times as slowly.
_ATOM = r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+"
PLAIN_PATH = re.compile(rf"<({_ATOM}(?:\.{_ATOM})*@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)*)>")


class _SmtpHandler:
    """aiosmtpd's hooks."""

    def __init__(self, recipients: Recipients) -> None:
        self._recipients = recipients

    async def handle_EHLO(
        self,
        server: SmtpSession,
        session: smtp.Session,
        _envelope: smtp.Envelope,
        hostname: str,
        _responses: list[str],
    ) -> list[str]:
        session.host_name = hostname
        offers = [f"SIZE {server.data_size_limit}", "8BITMIME", "PIPELINING", "ENHANCEDSTATUSCODES"]
        if server.offers_tls:
            offers.append("STARTTLS")
        if server.hears_of_clients:
            offers.append("XFORWARD ADDR")
        return [f"250-{line}" for line in (server.hostname, *offers)] + ["250 HELP"]

    async def handle_RCPT(
        self,
        _server: SmtpSession,
        _session: smtp.Session,
        envelope: smtp.Envelope,
        address: str,
        _options: list[str],
    ) -> str:
        return self._recipients.judged(address, envelope.rcpt_tos)


class SmtpSession(Session):
    """A session that speaks SMTP."""

    answers_each = False
    """True if the final dot is answered for each recipient."""

    def __init__(
        self, services: SessionServices, loop: asyncio.AbstractEventLoop, tls: ssl.SSLContext | None
    ) -> None:
        super().__init__(services, _SmtpHandler(services.recipients), loop)
        self._tls = tls
        self._secure = False

    @property
    def offers_tls(self) -> bool:
        """True if STARTTLS is possible and not yet done."""
        return self._tls is not None and not self._secure

    async def smtp_AUTH(self, _arg: str | None) -> None:
        """AUTH: nobody logs in here."""
        await self.push("502 5.5.1 no accounts here")

    async def smtp_BDAT(self, _arg: str | None) -> None:
        """BDAT, which is not offered: the letter that follows must not be read as commands."""
        self._hang_up("421 4.7.0 no chunks here")

    async def smtp_GET(self, _arg: str | None) -> None:
        """HTTP: a browser can be made to post SMTP commands to us, and its first line ends it."""
        self._services.admission.turned_away("connection ended: HTTP", self.address)
        self._hang_up("421 4.7.0 this is a mail server")

    smtp_POST = smtp_PUT = smtp_HEAD = smtp_OPTIONS = smtp_CONNECT = smtp_DELETE = smtp_GET

    async def smtp_STARTTLS(self, arg: str | None) -> None:
        """STARTTLS (RFC 3207): what was said before it is forgotten, and what came too early is dropped."""
        if arg:
            await self.push("501 5.5.4 STARTTLS takes no argument")
            return
        if self._tls is None or self._secure:
            await self.push("503 5.5.1 TLS is in use" if self._secure else "454 4.7.0 TLS is not available")
            return
        transport = cast("asyncio.Transport", self.transport)
        transport.pause_reading()
        await self.push("220 2.0.0 go ahead")
        # Plain text that was sent along would be taken for what the client said under TLS.
        self._reader._buffer.clear()  # type: ignore[attr-defined] # noqa: SLF001 - asyncio has no other way to drop it
        try:
            await self._writer.start_tls(self._tls, ssl_handshake_timeout=self._timeout_duration)
        except (OSError, AttributeError) as error:
            # If we ended the connection meanwhile, asyncio has no transport, and fails without one.
            self._writer._transport = transport  # type: ignore[attr-defined] # noqa: SLF001 - or its end fails, too
            self._services.admission.turned_away("connection ended: no TLS", self.address)
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
        """True if this is a mail server of this machine, which is believed about its clients."""
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

    def _getaddr(self, arg: str) -> tuple[str | None, str | None]:
        """The path of a MAIL or RCPT, and the parameters behind it."""
        plain = PLAIN_PATH.match(arg)
        return (plain[1], arg[plain.end() :]) if plain else super()._getaddr(arg)

    async def smtp_MAIL(self, arg: str | None) -> None:
        """MAIL; others may wait a moment for the letter that it begins."""
        await super().smtp_MAIL(arg)
        if self.envelope is not None and self.envelope.mail_from:
            self._services.admission.writing.add(self)

    def _create_envelope(self) -> smtp.Envelope:
        """A new envelope, for what follows a letter or a RSET."""
        self._services.admission.writing.discard(self)
        return super()._create_envelope()

    async def smtp_RCPT(self, arg: str | None) -> None:
        """RCPT; `<postmaster>` is valid without a domain (RFC 5321 4.5.1)."""
        if arg is not None and arg.lower().replace(" ", "") == "to:<postmaster>":
            arg = f"TO:<postmaster@{self._services.server}>"
        await super().smtp_RCPT(arg)

    async def smtp_DATA(self, arg: str | None) -> None:
        """DATA, read here: aiosmtpd keeps all of an endless line, and gives one reply to LMTP's recipients."""
        if await self.check_helo_needed():
            return
        envelope = self.envelope
        if envelope is None or not envelope.rcpt_tos:
            await self.push("503 5.5.1 need RCPT first")
            return
        if arg:
            await self.push("501 5.5.4 DATA takes no argument")
            return
        # An empty message ends with its first line: the CRLF before the dot came with the command.
        self._reader._buffer[:0] = b"\r\n"  # type: ignore[attr-defined] # noqa: SLF001 - asyncio cannot give back
        await self.push("354 end with a dot on a line of its own")
        raw, refusal, hang_up = await read_data(self._reader, self._services.limits)
        sender = "" if envelope.mail_from == "<>" else without_tags(envelope.mail_from or "")
        network = "" if is_of_this_machine(self._client) else network_of(self._client)
        reply = refusal or await self._store(Envelope(sender, tuple(envelope.rcpt_tos), network), raw)
        self.envelope = self._create_envelope()
        await self.push("\r\n".join([reply] * (len(envelope.rcpt_tos) if self.answers_each else 1)))
        self._services.points("250 said")
        if hang_up:
            self._hang_up("421 4.7.0 out of step")

    async def _store(self, envelope: Envelope, raw: bytes) -> str:
        self._is_storing = True
        self._services.admission.writing.discard(self)
        try:
            return await self._services.storing.store(envelope, raw)
        finally:
            self._is_storing = False
            self.brought = self.loop.time()
            if self.transport is not None:
                self._reset_timeout()


class LmtpSession(SmtpSession, LMTP):
    """A session that speaks LMTP: LHLO, and a reply for each recipient (RFC 2033 4.2)."""

    answers_each = True
