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
from contextlib import ExitStack, contextmanager
from email.message import EmailMessage
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from machines.waiting import until
from world.listening import mail_server

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

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


class Letter:
    """A letter as its reader sees it: the text without what it quotes, and the attachments."""

    def __init__(self, raw: bytes) -> None:
        self.message = email.message_from_bytes(raw, policy=email.policy.default)
        assert isinstance(self.message, EmailMessage)
        part = self.message.get_body(("plain",))
        whole = str(part.get_content()).replace("\r\n", "\n") if part else ""
        self.text = "\n".join(line for line in whole.split("\n") if not line.startswith(">"))

    def form(self, kind: str, length: int | None = None) -> str:
        """The form that begins with this word, up to its `end` or so many lines long."""
        lines = self.text.split("\n")
        start = next((at for at, line in enumerate(lines) if line.startswith(f"{kind} ")), None)
        if start is None:
            raise Trouble(f"a letter without a form “{kind}”:\n\n{self.text}")
        end = start + length if length else lines.index("end", start) + 1
        return "\n".join(lines[start:end]) + "\n"

    def filled(self, kind: str, block: str) -> str:
        head = self.form(kind).removesuffix("end\n").rstrip("\n")
        return f"{head}\n{block}\nend\n"

    def attached(self, suffix: str) -> dict[str, Any]:
        """The content of an attachment for programs."""
        found: dict[str, Any] = json.loads(self.attachment(suffix)[1])
        return found

    def attachment(self, suffix: str) -> tuple[str, bytes]:
        for part in self.message.iter_attachments():
            name = part.get_filename() or ""
            if name.endswith(suffix):
                content = part.get_content()
                return name, content if isinstance(content, bytes) else str(content).encode()
        raise Trouble(f"the letter “{self.message['Subject']}” has no attachment {suffix}")


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


@contextmanager
def serving(
    ready: Path, *words: str, program: Sequence[str] = (PBEM, "serve"), **options: Any
) -> Iterator[tuple[subprocess.Popen[str], dict[str, Any]]]:
    """`pbem serve` as an operator starts it, and where it listens, which it writes to the file `ready`.

    It must end well, or be killed.
    """
    ready.unlink(missing_ok=True)
    command = [*program, *words, "--ready-file", str(ready)]
    with subprocess.Popen(command, **{"stderr": subprocess.PIPE, "text": True, **options}) as server:
        try:
            until(lambda: ready.exists() or server.poll() is not None, PATIENCE)
            yield server, json.loads(ready.read_text())
            if server.poll() is None:
                server.send_signal(signal.SIGTERM)
                _, errors = server.communicate(timeout=PATIENCE)
                assert server.returncode in {0, -signal.SIGKILL}, errors
        finally:
            server.kill()


class Server(NamedTuple):
    """A server, and the port where it takes letters."""

    process: subprocess.Popen[str]
    port: int


class Servers:
    """One server, or several that share a store: each letter goes to the next of them."""

    def __init__(self, *servers: Server) -> None:
        self._living = [*servers]
        self._several = len(servers) > 1
        self._lock = threading.Lock()
        self._taken = 0
        self._unanswered: tuple[str, float] | None = None
        """The Message-ID of the letter whose server was killed, and when."""

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
                server.process.kill()
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
        """Make sure that all still run."""
        for server in self._living:
            if (status := server.process.poll()) is not None:
                raise Trouble(f"the server ended by itself, with status {status}")


@contextmanager
def served(
    office: PostOffice,
    folder: Path,
    store: str = "store.sqlite",
    number: int = 1,
    *,
    house: str = "",
    program: Sequence[str] = (PBEM, "serve"),
    more: str = "",
) -> Iterator[Servers]:
    """Servers with one store, to which an office brings its letters; `more` is of their configuration."""
    with ExitStack() as stack:
        servers = []
        for each in range(1, number + 1):
            own = folder / f"server-{each}" if number > 1 else folder
            own.mkdir(exist_ok=True)
            config = own / "pbem.toml"
            settings = CONFIG.format(server=SERVER, port=office.port, store=store, keys=folder / "keys", house=house)
            config.write_text(settings + more, "utf-8")
            log = stack.enter_context((own / "server.log").open("wb"))
            begun = serving(
                own / "ready.json",
                "--config",
                str(config),
                program=program,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
            process, places = stack.enter_context(begun)  # the first one makes the keys
            servers.append(Server(process, places["smtp"]["port"]))
        office.servers = Servers(*servers)
        yield office.servers
        office.servers.check()
