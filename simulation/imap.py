"""The server's mailbox at a provider: letters are fetched by IMAP, as by the real client, over the simulated network.

The fetcher's thread is a greenlet, and its socket a stream in memory. The provider drops commands, hangs up, shows a
letter twice, takes some for spam, numbers all of them anew, and is out of reach for hours. What it accepted from a
mail server counts as answered with 250.
"""

from __future__ import annotations

import asyncio
from contextlib import ExitStack
from types import SimpleNamespace
from typing import TYPE_CHECKING, TypeVar, TypeVarTuple
from unittest.mock import patch

from greenlet import getcurrent
from msgspec.structs import replace
from world.imap_server import PASSWORD, USER, Account, Session

from pbem.config.mail import ListenerConfig, MailboxConfig
from pbem.config.values import Duration, Listen
from pbem.mailbox import imap
from pbem.server import fetching
from pbem.server.fetching import Fetcher, sender
from simulation.loop import Event
from simulation.mailers import INTAKE, Moods, Smarthost
from simulation.parts import Part, Spells
from simulation.server import Killed

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine
    from random import Random

    from greenlet import greenlet

    from pbem.config.server import Config
    from pbem.mailbox import Mailbox
    from simulation.world import World

T = TypeVar("T")
R = TypeVar("R")
Arguments = TypeVarTuple("Arguments")

HOUR = 3600.0
HOST, PORT = "imap.example", 143
AWAY = 36 * HOUR
"""The longest time out of reach: longer than the usual pace."""
MX_MOODS = Moods(lies=0)
"""The provider denies no letter that it has: whoever writes only once would not know."""
POLL = 900
"""Seconds between two looks into the mailbox."""
SPAM, TWICE = 0.02, 0.03
"""The probability that a letter is taken for spam, and that it is shown twice."""
ANEW = 0.3
"""The probability that all letters are numbered anew once in the week."""


class Provider(Part):
    """The server has no listener: its letters are fetched from a provider."""

    name = "mailbox"
    often = 0.4

    def __init__(self, world: World) -> None:
        super().__init__(world)
        junk, can = {"Spam": "\\Junk"}, ("IMAP4rev1", "MOVE")
        self.account = Account(folders={"INBOX": {}, "Spam": {}}, flags=junk, capabilities=can)
        self._sessions = 0
        moods = [("well", 24 * HOUR), ("well", 24 * HOUR), ("away", AWAY), ("moody", 12 * HOUR)]
        self._spells = Spells(world, self.random, moods, 12 * HOUR)
        self._life = 0
        """How often the machine died."""
        self._threads: list[greenlet] = []
        self._stack = ExitStack()
        world.handled_within = 4  # no outage is longer than three days
        world.author = lambda raw, _: sender(raw)
        password = world.folder / "mailbox.password"
        password.touch(0o600)
        password.write_text(PASSWORD)
        self._password = str(password)

    def configured(self, config: Config) -> Config:
        box = MailboxConfig(
            imap=HOST,
            port=PORT,
            tls="none",
            user=USER,
            password_file=self._password,
            poll=Duration(seconds=POLL),
        )
        return replace(config, smtp=ListenerConfig(listen=Listen()), mailbox=box)

    # The fetcher, whose thread is a greenlet.

    def enter(self) -> None:
        loop, provider = self.world.loop, self

        class InGreenlet(Fetcher):
            def _in_loop(self, call: Callable[[*Arguments], Coroutine[None, None, R]], *arguments: *Arguments) -> R:
                me = getcurrent()
                task = loop.create_task(call(*arguments))
                task.add_done_callback(lambda _: loop.go_on(me))
                loop.main.switch()
                return task.result()

        def open_mailbox(config: Config) -> Mailbox:
            found = real_open(config)
            assert isinstance(found, imap.Imap)
            found._stop = Event(loop)
            return found

        real_open = fetching.open_mailbox
        patches = (
            patch("pbem.server.daemon.Fetcher", InGreenlet),
            patch("pbem.server.daemon.open_mailbox", open_mailbox),
            patch.object(fetching, "in_thread", self._begun),
            patch.object(fetching, "threading", SimpleNamespace(Event=lambda: Event(loop))),
            patch.object(imap._Client, "_create_socket", lambda _, timeout: Socket(provider, timeout)),
        )
        for one in patches:
            self._stack.enter_context(one)

    def _begun(self, _name: str, call: Callable[[], T]) -> asyncio.Future[T]:
        loop, life = self.world.loop, self._life
        done: asyncio.Future[T] = loop.create_future()

        def run() -> None:
            if life != self._life:
                return
            try:
                found = call()
            except Killed:
                return
            except BaseException as error:
                if not done.done():
                    done.set_exception(error)
            else:
                if not done.done():
                    done.set_result(found)

        self._threads = [*(one for one in self._threads if not one.dead), loop.spawn(run)]
        return done

    def die(self) -> None:
        self._life += 1
        threads, self._threads = self._threads, []
        for one in threads:
            if one:  # it runs
                one.throw(Killed("the machine"))

    def close(self) -> None:
        self.die()
        self._stack.close()

    # The mailbox.

    def begin(self) -> None:
        self.enter()
        self.world.network.listen(self._session, HOST, PORT).serving = True
        self._open()
        if self.random.random() < ANEW:
            self.world.loop.call_later(self.random.random() * self.world.week.days * 24 * HOUR, self._number_anew)

    def _open(self) -> None:
        """Take letters in as soon as the server has looked once: what lay there before is somebody else's."""
        if self._has_looked:
            self.world.network.listen(self._accepts, "mx.example", INTAKE).serving = True
        else:
            self.world.loop.call_later(10, self._open)

    @property
    def _has_looked(self) -> bool:
        machine = self.world.machine
        if not machine.runs or not (machine.disk.folder / "pbem.sqlite").exists():
            return False
        with machine.store() as database:
            return bool(database.scalar("SELECT 1 FROM meta WHERE name LIKE 'mailbox %'"))

    def _accepts(self) -> Smarthost:
        self._sessions += 1
        random = self.world.random(f"mx {self._sessions}")
        moods = MX_MOODS if self.world.week.troubles else Moods(0, 0, 0, 0)
        return Smarthost(self.world.loop, random, moods, self._accept)

    def _accept(self, _recipient: str, raw: bytes) -> None:
        troubles = self.world.week.troubles
        folder = "Spam" if troubles and self.random.random() < SPAM else "INBOX"
        self.account.put(raw, folder)
        if troubles and self.random.random() < TWICE:
            self.world.loop.call_later(self.random.random() * 6 * HOUR, self.account.put, raw, "INBOX")

    @property
    def unfetched(self) -> set[bytes]:
        return {raw for name in ("INBOX", "Spam") for raw in self.account.raws(name)}

    def _number_anew(self) -> None:
        if not self.world.hurried:
            self.world.note("the provider numbers all letters anew")
            self.account.number_anew()

    def _session(self) -> asyncio.StreamReaderProtocol:
        self._sessions += 1
        random, loop = self.world.random(f"imap {self._sessions}"), self.world.loop

        async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await MoodySession(self, random, reader, writer).serve()

        return asyncio.StreamReaderProtocol(asyncio.StreamReader(loop=loop), talk, loop)

    @property
    def mood(self) -> str:
        """What the provider is like now."""
        return self._spells.mood

    @property
    def waits(self) -> bool:
        return bool(self.unfetched)


class MoodySession(Session):
    """One session of the IMAP server, as the provider's mood is."""

    def __init__(
        self, provider: Provider, random: Random, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        super().__init__(provider.account, reader, writer)
        self._provider, self._random = provider, random

    async def obey(self, tag: str, command: str, rest: str) -> None:
        mood = self._random.random() if self._provider.mood == "moody" else 1.0
        if mood < 0.02:
            return  # never answered
        if mood < 0.05 or self._provider.mood == "away":
            self.writer.transport.abort()
        elif mood < 0.08 and command not in {"LOGIN", "CAPABILITY"}:
            self.say(f"{tag} NO [UNAVAILABLE] later".encode())
        else:
            end = await self.perform(command, rest)
            if mood < 0.1:
                self.writer.transport.abort()
            self.say(f"{tag} {end}".encode())


class Socket:
    """The client's end of a connection: whoever waits for it is a greenlet."""

    def __init__(self, provider: Provider, timeout: float | None) -> None:
        self._loop = provider.world.loop
        self._timeout = timeout
        self._heard = b""
        self._over = False
        self._waiting: greenlet | None = None
        if provider.mood == "away":
            raise ConnectionRefusedError(111, "refused")
        self._stream = provider.world.network.join(self, (HOST, PORT), ("client.example", 1025))

    # What a stream asks of its protocol.

    def connection_made(self, _transport: asyncio.Transport) -> None:
        """It is used only later."""

    def data_received(self, data: bytes) -> None:
        self._heard += data
        self._wake()

    def eof_received(self) -> bool:
        self._end()
        return False

    def connection_lost(self, _error: Exception | None) -> None:
        self._end()

    def _end(self) -> None:
        self._over = True
        self._wake()

    def _wake(self) -> None:
        waiting, self._waiting = self._waiting, None
        if waiting is not None:
            self._loop.call_soon(self._loop.go_on, waiting)

    # What imaplib asks of a socket and of its file.

    def makefile(self, _mode: str) -> Socket:
        return self

    def sendall(self, data: bytes) -> None:
        if self._over:
            raise BrokenPipeError(32, "the connection is over")
        self._stream.write(data)

    def readline(self, _most: int = -1) -> bytes:
        while b"\n" not in self._heard and not self._over:
            self._wait()
        end = self._heard.find(b"\n") + 1 or len(self._heard)
        return self._taken(end)

    def read(self, size: int) -> bytes:
        while len(self._heard) < size and not self._over:
            self._wait()
        return self._taken(size)

    def _taken(self, size: int) -> bytes:
        found, self._heard = self._heard[:size], self._heard[size:]
        return found

    def _wait(self) -> None:
        """Wait for more; raises TimeoutError."""
        before = len(self._heard), self._over
        self._waiting = getcurrent()
        timer = self._loop.call_later(self._timeout or 60.0, self._wake)
        self._loop.main.switch()
        timer.cancel()
        if (len(self._heard), self._over) == before:
            raise TimeoutError(110, "no answer in time")

    def shutdown(self, _how: int) -> None:
        if not self._over:
            self._stream.close()
            self._end()

    def close(self) -> None:
        self.shutdown(0)
