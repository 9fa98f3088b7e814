"""The real server as processes of its own, and the post office that carries everybody's mail, on this machine alone.

The post office is the smarthost of the servers and the submission of the players: it relays what is for a server to
the next one of those that share a store, and files everything else in the Maildir of its address. Nothing here plays.
"""

from __future__ import annotations

import asyncio
import email
import email.policy
import json
import mailbox
import queue
import signal
import smtplib
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from world.listening import mail_server

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from aiosmtpd.smtp import SMTP, Envelope, Session

SERVER = "play.example"
PATIENCE = 60.0  # seconds until a letter counts as lost
FATAL = 14
"""With several servers, the letter whose server is killed when it has taken it: orders, in the midst of a game."""

PBEM = str(Path(sys.executable).with_name("pbem"))

CONFIG = """\
server = "{server}"
operator = "operator@{server}"
store = "{store}"
keys = "{keys}"

[smtp]
listen = "127.0.0.1:0"

[smarthost]
host = "127.0.0.1"
port = {port}

[house]
config = "{house}"
name = "house"
address = "house@mail.example"

[log]
format = "text"
"""


class Trouble(Exception):
    """Something that was promised did not happen; the message says what."""


class PostOffice:
    """Takes each letter: relays it to a server, or files it in the Maildir of its address and lets its owner know."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._boxes: dict[str, tuple[mailbox.Maildir, queue.Queue[bytes]]] = {}
        self.port = 0
        self.servers: Servers | None = None
        """To which letters for the server go; none are taken before."""

    def box(self, address: str) -> queue.Queue[bytes]:
        """Open the mailbox of an address; what comes in is in the queue, too."""
        name = address.partition("@")[0]
        arrivals: queue.Queue[bytes] = queue.Queue()
        self._boxes[address] = mailbox.Maildir(self._folder / name), arrivals
        return arrivals

    async def handle_DATA(self, _server: SMTP, _session: Session, envelope: Envelope) -> str:
        raw = envelope.content
        assert isinstance(raw, bytes)
        for recipient in envelope.rcpt_tos:
            if recipient in self._boxes:
                maildir, arrivals = self._boxes[recipient]
                maildir.add(raw.replace(b"\r\n", b"\n"))
                arrivals.put(raw)
                if self.servers is not None:
                    self.servers.answered(raw)
            elif self.servers is not None and recipient.endswith(f"@{SERVER}"):
                given = (str(envelope.mail_from or ""), recipient, raw)
                try:
                    await asyncio.to_thread(self.servers.take, *given)
                except (OSError, smtplib.SMTPException):
                    return "451 4.4.1 the server takes no letters now"
            else:
                return "550 5.1.1 nobody of that name here"
        return "250 2.0.0 filed"

    @contextmanager
    def opened(self) -> Iterator[PostOffice]:
        with mail_server(self) as self.port:
            yield self


class Server:
    """The server as a process of its own: the place where it listens, its log, its end."""

    program: Sequence[str] = (PBEM, "serve")
    more = ""
    """More lines of its configuration."""

    def __init__(self, folder: Path, smarthost: int, store: str, keys: Path, house: str = "") -> None:
        folder.mkdir(exist_ok=True)
        config, self._ready, self._log = folder / "pbem.toml", folder / "ready.json", folder / "server.log"
        settings = CONFIG.format(server=SERVER, port=smarthost, store=store, keys=keys, house=house)
        config.write_text(settings + self.more, "utf-8")
        command = [*self.program, "--config", str(config), "--ready-file", str(self._ready)]
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        self.port = 0

    def get_ready(self) -> None:
        """Wait until it listens."""
        self._wait(self._ready.exists, "the server does not get ready")
        self.port = json.loads(self._ready.read_text("utf-8"))["smtp"]["port"]

    def _wait(self, condition: Callable[[], bool], trouble: str) -> None:
        end = time.monotonic() + PATIENCE
        while not condition():
            self.check()
            if time.monotonic() > end:
                raise Trouble(f"{trouble}, {PATIENCE:.0f} s long")
            time.sleep(0.02)

    def check(self) -> None:
        """Make sure that it still runs."""
        status = self._process.poll()
        if status is not None:
            raise Trouble(f"the server ended by itself, with status {status}")

    def stop(self) -> None:
        """Ask it to end, and make sure that it ends well."""
        self.check()
        self._process.send_signal(signal.SIGTERM)
        try:
            status = self._process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            raise Trouble("the server does not stop at SIGTERM") from None
        if status:
            raise Trouble(f"the server stopped with status {status}")

    def kill(self) -> None:
        """Leave nothing running, whatever happened."""
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait()

    def log_tail(self, lines: int = 25) -> str:
        return "\n".join(self._log.read_text("utf-8", "replace").splitlines()[-lines:])


class Servers:
    """One server, or several that share a store: each letter goes to the next of them."""

    kind: type[Server] = Server

    def __init__(self, folder: Path, smarthost: int, store: str, number: int = 1, house: str = "") -> None:
        self._living: list[Server] = []
        self._several = number > 1
        self._lock = threading.Lock()
        self._taken = 0
        self._unanswered: tuple[str, float] | None = None
        """The Message-ID of the letter whose server was killed, and when."""
        try:
            for each in range(1, number + 1):
                own = folder / f"server-{each}" if self._several else folder
                self._living.append(self.kind(own, smarthost, store, folder / "keys", house))
                self._living[-1].get_ready()  # the first one makes the keys
        except BaseException:
            self.kill()
            raise

    @property
    def ports(self) -> list[int]:
        return [server.port for server in self._living]

    def take(self, sender: str, recipient: str, raw: bytes) -> None:
        """Give a letter to the next server; if it is the fatal one, that server takes no other."""
        with self._lock:
            self._taken += 1
            fatal = self._several and self._taken == FATAL
            server = self._living[self._taken % len(self._living)]
            if fatal:
                self._living.remove(server)
        with smtplib.SMTP("127.0.0.1", server.port, timeout=PATIENCE) as connection:
            connection.sendmail(sender, [recipient], raw)
            if fatal:
                server.kill()
                message = email.message_from_bytes(raw, policy=email.policy.default)
                self._unanswered = str(message["Message-ID"]), time.monotonic()
                print(f"    The server at 127.0.0.1:{server.port} has taken a letter and is killed.", flush=True)
                connection.close()

    def answered(self, raw: bytes) -> None:
        """Say how long it took until the letter was answered whose server died."""
        if self._unanswered is not None and self._unanswered[0].encode() in raw:
            print(f"    Its letter is answered {time.monotonic() - self._unanswered[1]:.1f} s later.", flush=True)
            self._unanswered = None

    def check(self) -> None:
        for server in self._living:
            server.check()

    def stop(self) -> None:
        for server in self._living:
            server.stop()

    def kill(self) -> None:
        for server in self._living:
            server.kill()

    def log_tail(self) -> str:
        return "\n\n".join(server.log_tail() for server in self._living)
