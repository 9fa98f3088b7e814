"""A database elsewhere that two servers share: PostgreSQL as they meet it, over a network that parts them from it.

Its rows are in a file of SQLite's, on a disk of its own that never fails: crashes of the database are PostgreSQL's
matter. What pbem does otherwise than with a file of its own is simulated: sessions that break or are ended, a lock
that belongs to the session that decides, one clock for all, and commits that are undone, get no answer, or a late
one. Transactions come one after the other here; PostgreSQL lets several write at once.

All spans of time by which servers watch each other are `SLOWER`, so that weeks are short.
"""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing, contextmanager, suppress
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn
from unittest.mock import patch

from pbem.server import daemon, desk_work
from pbem.store import owners
from pbem.store.database import to_db
from pbem.store.disk import THIS_DISK
from pbem.store.errors import BusyError
from pbem.store.sqlite import Sqlite
from pbem.store_place import PostgresqlAddress
from simulation.disk import Process
from simulation.loop import PLACE

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import datetime

    from pbem.store.disk import Disk
    from pbem.store.engine import Parameters
    from pbem.store_place import Place
    from simulation.world import World

ADDRESS = PostgresqlAddress("postgresql://pbem@db.example/pbem")
SLOWER = 400.0
SILENCE = 3 * SLOWER
"""Seconds after which either side gives up a connection whose other end is gone: `pbem.store.postgresql`."""
IDLE = 10 * SLOWER
"""The longest time in seconds that a transaction may idle there."""
LEASE = owners.LEASE.total_seconds() * SLOWER
TAKEOVER = 15 * SLOWER
"""Seconds within which a server that is well does what one that is not leaves undone."""
READS = ("SELECT", "PRAGMA", "WITH")


@contextmanager
def slowed() -> Iterator[None]:
    """Let servers watch each other less often, by as much in all."""
    with (
        patch.object(daemon, "RENEW", daemon.RENEW * SLOWER),
        patch.object(desk_work, "STANDBY", desk_work.STANDBY * SLOWER),
        patch.object(owners, "LEASE", owners.LEASE * SLOWER),
        patch.object(owners, "SILENT", owners.SILENT * SLOWER),
    ):
        yield


class Elsewhere:
    """The database, as its own machine has it."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.random = world.random("database")
        folder = world.folder / "database"
        folder.mkdir()
        self.path = folder / "pbem.sqlite"
        self.lossy = 0.0
        """The probability that a connection breaks at a commit, or that the answer is late."""
        self.away: set[str] = set()
        """The machines that do not reach it."""
        self.decides: Session | None = None
        """The session that holds the lock of PostgreSQL's."""
        self.decided = ""
        """The machine whose session had the lock last."""
        self.sessions: list[Session] = []
        self.wrong: list[str] = []
        """The faults of servers, done or left undone."""
        self.set_by = timedelta()
        """The time by which its clock is wrong."""

    def connected(self, place: Place, disk: Disk, *, make: bool, name: str = "") -> Sqlite:
        """A connection, for `pbem.store.database` to make in place of its own."""
        return Sqlite(place, disk, make=make) if isinstance(place, Path) else Remote(self, disk, name)

    def now(self) -> datetime:
        """The time of its clock."""
        return self.world.now() + self.set_by

    def set_clock(self, wrong_by: timedelta, *, synchronised: bool) -> None:
        """Set its clock wrong, or right again; machines vouch for it whose own clocks agree."""
        del synchronised
        self.set_by = wrong_by

    def cut_off(self, host: str) -> None:
        """A machine does not reach it from now on: after a while its sessions end."""
        self.away.add(host)
        for session in self._of(host):
            self._end_later(session)

    def lose(self, host: str, *, power: bool) -> None:
        """The servers of a machine are dead: its system says so, unless that is gone, too, or out of reach."""
        for session in self._of(host):
            session.abandoned = True
            session.undo()
            if power or host in self.away:
                self._end_later(session)
            else:
                session.end()

    def _of(self, host: str) -> list[Session]:
        self.sessions = [session for session in self.sessions if session.lives]
        return [session for session in self.sessions if session.host == host]

    def _end_later(self, session: Session) -> None:
        """End a session whose other end is gone, unless that is back before it is noticed."""

        def notice() -> None:
            if session.abandoned or session.host in self.away:
                session.end()

        self.world.loop.call_later(SILENCE * (0.5 + self.random.random() / 2), notice)

    async def watch(self) -> None:
        """See that a server that is well decides, and that what a dead one was sending is sent."""
        since: dict[tuple[str, str], float] = {}
        while not self.wrong:
            await asyncio.sleep(SLOWER)
            now = self.world.loop.time()
            well = sorted(one.host for one in self.world.machines if one.runs and one.host not in self.away)
            decides = self.decides is not None and self.decides.host in well
            undone = [] if decides else ["nobody decided for long"]
            if self._is_left():
                undone.append("what a dead server was sending was left to it for long")
            spells = [] if self.lossy else [(host, what) for host in well for what in undone]
            since = {spell: since.get(spell, now) for spell in spells}
            for what in sorted({what for (_, what), began in since.items() if now > began + TAKEOVER}):
                self.wrong.append(f"{what}: {self.world.now():%a %d %b %H:%M:%S}")

    def _is_left(self) -> bool:
        """True if a server that does not live has letters to send."""
        if not self.path.exists():
            return False
        with closing(sqlite3.connect(self.path)) as connection:
            alive = "SELECT 1 FROM owners WHERE name = owner AND until > ?"
            left = f"SELECT 1 FROM outbox WHERE state = 'leased' AND NOT EXISTS ({alive}) LIMIT 1"
            with suppress(sqlite3.OperationalError):  # the tables are not made yet
                return connection.execute(left, (to_db(self.now()),)).fetchone() is not None
        return False


class Session:
    """A session, as the database has it."""

    def __init__(self, remote: Remote) -> None:
        self._remote = remote
        self.host = remote.host
        self.name = remote.name
        self.lives = True
        self.abandoned = False
        """True if the server has given it up."""

    def undo(self) -> None:
        """Undo its transaction."""
        if self._remote.session is self:
            with suppress(sqlite3.ProgrammingError):  # it is closed
                self._remote.connection.rollback()

    def end(self) -> None:
        """End it, with its transaction and its lock."""
        if self.lives:
            self.lives = False
            self.undo()
            base = self._remote.base
            if base.decides is self:
                base.decides = None


class Remote(Sqlite):
    """One connection to it, which behaves as `pbem.store.postgresql.Postgresql` does when it is lost."""

    def __init__(self, base: Elsewhere, disk: Disk, name: str) -> None:
        super().__init__(base.path, THIS_DISK, make=True)
        self.place = ADDRESS  # type: ignore[assignment] # it has no path
        self.base = base
        self.host = PLACE.get()
        self.name = name
        self.session: Session | None = None
        """The session that the server believes to have."""
        self._process = disk if isinstance(disk, Process) else None
        self._worn = self._is_to_decide = self._in_transaction = self._slept = False
        self._connect()

    # The network.

    def _travel(self) -> None:
        """Reach the database, or give up after a while."""
        base, process = self.base, self._process
        if process is not None:
            process.disk.step()
        if self.host in base.away and not self._in_transaction:
            base.world.loop.pause(SILENCE * base.random.random())
        if self.host in base.away or not (process is None or process.alive):
            self._break("nobody answers")

    def _ask(self) -> Session:
        """Say something in the session."""
        self._travel()
        if self.session is None or not self.session.lives:
            self._break("the session was ended")
        return self.session

    def _break(self, why: str) -> NoReturn:
        self._leave()
        raise BusyError(f"{self.place} cannot be reached: {why}")

    def _leave(self) -> None:
        """Give the session up, and say so, if there is anybody to hear it."""
        session, self.session = self.session, None
        if session is not None:
            session.abandoned = True
            if self.host not in self.base.away and (self._process is None or self._process.alive):
                session.end()
        self.connection.rollback()

    def _connect(self) -> None:
        self.decides = self._worn = False
        self._travel()
        self.session = Session(self)
        self.base.sessions.append(self.session)

    def _reach(self) -> None:
        """Make sure that there is a connection."""
        if self._worn:
            self._leave()
        if self.session is None:
            self._connect()

    def _reach_to_write(self) -> None:
        """Make sure that there is a connection; raises `BusyError` if it was to decide, and no longer does."""
        self._reach()
        if self._is_to_decide and not self.decides:
            raise BusyError("the connection was lost: another server may decide by now")

    def fall_asleep(self) -> None:
        """The server sleeps in the middle of its transaction, for longer than the database waits for it."""
        if self.session is not None:
            self.session.undo()
            self._slept = True
            self.base.world.loop.call_later(IDLE, self.session.end)

    def close(self) -> None:
        """Close the connection; an open transaction is rolled back."""
        self._leave()
        super().close()

    # What a store asks of it.

    @property
    def in_transaction(self) -> bool:
        """True from `begin` to `commit` or `rollback`, which is also needed after the connection was lost."""
        return self._in_transaction

    def leave_log(self) -> None:
        """Nothing: the database looks after its log."""

    def settle_log(self) -> bool:
        """True: the database looks after its log."""
        return True

    def try_to_decide(self) -> bool:
        """Become the connection that decides, unless there is another."""
        self._reach()
        self._is_to_decide = True
        if not self.decides:
            session, base = self._ask(), self.base
            if base.decides is None:
                base.decides = session
                base.world.figures.takeovers += base.decided not in {"", self.host}
                base.decided = self.host
            self.decides = base.decides is session
        return self.decides

    def depose(self, alive: Sequence[str]) -> None:
        """End the connection that decides if its server is not among those that are alive."""
        self._ask()
        other = self.base.decides
        if other is not None and other.name not in alive:
            self.base.world.note("a silent server is deposed:", other.host)
            other.end()

    def begin(self) -> None:
        """Begin a transaction; raises `BusyError` if this connection was to decide, and no longer does."""
        self._reach_to_write()
        self._ask()
        self._in_transaction = True
        try:
            super().begin()
        except BaseException:
            self.rollback()
            raise

    def commit(self) -> None:
        """Commit: nobody may hear of it, or late."""
        session, base = self._ask(), self.base
        if self._slept:
            session.end()
            self._break("the transaction idled for too long")
        if self.name and base.decides is not session:
            base.wrong.append(f"a server decided that may not: {base.world.now():%a %d %b %H:%M:%S}")
        fate = self._fate()
        if fate == "undone":
            self._lose()
        super().commit()
        self._in_transaction = False
        self._after(fate)

    def _fate(self) -> str:
        base = self.base
        if base.random.random() >= base.lossy or any(one.would_be_blamed() for one in base.world.machines):
            return "done"
        return base.random.choice(("undone", "unknown", "late"))

    def _after(self, fate: str) -> None:
        if fate == "unknown":
            self._lose()
        if fate == "late":
            self.base.world.loop.pause(SILENCE * self.base.random.random())

    def _lose(self) -> NoReturn:
        self._break("the connection broke at COMMIT")

    def rollback(self) -> None:
        """Undo the transaction, if it has not ended already."""
        self._in_transaction = self._slept = False
        super().rollback()
        if self.session is None or not self.session.lives:
            self._worn, self.decides = True, False

    def run(self, sql: str, parameters: Parameters = ()) -> sqlite3.Cursor:
        """Run one statement; one that writes outside of a transaction is a transaction of its own."""
        if not self._in_transaction:
            writes = not sql.lstrip().startswith(READS)
            (self._reach_to_write if writes else self._reach)()
            self._ask()
            fate = self._fate() if writes else "done"
            if fate == "undone":
                self._lose()
            done = super().run(sql, parameters)
            self._after(fate)
            return done
        self._ask()
        return super().run(sql, parameters)

    def time(self, here: datetime) -> datetime:
        """The time for all servers: the database's."""
        del here
        self._reach()
        self._ask()
        return self.base.now()

    def room(self) -> None:  # type: ignore[override] # as for PostgreSQL
        """None: the disk is elsewhere."""

    def in_place(self) -> bool:
        """True: the database looks after its files."""
        return True

    def note_high_water(self) -> None:
        """Note nothing."""

    def check_high_water(self) -> None:
        """Check nothing."""
