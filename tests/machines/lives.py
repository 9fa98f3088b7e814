"""Servers that are killed and live again: a daemon as a process, a smarthost, and players who never give up.

A life is the real daemon in a process of its own, forked from one that has everything imported, so that hundreds of
them cost little. Its end may be planned: kill -9 when it passes a named point for the n-th time.
"""

from __future__ import annotations

import asyncio
import email
import email.policy
import json
import logging
import multiprocessing
import os
import queue
import re
import signal
import smtplib
import socket
import subprocess
import sys
import threading
import time
from collections import Counter, defaultdict
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import structlog
from aiosmtpd.smtp import SMTP
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from in_a_box.boxes import Inbox, Outbox
from in_a_box.referee import MAIL_SERVER, attachment, body, sent_from
from judges import sentences
from machines.deaths import Countdown
from playing.random_players import _orders, random_setup

import pbem.desk.wiring
import pbem.server.daemon
import pbem.store.inbox
import pbem.store.owners
from pbem.config.file import load
from pbem.desk.reading import InProcess
from pbem.failpoints import passing
from pbem.games import rules
from pbem.identity import ssh
from pbem.server.daemon import Daemon, write_ready
from pbem.server.desk_main import received, serve
from pbem.server.desk_process import OwnProcess, started
from pbem.server.sandbox import Worker
from pbem.store.database import Database
from pbem.store.inbox import REST
from pbem.store.vault import Vault, load_key

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from email.message import EmailMessage

    from machines.deaths import End

    from pbem.server.desk_process import Process
    from pbem.store_place import PostgresqlAddress

SERVER = "play.example"
MAILBOX = f"pbem@{SERVER}"
QUICK = timedelta(seconds=2), 0.3
"""How long a server that shares its store may be silent, and how often it is not: they die often here."""

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
first_retry = "0s"
longest_retry = "0s"
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
            points=Countdown(end, os.getpid()) if end else passing,
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
        """How the last life ended, -9 when it was killed; None when it has not, or there was none."""
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
        """What is in the store."""
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
        """What was sent, taken or not."""
        self.arrivals: queue.Queue[tuple[str, bytes]] = queue.Queue()
        self._random = random
        self._loop = asyncio.new_event_loop()
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
        def session() -> SMTP:
            return SMTP(self, hostname="smarthost.example", loop=self._loop, data_size_limit=None)

        server = self._loop.run_until_complete(self._loop.create_server(session, "127.0.0.1", 0))
        self.port = server.sockets[0].getsockname()[1]
        thread = threading.Thread(target=self._loop.run_forever, name="smarthost")
        thread.start()
        try:
            yield self
        finally:
            self._loop.call_soon_threadsafe(server.close)
            self._loop.call_soon_threadsafe(self._loop.stop)
            thread.join()
            self._loop.run_until_complete(self._cancel())
            self._loop.close()

    async def _cancel(self) -> None:
        tasks = asyncio.all_tasks() - {asyncio.current_task()}
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


@contextmanager
def served(folder: Path, script: list[str] | None = None, **more: Any) -> Iterator[tuple[Server, Smarthost]]:
    """A server that is not started yet, and the smarthost that takes its letters; nothing of it lives on."""
    with Smarthost(script=script).open() as smarthost:
        server = Server(folder, smarthost.port, **more)
        try:
            yield server, smarthost
        finally:
            server.kill()


@dataclass
class Player:
    """Answers each letter that asks for something, once."""

    name: str
    random: Random
    first: str = ""
    """What this player begins with once registered."""
    setups: dict[int, str] = field(default_factory=dict)
    letters: dict[str, EmailMessage] = field(default_factory=dict)
    """By Message-ID, in the order in which they came."""
    outgoing: list[bytes] = field(default_factory=list)
    sent: list[str] = field(default_factory=list)
    """Message-IDs of the letters that were answered with 250."""
    opponent: Player | None = None
    closed: bool = False
    hurried: bool = True
    """Whether orders are final: otherwise the clock resolves the turn, a moment later."""
    options: Any = None
    aim: float = 0.2
    """How often a shot is one at a ship."""
    _asked: set[str] = field(default_factory=set)
    _count: int = 0

    def __post_init__(self) -> None:
        self.key = Ed25519PrivateKey.generate()

    @property
    def address(self) -> str:
        return f"{self.name}@mail.example"

    def register(self) -> None:
        self.write(f"register {self.name}\n{ssh.public(self.key)} {self.name}@home\n", sign=False)

    def write(self, text: str, *, sign: bool = True) -> None:
        self._count += 1
        signature = ssh.sign(self.key, text.encode(), f"pbem@{SERVER}") if sign else ""
        self.outgoing.append(
            (
                f"From: {self.name} <{self.address}>\nTo: {MAILBOX}\nSubject: orders\n"
                f"Message-ID: <{self._count}.{self.name}@mail.example>\n"
                f"{'' if sign else sent_from(self.address)}\n{text}{signature}"
            )
            .replace("\n", "\r\n")
            .encode()
        )

    def note_sent(self) -> None:
        """The first letter that is to be sent was taken in."""
        match = re.search(rb"^Message-ID: (\S+)", self.outgoing.pop(0), re.MULTILINE)
        assert match is not None
        self.sent.append(match[1].decode())

    def receive(self, raw: bytes) -> None:
        """Take a letter up; one that was here before is known by its Message-ID, and left alone."""
        letter = email.message_from_bytes(raw, policy=email.policy.default)
        message_id = str(letter["Message-ID"])
        if message_id not in self.letters:
            self.letters[message_id] = letter
            self._react(letter)

    def _react(self, letter: EmailMessage) -> None:
        text = "\n".join(line for line in body(letter).split("\n") if not line.startswith(">"))
        assert sentences.NOTHING_WAS_CHANGED not in text, text
        if "You are registered" in text and self.first:
            self.write(self.first)
        self.closed = self.closed or "the match is closed" in text
        for kind in ("confirm", "accept", "setup", "orders"):
            lines = r"\n" if kind == "accept" else r"(?:\n(?!end$).*)*\nend\n"
            found = re.search(rf"^{kind} (?:m\d+|\w+).*{lines}", text, re.MULTILINE)
            if found is None:
                continue
            form = found[0]
            place = f"{form.partition(chr(10))[0]} {re.findall('^prev .*', form, re.MULTILINE)}"
            if place not in self._asked:
                self._asked.add(place)
                head = form.removesuffix("end\n").rstrip("\n")
                self.write(f"{head}\n{self._block(kind, head, letter)}end\n" if "end\n" in form else form)

    def _block(self, kind: str, head: str, letter: EmailMessage) -> str:
        if kind == "confirm":
            return ""
        number = int(head.partition("\n")[0].split()[-1])
        if kind == "setup":
            self.setups[number] = random_setup(self.random, self.options, 1)
            return self.setups[number] + "\n"
        position = json.loads(attachment(letter, "position.json"))
        assert self.opponent is not None
        targets = re.findall(r"[ROYGB][v-z][1-5]", self.opponent.setups[position["game"]])
        (known,) = position["view"]["known"].values()
        left = [cell for cell in targets if cell not in known["destroyed"]] or targets

        def target() -> str:
            return self.random.choice(left) if self.random.random() < self.aim else self.random.choice("ROYGB") + "w3"

        final = "final\n" if self.hurried else ""
        return final + _orders(self.random, position["view"], target, self.random.choice) + "\n"


@dataclass
class Figures:
    """What a play of killings came to."""

    kills: Counter[str] = field(default_factory=Counter)
    lives: int = 0
    sent: int = 0
    retried: int = 0
    matches: int = 0
    outgoing: int = 0
    outgoing_twice: int = 0

    def __str__(self) -> str:
        points = "".join(f"\n  {count:5} at: {point}" for point, count in sorted(self.kills.items()))
        return (
            f"{self.kills.total()} kills in {self.lives} lives, {self.matches} matches; {self.sent} letters taken in,"
            f" {self.retried} of them sent again; {self.outgoing} letters sent out, {self.outgoing_twice} more than"
            f" once{points}"
        )


class Table:
    """Two players and a server that is killed again and again, until their match is over."""

    def __init__(
        self, folder: Path, seed: str, plan: Callable[[Random], End | None], figures: Figures, games: int = 2
    ) -> None:
        self.random = Random(seed)
        self.plan = plan
        self.figures = figures
        self.smarthost = Smarthost(self.random)
        self.folder = folder
        options = f"fleet: cost:9\nkind: scored\ngames: {games}\nsettle: 1s"
        ann = Player(
            "ann", self.random, first=f"new spaceships with bob\nserver {SERVER}\nplayer ann\n{options}\nend\n"
        )
        bob = Player("bob", self.random)
        ann.opponent, bob.opponent = bob, ann
        ann.options = bob.options = rules("spaceships").options({"fleet": "cost:9"}, 2)
        self.players = {player.address: player for player in (ann, bob)}
        self.end: End | None = None
        self.spared = False

    def play(self) -> None:
        """Play the match to its end, and see that the store tells the same story."""
        with self.smarthost.open():
            # Where a server dies every second, no letter rests for a minute.
            self.server = Server(self.folder, self.smarthost.port, rest=timedelta())
            try:
                self._play()
                self._settle()
                self.server.stop()
                self.check()
            finally:
                self.server.kill()
        self.figures.matches += 1

    def _play(self) -> None:
        ann, bob = self.players.values()
        bob.register()
        self._until(lambda: any("You are registered" in body(letter) for letter in bob.letters.values()))
        ann.register()
        self._until(lambda: ann.closed and bob.closed)

    def _until(self, condition: Callable[[], bool]) -> None:
        progress = time.monotonic()
        while not condition():
            if not self.server.alive:
                self._bury()
                self._bear()
                progress = time.monotonic()
            elif self.spared and not self._at_the_brink():
                self.server.kill()
            self._post()
            if self._collect():
                progress = time.monotonic()
            assert time.monotonic() < progress + PATIENCE, f"nothing happens any more: {self._state()}"

    def _bury(self) -> None:
        if self.server.status is None:
            return
        assert self.server.status == -signal.SIGKILL, (self.folder / "server.log").read_text()
        self.figures.kills[self.end.point if self.end else "anywhere, from outside"] += 1

    def _bear(self) -> None:
        self.spared = self._at_the_brink()
        self.end = None if self.spared else self.plan(self.random)
        self.figures.lives += 1
        for player in self.players.values():
            player.hurried = not (self.end and self.end.point.startswith("clock"))
        self.server.start(self.end, worker=self.random.random() < 0.05)

    def _state(self) -> str:
        """What is known of a match that has come to a standstill."""
        with self.server.store() as (database, _, _):
            rows = [
                database.rows("SELECT id, state, attempts, outcome FROM inbox WHERE state != 'done'"),
                database.rows("SELECT id, state, attempts, due, reply FROM outbox WHERE state != 'delivered'"),
                database.rows("SELECT number, phase, resolve_at FROM matches"),
            ]
        letters = [str(letter["Subject"]) for player in self.players.values() for letter in player.letters.values()]
        return f"{self.end}, alive {self.server.alive}, {rows}, {letters[-20:]}\n{self._logs(2000)}"

    def _logs(self, most: int) -> str:
        """The ends of what the servers wrote."""
        return "\n".join(path.read_text()[-most:] for path in self.folder.rglob("server.log"))

    def _at_the_brink(self) -> bool:
        """Whether a letter is suspect: after one more death at the desk it would rest for a minute."""
        if not (self.folder / "pbem.sqlite").exists():
            return False
        with self.server.store() as (database, _, _):
            return bool(database.scalar("SELECT count(*) FROM inbox WHERE state != 'done' AND suspect = 1"))

    def _post(self) -> None:
        for player in self.players.values():
            while player.outgoing and self.server.alive:
                raw = player.outgoing[0]
                reply = self.server.send(raw, player.address)
                if not reply.startswith("250"):
                    self.figures.retried += 1
                    return
                player.note_sent()
                self.figures.sent += 1

    def _collect(self) -> bool:
        try:
            recipient, raw = self.smarthost.arrivals.get(timeout=0.01)
        except queue.Empty:
            return False
        assert recipient in self.players, f"{raw.decode()[-1500:]}\n{self._logs(10_000)}"
        self.players[recipient].receive(raw)
        return True

    def _settle(self) -> None:
        """A last life, without a planned end, in which everything that waits comes to its end."""
        self.server.kill()
        self.server.start()
        with self.server.store() as (_, inbox, outbox):
            give_up = time.monotonic() + PATIENCE
            while inbox.count("done") < inbox.count() or outbox.count("delivered") < outbox.count():
                assert time.monotonic() < give_up, "something waits for ever"
                time.sleep(0.01)
        while self._collect():
            pass

    def check(self) -> None:
        """Promises 1 and 3: each letter had its effect once, each left in the bytes that were written."""
        with self.server.store() as (database, inbox, outbox):
            sent = [message_id for player in self.players.values() for message_id in player.sent]
            assert len(sent) == len(set(sent)) == inbox.count("done") == inbox.count()
            answers = Counter(
                str(letter["In-Reply-To"]) for player in self.players.values() for letter in player.letters.values()
            )
            assert {message_id: answers[message_id] for message_id in sent} == dict.fromkeys(sent, 1)
            copies: dict[str, list[bytes]] = defaultdict(list)
            for recipient, raw in self.smarthost.taken:
                found = re.search(rb"^Message-ID: (\S+)", raw, re.MULTILINE | re.IGNORECASE)
                assert found is not None
                copies[f"{found[1].decode()} {recipient}"].append(raw)
            written = {
                f"{row['message_id']} {row['recipient']}": outbox.raw(row["id"])
                for row in database.rows("SELECT id, message_id, recipient FROM outbox")
            }
            assert copies.keys() == written.keys()
            for name, raws in copies.items():
                assert set(raws) == {written[name]}, name
            self.figures.outgoing += len(written)
            self.figures.outgoing_twice += sum(len(raws) > 1 for raws in copies.values())

    def bundle(self) -> bytes:
        """The proof of the last game, from the letter that brought it."""
        found = [
            letter
            for letter in self.players["ann@mail.example"].letters.values()
            if "game 2: the end" in body(letter)
        ]
        return attachment(found[-1], ".pbem.zip")
