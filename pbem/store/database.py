"""The store as its readers and writers see it: one connection, one explicit transaction at a time, and decisions.

Under it is an `Engine`: an SQLite file, or a PostgreSQL database. Here live `Database` and the order of migrations;
`pbem.store.sqlite` and `pbem.store.postgresql` have what differs between the engines. Tables and their
meaning live in the other modules.
"""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Self, TypeVar

from pbem.failpoints import Failpoints, passing
from pbem.store.decision import Answer, Pending, Read, Script, Write, made, meanwhile, puts_off
from pbem.store.disk import THIS_DISK
from pbem.store.engine import BUSY_SECONDS
from pbem.store.errors import (
    BusyError,
    OvertakenError,
    StoreError,
    TooNewError,
)
from pbem.store.reach import Reaches
from pbem.store.schema import MIGRATIONS
from pbem.store.sqlite import Sqlite
from pbem.store_place import PostgresqlAddress

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence

    from pbem.store.decision import Parameters
    from pbem.store.disk import Disk
    from pbem.store.engine import Cursor, Engine
    from pbem.store.write_turn import WriteTurn
    from pbem.store_place import Place

__all__ = ["Database", "Row", "from_db", "is_there", "standby_of", "to_db"]

T = TypeVar("T")
Row = dict[str, Any]
"""A row by its columns' names. What is in a column, is said by the schema; of its tables each is STRICT."""


def to_db(time: datetime) -> str:
    """A time as it is stored: UTC in fixed width, so that text order is time order; raises on naive times."""
    if time.tzinfo is None:
        raise ValueError("a stored time needs a time zone")
    return time.astimezone(UTC).isoformat(timespec="microseconds").removesuffix("+00:00") + "Z"


def from_db(text: str) -> datetime:
    """The time of a stored stamp, in UTC."""
    return datetime.fromisoformat(text)


class Database:
    """One connection to the store, for one thread at a time; each working thread opens its own.

    Connections of one server share a `turn` at writing, see `WriteTurn`.

    Raises `TooNewError` on a store from a later version, `DamagedError` if it is not a store, and `StoreError` if
    the promises cannot be kept. Without `migrate`, a store is neither made nor brought up to date, because readers
    beside a daemon must not do that. `approve` may raise before anything is written.
    """

    def __init__(  # noqa: PLR0913 - the outside world, handed in piece by piece
        self,
        place: Place | str,
        migrations: Sequence[str] = MIGRATIONS,
        *,
        migrate: bool = True,
        points: Failpoints = passing,
        turn: WriteTurn | threading.Lock | None = None,
        owner: str | None = None,
        share: tuple[int, int] = (0, 1),
        approve: Callable[[Database], object] = lambda _: None,
        disk: Disk = THIS_DISK,
    ) -> None:
        self._turn = turn or threading.Lock()
        self.owner = owner or str(os.getpid())
        """By what that is known which whoever works on this connection has in hand."""
        self.share = share
        """Which of how many desks of a server works on it."""
        self._points = points
        self._thread = threading.RLock()
        self._script: Script | None = None
        self._parts: list[tuple[int, ExitStack]] = []
        """Of each savepoint that is open how many steps came before, and what ends it, once it has begun."""
        self._writing: ExitStack | None = None
        """While a decision is tried and nothing of it is written: what ends the transaction in which it goes on."""
        self._seen: object = None
        self._usual: OrderedDict[str, _Usual] = OrderedDict()
        """What is usually asked about something, where each question is a way of its own."""
        self.begun = 0
        """How many transactions were begun, one that a decision goes on in not counted.

        What was read, or put off, in one of them may be kept in mind until the next.
        """
        self.engine = _connected(place, disk, make=migrate)
        self.place = self.engine.place
        self._reaches = Reaches(self.engine.columns)
        try:
            with self._translated():
                self.engine.recognise(empty=migrate)
                approve(self)
                self.engine.prepare()
                if not migrate and self.version < len(migrations):
                    raise StoreError(
                        f"{self.place} was written by an earlier version: start the server once with this one"
                    )
                self._migrate(migrations)
        except BaseException:
            self.engine.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection; an open transaction is rolled back."""
        self.engine.close()

    def settle_log(self) -> bool:
        """Bring what earlier processes wrote on disk for good, before more is written; False while others read it."""
        return self.engine.settle_log()

    def commit_lightly(self) -> None:
        """Leave checkpoints to other connections: a commit here only puts its own transaction on disk."""
        self.engine.leave_log()

    @property
    def in_transaction(self) -> bool:
        """Whether a transaction is open on this connection."""
        return self.engine.in_transaction

    @property
    def changes(self) -> int:
        """How many rows this connection has written since it was opened."""
        return self.engine.changes

    def room(self) -> int | None:
        """How many octets are free on the disk under the store; None if that cannot be seen from here."""
        return self.engine.room()

    def in_place(self) -> bool:
        """Whether the store is still where it was opened; what is written to one that is not may be lost."""
        return self.engine.in_place()

    def note_high_water(self) -> None:
        """Note how far a store in a file has come; raises `StoreError` and OSError."""
        self.engine.note_high_water()

    def check_high_water(self) -> None:
        """Make sure that a store in a file has come as far as was noted; raises `StoreError`."""
        self.engine.check_high_water()

    def time(self, here: datetime) -> datetime:
        """The time for all who share the store, given the time of this machine."""
        return self.engine.time(here)

    def size(self) -> int:
        """How many octets the store has."""
        return self.engine.size()

    @property
    def version(self) -> int:
        """The number of migrations that this store has seen."""
        return self.engine.version

    @contextmanager
    def transaction(self, *, wait: bool = True) -> Iterator[Self]:
        """One transaction: committed and on disk at the block's end, rolled back when the block raises.

        Transactions do not nest (RuntimeError). Raises `BusyError` and `FullError`; then nothing was written. Without
        `wait`, the store counts as busy if anybody else writes.
        """
        with self._thread:
            if self.in_transaction:
                raise RuntimeError("a transaction is already open")
            if not self._turn.acquire(timeout=BUSY_SECONDS if wait else 0):
                raise BusyError("another connection writes")
            self.begun += self._script is None
            with _held(self._turn), self._translated():
                self.engine.begin(wait=wait)
                try:
                    yield self
                    self._points("transaction written")
                    self.engine.commit()
                    self._points("transaction committed")
                except BaseException:
                    self.engine.rollback()
                    raise

    def decide(self, decision: Callable[[], T], *, locked: bool = False, about: Iterable[str] = ()) -> T:
        """Try a decision, make what it deferred (`Later`), and write it all in one short transaction; its result.

        While it is tried, nothing is locked, as long as it does not need to see what it writes. From there on, or
        from the beginning if it must be `locked`, nobody else writes, and a decision that defers nothing is written
        at once. Any exception in the decision undoes it. Raises `OvertakenError` if others changed its premises
        meanwhile, or if it wrote something else than expected, neither of which happens to one that is tried
        `locked`; `BusyError` and `FullError`; then nothing was written.

        If each query is a round trip, the queries that parts `about` the same made last time are made together.
        """
        with self._thread:
            script = Script(self._reaches)
            with suppress(_TriedError), ExitStack() as writing:
                result = self._tried(decision, script, writing, locked=locked, about=about)
                if not self.in_transaction or script.puts_off:
                    if self.in_transaction:
                        self._seen = self.engine.written()
                    raise _TriedError
                return result
        script.make()
        with self.transaction():
            self._play(script.steps, script, made)
        return result

    def _tried(
        self, decision: Callable[[], T], script: Script, writing: ExitStack, *, locked: bool, about: Iterable[str]
    ) -> T:
        """The result of a decision; a transaction is open now if it could not be tried without one."""
        if self.in_transaction:
            raise RuntimeError("a transaction is already open")
        self.begun += 1
        self._script, self._writing = script, writing
        try:
            with self._translated():
                self.engine.begin_reading()
                self._seen = self.engine.written()
            if locked:
                self._write_on()
            elif self.engine.far:
                self._ask_ahead(script, about)
            return decision()
        finally:
            if self._writing is not None:
                self.engine.rollback()
            self._script = self._writing = None

    def _ask_ahead(self, script: Script, about: Iterable[str]) -> None:
        """Make the usual queries about these."""
        found = [self._usual[one].queries for one in about if one in self._usual]
        queries = list({asked: query for queries in found for asked, query in queries.items()}.values())
        if queries:
            ran = self.engine.run_all(queries)
            script.ahead(
                Read(*query, answer.rows, answer.description) for query, answer in zip(queries, ran, strict=True)
            )

    def _note_usual(self, about: str, reads: Iterable[Read]) -> None:
        """Record the queries about something: those that were also made the time before are usual."""
        asked = {read.asked: (read.sql, read.parameters) for read in reads if len(read.rows) <= _FEW}
        last = self._usual.pop(about).last if about in self._usual else {}
        self._usual[about] = _Usual(asked, {key: query for key, query in asked.items() if key in last})
        if len(self._usual) > _MANY:
            self._usual.popitem(last=False)

    def _write_on(self) -> None:
        """Write what the decision wrote so far, and continue in the transaction that is open from now on."""
        script, writing = self._script, self._writing
        assert script is not None
        assert writing is not None
        self._writing = None
        script.ahead(())  # others may have written since
        self.engine.rollback()
        writing.enter_context(self.transaction())
        done = 0
        for steps, part in self._parts:
            self._play(script.steps[done:steps], script, meanwhile)
            part.enter_context(self.engine.savepoint())
            done = steps
        self._play(script.steps[done:], script, meanwhile)

    def glance(self, look: Callable[[], T]) -> T:
        """What is found, without making it a premise of the decision."""
        with self._script.silent() if self._script else nullcontext():
            return look()

    def stands_on(self, look: Callable[[], T], *, holds: Callable[[T, T], bool]) -> T:
        """What is found, as a premise of the decision while it `holds`, in place of the queries that find it.

        `holds` gets what was found and what is found when the decision is written.
        """
        found = self.glance(look)
        if self._script is not None:
            self._script.stands_on.append(lambda: holds(found, look()))
        return found

    def _play(
        self, steps: Sequence[Read | Write], script: Script, values: Callable[[Parameters], Parameters]
    ) -> None:
        """Write what was decided; each statement must do and find the same as when it was tried.

        `values` are the deferred values, by now made.
        """
        alone = self._seen == self.engine.written()
        if not (alone or script.holds()):
            raise OvertakenError("what was decided on has changed")
        due = [step for step in steps if isinstance(step, Write) or not alone]
        try:
            found = self.engine.run_all(
                [(step.sql, values(step.parameters) if step.puts_off else step.parameters) for step in due]
            )
        except self.engine.failure as error:
            if alone and script is not self._script:
                raise
            # By what others wrote, or in a part that is over: decided anew, with a lock, each fails in its place.
            raise OvertakenError("what was decided cannot be written") from error
        for step, ran in zip(due, found, strict=True):
            if not step.holds(ran.changed, ran.rows):
                raise OvertakenError(f"somebody else changed what was found or written by: {step.sql}")

    @contextmanager
    def savepoint(self, about: str = "") -> Iterator[None]:
        """A part of the open transaction that is undone by itself when the block raises; savepoints may nest.

        `about` is its subject: see `decide`. Raises RuntimeError if no transaction is open.
        """
        self._needs_transaction()
        steps = len(self._script.steps) if self._script else 0
        queries = len(self._script.queries) if self._script else 0
        try:
            with self._translated(), ExitStack() as part:
                self._parts.append((steps, part))
                part.callback(self._parts.pop)
                if self._writing is None:
                    part.enter_context(self.engine.savepoint())
                yield
        except BaseException:
            if self._script is not None:
                self._script.undo(steps)
            raise
        if about and self._script is not None and self.engine.far:
            self._note_usual(about, self._script.queries[queries:])

    def execute(self, sql: str, parameters: Parameters = ()) -> Cursor:
        """Run one statement: within the open transaction, or else in its own."""
        script = self._script
        if script is None:
            return self.engine.run(sql, made(parameters) if puts_off(parameters) else parameters)
        if sql.startswith("SELECT"):
            return self._asked(script, sql, parameters)
        later = puts_off(parameters)
        if self._writing is not None:
            if "RETURNING" not in sql:
                pending = Write(sql, parameters, later)
                script.wrote(pending)
                return Pending(pending)
            self._write_on()
        cursor = self.engine.run(sql, meanwhile(parameters) if later else parameters)
        script.wrote(Write(sql, parameters, later, cursor.rowcount))
        return cursor

    def _asked(self, script: Script, sql: str, parameters: Parameters) -> Answer:
        """The result of a decision's query; it sees what the decision wrote."""
        met = script.met(sql, parameters)
        if not met and (known := script.known(sql, parameters)) is not None:
            return Answer(known.rows, known.description)
        if met and self._writing is not None:
            self._write_on()
        cursor = self.engine.run(sql, parameters)
        try:
            rows = cursor.fetchall()
        except self.engine.failure as error:
            self.engine.tell_apart(error)
        script.asked(Read(sql, parameters, rows, cursor.description, frozenset[object]().union(*met)))
        return Answer(rows, cursor.description)

    def write(self, sql: str, parameters: Parameters = ()) -> Cursor:
        """Run one statement that belongs to the caller's transaction; raises RuntimeError if none is open."""
        self._needs_transaction()
        return self.execute(sql, parameters)

    def _needs_transaction(self) -> None:
        if not self.in_transaction:
            raise RuntimeError("this belongs into a transaction")

    def insert(self, sql: str, parameters: Parameters = ()) -> int:
        """Insert one row, as `write` does, and return its number, which stays the same when a decision is written.

        The statement names that column with RETURNING.
        """
        ((number,),) = self.write(sql, parameters).fetchall()
        if self._script is not None:
            last = self._script.steps[-1]
            assert isinstance(last, Write)
            last.new = number
        return int(number)

    def rows(self, sql: str, parameters: Parameters = ()) -> list[Row]:
        """All rows of a query, each by its columns' names."""
        cursor = self.execute(sql, parameters)
        names = [column[0] for column in cursor.description]
        try:
            return [dict(zip(names, row, strict=True)) for row in cursor]
        except self.engine.failure as error:
            self.engine.tell_apart(error)

    def each(self, sql: str, parameters: Parameters = ()) -> Iterator[Row]:
        """The rows of a query, one by one."""
        cursor = self.execute(sql, parameters)
        names = [column[0] for column in cursor.description]
        with self._translated():
            for row in cursor:
                yield dict(zip(names, row, strict=True))

    def table(self, name: str) -> Iterator[Row]:
        """The rows of a table, one by one."""
        with self._translated():
            names, rows = self.engine.table(name)
            for row in rows:
                yield dict(zip(names, row, strict=True))

    def row(self, sql: str, parameters: Parameters = ()) -> Row | None:
        """The first row of a query, or None."""
        found = self.rows(sql, parameters)
        return found[0] if found else None

    def scalar(self, sql: str, parameters: Parameters = ()) -> Any:
        """The first column of the first row, or None."""
        try:
            found = self.execute(sql, parameters).fetchone()
        except self.engine.failure as error:
            self.engine.tell_apart(error)
        return None if found is None else found[0]

    def meta(self, name: str) -> str | None:
        """A fact about the store as a whole, or None."""
        value: str | None = self.scalar("SELECT value FROM meta WHERE name = ?", (name,))
        return value

    def set_meta(self, name: str, value: str) -> None:
        """Keep a fact about the store as a whole, in the caller's transaction."""
        self.write(
            "INSERT INTO meta (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value",
            (name, value),
        )

    def backup(self, path: Path) -> None:
        """Copy the store as it is at this moment into a new file; raises `StoreError` and FileExistsError."""
        self.engine.backup(path)

    def damage(self) -> list[str]:
        """The damage that the engine finds in the store; empty if it is sound."""
        return self.engine.damage()

    def _migrate(self, migrations: Sequence[str]) -> None:
        with self.transaction():
            done = self.version
            if done > len(migrations):
                raise TooNewError(
                    f"{self.place} has version {done}; this software knows {len(migrations)}: use the later one"
                )
            for number, script in enumerate(migrations[done:], done + 1):
                self.engine.migrate(script, number)

    @contextmanager
    def _translated(self) -> Iterator[None]:
        """Let the engine translate its library's errors."""
        try:
            yield
        except self.engine.failure as error:
            self.engine.tell_apart(error)


def is_there(place: Place) -> bool:
    """Whether there is, or may be, a store at a place; raises `StoreError` if that cannot be found out."""
    if isinstance(place, Path):
        return place.exists()
    engine = _connected(place, THIS_DISK, make=False)
    try:
        return engine.version > 0
    finally:
        engine.close()


def standby_of(place: Place) -> bool | None:
    """Whether commits of a store wait for a standby; None if none is seen. Raises `StoreError`."""
    engine = _connected(place, THIS_DISK, make=False)
    try:
        return engine.standby()
    finally:
        engine.close()


def _connected(place: Place | str, disk: Disk, *, make: bool) -> Engine:
    """A connection to the engine of a place; `make` allows an empty place. A file is on this disk."""
    if isinstance(place, PostgresqlAddress):
        from pbem.store.postgresql import Postgresql

        return Postgresql(place)
    return Sqlite(place, disk, make=make)


_FEW = 16
"""What gave more rows than these is not asked ahead."""

_MANY = 4096
"""About how much it is kept in mind what is usually asked."""


class _Usual(NamedTuple):
    """The last queries about something, and those of them that had been made the time before, too."""

    last: Mapping[Hashable, tuple[str, Parameters]]
    queries: Mapping[Hashable, tuple[str, Parameters]]


class _TriedError(Exception):
    """A decision was tried, and is being undone."""


@contextmanager
def _held(turn: WriteTurn | threading.Lock) -> Iterator[None]:
    """Give the turn to the next connection when the block is over."""
    try:
        yield
    finally:
        turn.release()
