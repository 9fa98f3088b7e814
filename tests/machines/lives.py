"""Servers as processes, which are killed and live again, and the smarthost that takes their letters.

A life is the real daemon in a process of its own, forked from one that has everything imported, so that hundreds of
them cost little. Its end may be planned: kill -9 when it passes a named point for the n-th time.
"""

from __future__ import annotations

import asyncio
import json
import logging
import multiprocessing
import os
import queue
import signal
import smtplib
import socket
import subprocess
import sys
import time
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import structlog
from in_a_box.boxes import Inbox, Outbox
from in_a_box.referee import MAIL_SERVER
from world.listening import mail_server

import pbem.desk.wiring
import pbem.server.daemon
import pbem.store.inbox
import pbem.store.owners
from pbem.cli.serve import write_ready
from pbem.config.file import load
from pbem.desk.reading import InProcess
from pbem.failpoints import passing
from pbem.server.daemon import Daemon
from pbem.server.desk_process import OwnProcess, started
from pbem.server.desk_work import received, serve
from pbem.server.sandbox import Worker
from pbem.store.database import Database
from pbem.store.inbox import REST
from pbem.store.vault import Vault, load_key

if TYPE_CHECKING:
    from collections.abc import Iterator
    from random import Random

    from aiosmtpd.smtp import SMTP
    from machines.deaths import End

    from pbem.server.desk_process import Process
    from pbem.store_place import PostgresqlAddress

SERVER = "play.example"
MAILBOX = f"pbem@{SERVER}"
QUICK = timedelta(seconds=2), 0.3
"""The longest silence of a server that shares its store, and its heartbeat: short, as servers die often here."""

PATIENCE = 120.0  # seconds until something counts as lost

CONFIG = """\
server = "{server}"
operator = "operator@{server}"
{store}
[smtp]
listen = "127.0.0.1:0"
[smarthost]
port = {port}
timeout = "10s"
[delivery]
first_retry = "1s"
longest_retry = "1s"
[identity]
authserv_id = "{mail_server}"
{more}
"""

births = multiprocessing.get_context("forkserver")
births.set_forkserver_preload(["pbem.server.daemon", "pbem.desk.wiring", "aiosmtplib", "pytest"])
forks = multiprocessing.get_context("fork")


def children(process: int) -> list[int]:
    """The processes that it started: the desk of a daemon first, the reader of a desk."""
    found = Path(f"/proc/{process}/task").glob("*/children")
    return sorted(int(child) for path in found for child in path.read_text().split())


def state(process: int) -> str:
    """A letter, as `ps` has it; Z for one that is over."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):  # gone before it was opened, or while it was read
        return "Z"


def lives(process: int) -> bool:
    return state(process) != "Z"


class Forked:
    """A process for the desk, forked before there are threads, which costs little; further ones as servers do it."""

    def __init__(self) -> None:
        self._ours, theirs = socket.socketpair()
        # One that was never asked to begin ends with the daemon that failed to.
        self._process = forks.Process(target=work_at_desk, args=(theirs, self._ours), daemon=True)
        self._process.start()
        theirs.close()

    def __call__(self, line: socket.socket) -> Process:
        """Let it begin, on this line to its daemon."""
        if self._ours.fileno() < 0:
            return started(line)
        with self._ours:
            socket.send_fds(self._ours, [b"."], [line.fileno()])
        return self

    @property
    def pid(self) -> int:
        assert self._process.pid is not None
        return self._process.pid

    def kill(self) -> None:
        self._process.kill()

    def wait(self, timeout: float | None = None) -> int:
        self._process.join(timeout)
        if self._process.exitcode is None:
            raise subprocess.TimeoutExpired("the desk", timeout or 0)
        return self._process.exitcode


def work_at_desk(waits: socket.socket, others: socket.socket) -> None:
    """The life of a forked desk."""
    others.close()
    with waits:
        _, files, _, _ = socket.recv_fds(waits, 1, 1)
    if files:
        with socket.socket(fileno=files[0]) as line:
            sys.exit(serve(line, received(line)))


def live(folder: Path, end: End | None, rest: timedelta, lease: tuple[timedelta, float], *, worker: bool) -> None:
    """One life of the daemon, in a process of its own."""
    pbem.store.inbox.REST = rest
    silent, pbem.server.daemon.RENEW = lease
    pbem.store.owners.LEASE = pbem.store.owners.SILENT = silent
    with (folder / "server.log").open("a") as file:
        structlog.configure(
            logger_factory=structlog.PrintLoggerFactory(file),
            wrapper_class=structlog.make_filtering_bound_logger(logging.WARNING),
        )
        config = load(folder / "pbem.toml")
        forked = Forked()
        daemon = Daemon(
            config,
            reader=Worker if worker else InProcess,
            ready=lambda places: write_ready(folder / "ready.json", places),
            points=replace(end, daemon=os.getpid()) if end else passing,
            place=lambda supplies, worked: OwnProcess(supplies, worked, start=forked),
        )
        asyncio.run(daemon.run())


class Server:
    """The daemon of a folder: dead or alive. Letters suspected of its deaths rest for so long."""

    def __init__(
        self,
        folder: Path,
        smarthost: int = 1,
        more: str = "",
        *,
        rest: timedelta = REST,
        lease: tuple[timedelta, float] = QUICK,
        shared: PostgresqlAddress | None = None,
    ) -> None:
        self.folder = folder
        self._shared = shared
        self.port = 0
        self._rest = rest
        self._lease = lease
        self._life: multiprocessing.process.BaseProcess | None = None
        store = f'store = "{shared.url}"' if shared else ""
        settings = CONFIG.format(server=SERVER, mail_server=MAIL_SERVER, port=smarthost, store=store, more=more)
        (folder / "pbem.toml").write_text(settings, "utf-8")

    def start(self, end: End | None = None, *, worker: bool = False) -> None:
        """Be born; returns when it listens, or when it is already dead again."""
        ready = self.folder / "ready.json"
        ready.unlink(missing_ok=True)
        words = self.folder, end, self._rest, self._lease
        self._life = births.Process(target=live, args=words, kwargs={"worker": worker})
        self._life.start()
        give_up = time.monotonic() + PATIENCE
        while self.alive and not ready.exists():
            assert time.monotonic() < give_up, "the server does not get ready"
            time.sleep(0.002)
        if ready.exists():
            self.port = json.loads(ready.read_text())["smtp"]["port"]

    @property
    def alive(self) -> bool:
        return self._life is not None and self._life.is_alive()

    @property
    def pid(self) -> int:
        assert self._life is not None
        assert self._life.pid is not None
        return self._life.pid

    @property
    def status(self) -> int | None:
        """The exit status of the last life, -9 if it was killed; None if it has not ended, or there was none."""
        return self._life.exitcode if self._life else None

    def wait(self) -> int | None:
        """Wait until it is dead."""
        assert self._life is not None
        self._life.join(PATIENCE)
        return self.status

    def stop(self) -> None:
        """Ask it to end, and make sure that it ends well."""
        os.kill(self.pid, signal.SIGTERM)
        assert self.wait() == 0

    def kill(self) -> None:
        if self.alive:
            os.kill(self.pid, signal.SIGKILL)
            self.wait()

    def send(self, raw: bytes, sender: str = "anna@mail.example", recipients: tuple[str, ...] = (MAILBOX,)) -> str:
        """Send a letter as a mail server would: the last reply, or "" when there was none."""
        try:
            with smtplib.SMTP("127.0.0.1", self.port, "client.example", timeout=PATIENCE) as client:
                client.ehlo()
                client.mail(sender)
                for recipient in recipients:
                    client.rcpt(recipient)
                code, text = client.data(raw)
                # Over when 250 was said: what comes after is no business of the sender.
                client.close()
                return f"{code} {text.decode()}"
        except (smtplib.SMTPException, OSError):
            return ""

    @contextmanager
    def store(self) -> Iterator[tuple[Database, Inbox, Outbox]]:
        """The open store."""
        vault = Vault(load_key(self.folder / "keys" / "store.key"), os.urandom)
        with Database(self._shared or self.folder / "pbem.sqlite") as database:
            yield database, Inbox(database, vault), Outbox(database, vault)


class Smarthost:
    """Takes all letters, and says so but for now and then: then it hangs up instead, or asks to come again.

    With a `script` it gives these replies first, one a letter; "hang up" takes the letter and says nothing.
    """

    def __init__(self, random: Random | None = None, script: list[str] | None = None) -> None:
        self.script = script or []
        self.taken: list[tuple[str, bytes]] = []
        self.seen: list[bytes] = []
        """Each letter that was sent, taken or not."""
        self.arrivals: queue.Queue[tuple[str, bytes]] = queue.Queue()
        self._random = random
        self.port = 0

    async def handle_DATA(self, server: SMTP, _session: Any, envelope: Any) -> str:
        mood = self._random.random() if self._random else 1.0
        reply = "451 4.3.0 come again" if mood < 0.02 else "hang up" if mood < 0.05 else "250 2.0.0 taken"
        if self.script:
            reply = self.script.pop(0)
        self.seen.append(envelope.content)
        if reply[0] in "45":
            return reply
        for recipient in envelope.rcpt_tos:
            self.taken.append((recipient, envelope.content))
            self.arrivals.put((recipient, envelope.content))
        if reply == "hang up":
            assert isinstance(server.transport, asyncio.Transport)
            server.transport.abort()
        return reply

    @contextmanager
    def open(self) -> Iterator[Smarthost]:
        with mail_server(self) as self.port:
            yield self


@contextmanager
def served(folder: Path, script: list[str] | None = None, **more: Any) -> Iterator[tuple[Server, Smarthost]]:
    """A server that is not started yet, and the smarthost that takes its letters; nothing of it lives on."""
    with Smarthost(script=script).open() as smarthost:
        server = Server(folder, smarthost.port, **more)
        try:
            yield server, smarthost
        finally:
            server.kill()
