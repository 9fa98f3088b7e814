"""Matches by mail at servers that die, and nobody notices: the harness of what only real processes show.

`kill -9` of a daemon with its desk and its reader, the locks of SQLite and PostgreSQL, servers that sleep past their
lease, databases that crash and fail over. Simulated weeks (simulation/) show other deaths, and power cuts. Players
are the same there and here, and so is what must hold afterwards: `world.promises`.
"""

from __future__ import annotations

import asyncio
import os
import queue
import signal
from collections import Counter
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from random import Random
from time import monotonic
from typing import TYPE_CHECKING

from machines.clusters import SOCKET
from machines.deaths import End
from machines.lives import PATIENCE, QUICK, Server, Smarthost, children
from world.correspondent import Correspondent
from world.listening import in_a_thread
from world.promises import Seen, broken

from pbem.games import Refused
from pbem.store.errors import BusyError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from machines.clusters import Pair

    from pbem.player.memory import SentForm

TERMS = "fleet: cost:9\nsettle: 1s"

AGAIN = 0.05
"""The probability that a letter that was taken is sent once more."""

BETWEEN = 0.6
"""At most so many seconds between two faults."""

MOMENT = 10.0
"""At most so many seconds count as waited for at once: the whole of us may have been stopped meanwhile."""


class Player(Correspondent):
    """A program that now and then sends other orders first."""

    def __init__(self, folder: Path, name: str, wavers: float = 0.0) -> None:
        super().__init__(folder.name, name, folder, lambda: datetime.now(UTC), self._write)
        self.outgoing: list[bytes] = []
        self._wavers = wavers
        self._order = self.letters.order
        self.letters.order = self.order  # type: ignore[method-assign]  # what a program orders comes through here

    def _write(self, sent: SentForm) -> None:
        self.outgoing.append(sent.raw)

    def order(
        self, match: str, text: str, now: datetime, *, final: bool = False, turn: int | None = None
    ) -> SentForm:
        other = text.rpartition("\n")[0] or text.rpartition(" ")[0]  # none at all would be final
        if other and self.random.random() < self._wavers:
            with suppress(Refused):
                self._order(match, other, now)
        return self._order(match, text, now, final=final, turn=turn)

    @property
    def done(self) -> bool:
        """True once a match was played, and is over."""
        phases = [standing.phase for standing in self.letters.matches.standings]
        return bool(phases) and all(phase == "closed" for phase in phases)


class Line:
    """The way of a server to its database, wherever that is now: it is cut, or loses the answer to a COMMIT."""

    def __init__(self, database: Pair) -> None:
        self.lose = False
        self._database = database
        self._writers: set[asyncio.StreamWriter] = set()

    @contextmanager
    def open(self, folder: Path) -> Iterator[Line]:
        folder.mkdir()
        with in_a_thread(lambda: asyncio.start_unix_server(self._carry, folder / SOCKET)) as (self._loop, _):
            yield self
            self.cut()

    def cut(self) -> None:
        for writer in [*self._writers]:
            self._loop.call_soon_threadsafe(writer.transport.abort)

    async def _carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        committing = False

        async def carry(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
            nonlocal committing
            while octets := await source.read(65536):
                if source is reader and self.lose and b"COMMIT\0" in octets:
                    self.lose, committing = False, True
                elif source is not reader and committing:
                    break
                sink.write(octets)
                await sink.drain()
            raise ConnectionError

        self._writers.add(writer)
        with suppress(OSError):
            there, back = await asyncio.open_unix_connection(self._database.primary.folder / SOCKET)
            with suppress(OSError):
                await asyncio.gather(carry(reader, back), carry(there, writer))
            back.transport.abort()
        self._writers.discard(writer)
        writer.transport.abort()


@dataclass
class Fate:
    """The faults still to come over the servers of some tables, and those that came."""

    left: int = 0
    kinds: Mapping[str, int] = field(default_factory=dict)
    """The faults, and the probability of each; each comes once before chance decides."""
    points: list[str] = field(default_factory=list)
    """The points at which lives end, one after the other."""
    befell: Counter[str] = field(default_factory=Counter)
    mail: Counter[str] = field(default_factory=Counter)

    def __str__(self) -> str:
        told = (", ".join(f"{count} {what}" for what, count in sorted(of.items())) for of in (self.befell, self.mail))
        return f"{self.befell.total()} faults: {'; '.join(told)}"

    def end(self, random: Random) -> End | None:
        """The end of the next life."""
        if not self.points:
            return None
        # Transactions are many: the first ones are those of the start, and each letter has several.
        return End(self.points[0], random.randint(1, 14 if self.points[0].startswith("transaction") else 2))

    def kind(self, random: Random) -> str:
        """The next fault."""
        new = [kind for kind in self.kinds if not self.befell[kind]]
        return new[0] if new else random.choices([*self.kinds], [*self.kinds.values()])[0]


class Table:
    """Pairs of players at servers with one store, to whom this and that happens until all matches are over."""

    def __init__(
        self, folder: Path, fate: Fate | None = None, *, pairs: int = 1, terms: str = TERMS, wavers: float = 0.0
    ) -> None:
        self.folder, self.fate, self.random = folder, fate or Fate(), Random(folder.name)
        folder.mkdir()
        self.smarthost = Smarthost(self.random)
        self.servers: list[Server] = []
        self.lines: list[Line] = []
        self.database: Pair | None = None
        self.pairs = [tuple(Player(folder, f"{name}{at}", wavers) for name in ("ann", "bob")) for at in range(pairs)]
        self.players = {player.address: player for pair in self.pairs for player in pair}
        self.answered: dict[tuple[bytes, str], None] = {}
        self._terms = terms
        self._ends: dict[Server, End] = {}
        self._asleep: dict[Server, float] = {}
        """When each wakes."""
        self._again = 0.0

    def play_at(self, *servers: Server) -> None:
        """Play all matches to their ends, and see that every promise was kept."""
        self.servers = [*servers]
        try:
            self.begin()
            self.until(lambda: all(player.done for player in self.players.values()))
            left, self.fate.left = self.fate.left, 0
            points, self.fate.points = self.fate.points, []
            for server in self._ends:
                server.kill()
            self._ends.clear()
            self.until(lambda: not self._asleep and self._is_settled())
            for server in self.servers:
                if server.alive:  # not so who began while the database recovered, and was not needed again
                    server.stop()
            while self.collect():
                pass
            self._check()
            self.fate.left, self.fate.points = left, points
        finally:
            for server in self.servers:
                server.kill()

    def begin(self) -> None:
        """Register all, and propose the matches."""
        for player in self.players.values():
            player.begin()
        self.until(lambda: all(player.registered for player in self.players.values()) and self._is_settled())
        for ann, bob in self.pairs:
            ann.propose("spaceships", bob, self._terms)

    def until(self, condition: Callable[[], bool]) -> None:
        """Let everything happen until then."""
        waited, now = 0.0, monotonic()
        while not condition():
            self._befall()
            self.post()
            waited += min(monotonic() - now, MOMENT)
            now = monotonic()
            while self.collect():
                waited = 0.0
            assert waited < PATIENCE, f"nothing happens any more: {self._state()}"

    def _is_settled(self) -> bool:
        """True if no letter is on its way, neither in the store nor to a player."""
        with suppress(BusyError), self.servers[0].store() as (_, inbox, outbox):
            if inbox.count("done") == inbox.count() and outbox.count("delivered") == outbox.count():
                outgoing = any(player.outgoing for player in self.players.values())
                return self.smarthost.arrivals.empty() and not outgoing
        return False

    def _at_the_brink(self) -> bool:
        """True if a letter may be suspect: after some more deaths at it, it would be set aside."""
        with suppress(BusyError), self.servers[0].store() as (database, _, _):
            return bool(database.scalar("SELECT count(*) FROM inbox WHERE state <> 'done' AND suspect = 1"))
        return True

    def _befall(self) -> None:
        now = monotonic()
        for server in [server for server, wakes in self._asleep.items() if wakes <= now]:
            self._signal(server, signal.SIGCONT)
            del self._asleep[server]
        for server in self.servers:
            if not server.alive:
                self._bear(server)
        if self.fate.left > 0 and self.fate.kinds and now >= self._again:
            self._again = now + self.random.random() * BETWEEN
            kind = self.fate.kind(self.random)
            server = self.random.choice([server for server in self.servers if server not in self._asleep])
            if self._may(kind, server):
                self.fate.left -= 1
                self.fate.befell[kind] += 1
                self._strike(kind, server)

    def _bear(self, server: Server) -> None:
        """Let a dead server live again; how that life ends may be planned."""
        if (end := self._ends.pop(server, None)) is not None:
            assert server.status == -signal.SIGKILL, self._state()
            self.fate.befell[end.point] += 1
            self.fate.points.remove(end.point)
        end = None if server.status is not None and self._at_the_brink() else self.fate.end(self.random)
        if end is not None:
            self._ends[server] = end
        server.start(end, worker=self.random.random() < 0.05)

    def _may(self, kind: str, server: Server) -> bool:
        """True if that server may meet this fault now."""
        if kind in {"kill", "sleep"}:
            last = kind == "sleep" and len(self._asleep) == len(self.servers) - 1
            return not last and server not in self._ends and not self._at_the_brink()
        return kind != "failover" or (self.database is not None and self.database.ready())

    def _strike(self, kind: str, server: Server) -> None:
        if kind == "kill":
            server.kill()
        elif kind == "sleep":
            self._signal(server, signal.SIGSTOP)
            self._asleep[server] = monotonic() + QUICK[0].total_seconds() * (0.5 + self.random.random())
        elif kind == "connection":
            self.random.choice(self.lines).cut()
        elif kind == "answer to COMMIT":
            self.random.choice(self.lines).lose = True
        elif kind == "database" and self.database is not None:
            self.database.crash()
        elif kind == "failover" and self.database is not None:
            self.database.fail_over()
            for line in self.lines:
                line.cut()

    def _signal(self, server: Server, which: signal.Signals) -> None:
        with suppress(ProcessLookupError):
            for process in (*children(server.pid), server.pid):
                os.kill(process, which)

    def post(self) -> None:
        """A letter of each of some players, to any of the servers; now and then one that was taken before."""
        awake = [server for server in self.servers if server not in self._asleep and server.alive]
        writing = [player for player in self.players.values() if player.outgoing]
        for player in self.random.sample(writing, min(len(writing), 8)) if awake else ():
            raw = player.outgoing[0]
            if not self.random.choice(awake).send(raw, player.address).startswith("250"):
                self.fate.mail["not taken"] += 1
                continue
            self.answered[player.outgoing.pop(0), player.address] = None
            if self.random.random() < AGAIN:
                self.fate.mail["sent again"] += 1
                self.random.choice(awake).send(raw, player.address)

    def collect(self) -> bool:
        """Bring a letter to its reader; whether there was one."""
        try:
            recipient, raw = self.smarthost.arrivals.get(timeout=0.01)
        except queue.Empty:
            return False
        self.take(recipient, raw)
        return True

    def take(self, recipient: str, raw: bytes) -> None:
        """Let its reader read a letter."""
        assert recipient in self.players, f"{raw.decode()[-1500:]}\n{self._state()}"
        self.players[recipient].read([raw])

    def _state(self) -> str:
        """The state of matches that have come to a standstill."""
        inbox = "SELECT id, state, attempts, outcome FROM inbox WHERE state != 'done'"
        outbox = "SELECT id, state, attempts, due, reply FROM outbox WHERE state != 'delivered'"
        with self.servers[0].store() as (database, _, _):
            rows = [*database.rows(inbox), *database.rows(outbox)]
        logs = [path.read_text()[-5000:] for path in self.folder.rglob("server.log")]
        alive = [server.alive for server in self.servers]
        return "\n".join([f"{self._ends}, alive {alive}, {rows}", *self._broken(), *logs])

    def _broken(self) -> list[str]:
        """The promises that are not kept, as far as can be seen."""
        with self.servers[0].store() as (database, inbox, _):
            players = self.players.values()
            return [*broken(Seen(database, inbox._vault, self.answered, self.smarthost.taken, players, proved={}))]

    def _check(self) -> None:
        """Every promise was kept, and nothing is there that nobody was told of."""
        found = self._broken()
        assert not found, "\n".join(found)
        with self.servers[0].store() as (_, inbox, _):
            assert inbox.count() == len(self.answered)
        assert not [sent for player in self.players.values() for sent in player.memory.in_state("refused")]
        copies = Counter(self.smarthost.taken).values()
        self.fate.mail += Counter(matches=len(self.pairs), came=len(self.answered), left=len(copies))
        self.fate.mail["left more than once"] += sum(count > 1 for count in copies)
