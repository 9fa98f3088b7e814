"""Servers that share a store in PostgreSQL, and all that may befall them at once: nobody notices.

Three servers; players who write to one after the other and repeat what got no 250. Servers are killed, or sleep past
their lease and wake; their connections to the database are cut, also between COMMIT and its answer; the database
itself crashes, or its machine dies and a standby takes over, for which commits wait. Each letter has its effect once,
each report leaves in the same bytes, each match is proved.
Promises 1 and 3 of reliability.md.
"""

from __future__ import annotations

import asyncio
import os
import signal
import threading
import time
from collections import Counter
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING
from urllib.parse import quote

import pytest
from in_a_box.stores import of_postgresql
from machines.clusters import SOCKET, Pair, pair
from machines.lives import PATIENCE, QUICK, Figures, Server, Table, children

from pbem.proof.signed_letters import Letters
from pbem.proof.verification import verify
from pbem.store.errors import BusyError
from pbem.store_place import PostgresqlAddress

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

pytestmark = of_postgresql

SERVERS = 3
KINDS = ("kill", "sleep", "connection", "answer to COMMIT", "database", "failover")
CHANCES = (8, 2, 5, 5, 1, 1)
BETWEEN = 0.6
"""At most so many seconds between two faults."""

MOMENT = 10.0
"""At most so many seconds count as waited for at once: the whole of us may have been stopped meanwhile."""


class Line:
    """The way of one server to the database, wherever that is now: it may be cut, and lose the answer to a COMMIT."""

    def __init__(self, folder: Path, database: Pair) -> None:
        self.folder = folder
        self.lose = False
        self.lost = 0
        self._database = database
        self._writers: set[asyncio.StreamWriter] = set()
        self._loop = asyncio.new_event_loop()

    @contextmanager
    def open(self) -> Iterator[Line]:
        self.folder.mkdir()
        server = self._loop.run_until_complete(asyncio.start_unix_server(self._carry, self.folder / SOCKET))
        thread = threading.Thread(target=self._loop.run_forever, name="line")
        thread.start()
        try:
            yield self
        finally:
            self._loop.call_soon_threadsafe(server.close)
            self.cut()
            self._loop.call_soon_threadsafe(self._loop.stop)
            thread.join()
            self._loop.run_until_complete(self._end())
            self._loop.close()

    async def _end(self) -> None:
        tasks = asyncio.all_tasks() - {asyncio.current_task()}
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def cut(self) -> None:
        """Cut all connections."""
        self._loop.call_soon_threadsafe(self._cut)

    def _cut(self) -> None:
        for writer in list(self._writers):
            writer.transport.abort()

    async def _carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writers.add(writer)
        committing: list[bool] = []
        try:
            there, back = await asyncio.open_unix_connection(self._database.primary.folder / SOCKET)
        except OSError:
            writer.transport.abort()
            return
        try:
            await asyncio.gather(self._to(reader, back, committing), self._from(there, writer, committing))
        except OSError:
            pass
        finally:
            self._writers.discard(writer)
            writer.transport.abort()
            back.transport.abort()

    async def _to(self, reader: asyncio.StreamReader, back: asyncio.StreamWriter, committing: list[bool]) -> None:
        while octets := await reader.read(65536):
            if self.lose and b"COMMIT\0" in octets:
                self.lose = False
                committing.append(True)
            back.write(octets)
            await back.drain()
        raise ConnectionError

    async def _from(self, there: asyncio.StreamReader, writer: asyncio.StreamWriter, committing: list[bool]) -> None:
        while octets := await there.read(65536):
            if committing:
                self.lost += 1
                break
            writer.write(octets)
            await writer.drain()
        raise ConnectionError


@dataclass
class Faults:
    """What befell the servers."""

    kinds: Counter[str] = field(default_factory=Counter)
    left: float = 500
    first: list[str] = field(default_factory=lambda: list(KINDS))
    """Each kind once, before chance decides."""

    def __str__(self) -> str:
        return f"{self.kinds.total()} faults: " + ", ".join(f"{count} {kind}" for kind, count in self.kinds.items())


class ManyServers(Table):
    """Two players, and servers that share a store."""

    def __init__(self, folder: Path, seed: str, database: Pair, faults: Faults, figures: Figures) -> None:
        super().__init__(folder, seed, lambda _: None, figures)
        self.database = database
        self.faults = faults
        self.again = 0.0
        self.asleep: dict[int, float] = {}
        """Of a server's number when it wakes."""

    def play(self) -> None:
        with ExitStack() as stack:
            stack.enter_context(self.smarthost.open())
            near = Path(stack.enter_context(TemporaryDirectory()))  # the path of a socket is short
            self.lines = [
                stack.enter_context(Line(near / f"line{number}", self.database).open())
                for number in range(SERVERS + 1)
            ]
            *addresses, self.address = map(self._address, self.lines)
            self._make_schema()
            self.servers = []
            for number, address in enumerate(addresses):
                folder = self.folder / f"server{number}"
                folder.mkdir()
                (folder / "keys").symlink_to(self.folder / "keys")
                server = Server(folder, self.smarthost.port, rest=QUICK[0] / 10, shared=address)
                stack.callback(server.kill)
                self.servers.append(server)
            (self.folder / "keys").mkdir(mode=0o700)
            for server in self.servers:
                server.start()
            self.server = Server(self.folder, self.smarthost.port, shared=self.address)
            self._play()
            self._settle()
            for server in self.servers:
                if server.alive:  # not so who began while the database recovered, and was not needed again
                    server.stop()
            self.check()
        self.figures.matches += 1

    def _address(self, line: Line) -> PostgresqlAddress:
        """A schema for this match, on this way."""
        path = quote(f"-c search_path={self.folder.name}")
        return PostgresqlAddress(f"postgresql://pbem@/pbem?host={line.folder}&options={path}")

    def _make_schema(self) -> None:
        import psycopg  # noqa: PLC0415 - where it is not asked for it need not be there

        with psycopg.connect(self.database.url, autocommit=True) as connection:
            connection.execute(f"CREATE SCHEMA {self.folder.name}".encode())

    def _until(self, condition: Callable[[], bool]) -> None:
        waited, now = 0.0, time.monotonic()
        while not condition():
            self._befall()
            self._post()
            waited += min(time.monotonic() - now, MOMENT)
            now = time.monotonic()
            if self._collect():
                waited = 0.0
            assert waited < PATIENCE, f"nothing happens any more: {self._state()}"

    def _befall(self) -> None:
        now = time.monotonic()
        for number, wakes in list(self.asleep.items()):
            if now >= wakes:
                self._signal(number, signal.SIGCONT)
                del self.asleep[number]
        for server in self.servers:
            if not server.alive:
                server.start()
        if now < self.again or self.faults.left <= 0:
            return
        self.again = now + self.random.random() * BETWEEN
        (kind,) = self.faults.first[:1] or self.random.choices(KINDS, CHANCES)
        if self._may(kind):
            del self.faults.first[:1]
            self.faults.left -= 1
            self.faults.kinds[kind] += 1
            number = self.random.choice([number for number in range(SERVERS) if number not in self.asleep])
            self._strike(kind, number, now)

    def _may(self, kind: str) -> bool:
        """Whether this may befall anybody now."""
        if kind == "sleep" and len(self.asleep) == SERVERS - 1:
            return False
        if kind in {"kill", "sleep"}:
            return not self._at_the_brink()
        return kind != "failover" or self.database.ready()

    def _strike(self, kind: str, number: int, now: float) -> None:
        if kind == "kill":
            self.servers[number].kill()
        elif kind == "sleep":
            self._signal(number, signal.SIGSTOP)
            self.asleep[number] = now + QUICK[0].total_seconds() * (0.5 + self.random.random())
        elif kind == "connection":
            self.lines[number].cut()
        elif kind == "answer to COMMIT":
            self.lines[number].lose = True
        elif kind == "database":
            self._crash()
        elif kind == "failover":
            self.database.fail_over()
            for line in self.lines:
                line.cut()

    def _at_the_brink(self) -> bool:
        """Whether a letter is suspect, or nobody can say: after some more deaths at it, it would be set aside."""
        try:
            with self.server.store() as (database, _, _):
                return bool(database.scalar("SELECT count(*) FROM inbox WHERE state <> 'done' AND suspect = 1"))
        except BusyError:
            return True

    def _signal(self, number: int, which: signal.Signals) -> None:
        server = self.servers[number]
        with suppress(ProcessLookupError):
            for process in (*children(server.pid), server.pid):
                os.kill(process, which)

    def _crash(self) -> None:
        """Kill one of the database's processes: it ends all connections, and recovers from its log."""
        import psycopg  # noqa: PLC0415 - where it is not asked for it need not be there

        with suppress(psycopg.Error), psycopg.connect(self.database.url, autocommit=True) as connection:
            os.kill(connection.info.backend_pid, signal.SIGKILL)
            connection.execute("SELECT 1")

    def _post(self) -> None:
        awake = [server for number, server in enumerate(self.servers) if number not in self.asleep and server.alive]
        if not awake:
            return
        self.server.port = self.random.choice(awake).port
        for player in self.players.values():
            while player.outgoing:
                if not self.server.send(player.outgoing[0], player.address).startswith("250"):
                    self.figures.retried += 1
                    return
                player.note_sent()
                self.figures.sent += 1

    def _settle(self) -> None:
        """Everything that waits comes to its end, while nothing befalls anybody."""
        for number in list(self.asleep):
            self._signal(number, signal.SIGCONT)
        self.asleep.clear()
        self._all_done()
        while self._collect():
            pass

    def _all_done(self) -> None:
        give_up = time.monotonic() + PATIENCE
        while not self._done():
            assert time.monotonic() < give_up, f"something waits for ever: {self._state()}"
            for server in self.servers:
                if not server.alive:  # who begins while the database recovers ends, and is begun again
                    server.start()
            time.sleep(0.05)

    def _done(self) -> bool:
        try:
            with self.server.store() as (_, inbox, outbox):
                return inbox.count("done") == inbox.count() and outbox.count("delivered") == outbox.count()
        except BusyError:
            return False


def play(folder: Path, most: int) -> tuple[Faults, Figures]:
    faults, figures = Faults(left=most), Figures()
    with pair() as database:
        while faults.left > 0:
            each = folder / f"match{figures.matches}"
            each.mkdir()
            table = ManyServers(each, f"many {figures.matches}", database, faults, figures)
            table.play()
            checks = list(verify(table.bundle(), Letters))
            assert checks
            assert all(check.holds for check in checks), [check for check in checks if not check.holds]
        assert database.failovers == faults.kinds["failover"]
    return faults, figures


def test_a_match_over_many_faults(tmp_path: Path) -> None:
    faults, _ = play(tmp_path, 15)
    assert faults.kinds.total() == 15
    assert set(faults.kinds) == set(KINDS)


@pytest.mark.long
def test_five_hundred_faults(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    faults, figures = play(tmp_path, 500)
    with capsys.disabled():
        print(f"\n{faults}; {figures}")
    assert set(faults.kinds) == set(KINDS)
