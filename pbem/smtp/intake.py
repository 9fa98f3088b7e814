"""Taking letters in by SMTP and LMTP: the listeners of one server, and what their sessions share.

A letter passes through these modules: `client_connections` lets its connection in, `session` reads lines and the
message, `command_lines` obeys them, `storing` says 250. Only `session` and `command_lines` know aiosmtpd, and
restrain it. Implements reliability.md, promises 1 and 2.
"""

from __future__ import annotations

import asyncio
import errno
import os
import socket
import ssl
from typing import TYPE_CHECKING

import msgspec

from pbem.failpoints import Failpoints, passing
from pbem.smtp.client_connections import Admission, AdmissionProtocol
from pbem.smtp.command_lines import LmtpSession, SmtpSession
from pbem.smtp.session import Recipients, SessionServices
from pbem.smtp.storing import Storing

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from pbem.config.limits import Limits
    from pbem.config.mail import ListenerConfig
    from pbem.smtp.storing import Accept

WAITING = 1024  # connections that may wait to be looked at: many that come at once must not keep one out
OURS = 0o660  # a Unix socket is for us and for the mail server, which is in our group


class IntakePlace(msgspec.Struct, frozen=True):
    """The place at which a listener listens: host and the port that was bound, or the path of a Unix socket."""

    protocol: str
    host: str = ""
    port: int = 0
    path: str = ""

    @property
    def address(self) -> dict[str, str | int]:
        """The place without its protocol, as a JSON object."""
        return {"path": self.path} if self.path else {"host": self.host, "port": self.port}


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
        self.recipients = Recipients(server, address, delimiter, limits.recipients)
        self.admission = Admission(limits)
        self._storing = Storing(accept, reference, points)
        self._services = SessionServices(server, limits, self.recipients, self.admission, self._storing, points)
        self._servers: list[asyncio.Server] = []
        self._paths: list[Path] = []

    async def listen(
        self, protocol: str, listener: ListenerConfig, handed: Sequence[socket.socket] = ()
    ) -> list[IntakePlace]:
        """Bind a place for "smtp" or "lmtp", or take the sockets `handed` over; nobody is let in before `open`.

        Raises OSError if the place is taken, or a certificate is missing.
        """
        context = certified(listener)
        kind = LmtpSession if protocol == "lmtp" else SmtpSession
        loop = asyncio.get_running_loop()
        first = kind(self._services, loop, context)

        def door() -> asyncio.Protocol:
            return AdmissionProtocol(self.admission, first.begin_another)

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
        names = (server.sockets[0].getsockname() for server in servers)
        return [
            IntakePlace(protocol, host=name[0], port=name[1])
            if isinstance(name, tuple)
            else IntakePlace(protocol, path=os.fsdecode(name))
            for name in names
        ]

    async def open(self) -> None:
        """Let clients in at all bound places."""
        for server in self._servers:
            await server.start_serving()

    async def close(self) -> None:
        """Stop listening, let letters that are being stored get their reply, and end all sessions."""
        for server in self._servers:
            server.close()
        await self._storing.finish()
        await self.admission.dismiss_all("421 4.3.2 the server is going down")
        for path in self._paths:
            path.unlink(missing_ok=True)


def certified(listener: ListenerConfig) -> ssl.SSLContext | None:
    """The certificate that a listener offers, with its key; raises OSError. Nobody is asked for a passphrase."""
    if not listener.certificate:
        return None
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(listener.certificate, listener.certificate_key, password="")
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
