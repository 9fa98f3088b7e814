"""The store as its readers and writers see it: one connection, and one explicit transaction at a time.

The engine under it (`pbem.store.sqlite`, `pbem.store.postgresql`) excludes others: in a file, one transaction writes
at a time; in PostgreSQL, one connection decides, while others take letters in and send them. Tables and their meaning
live in the other modules.
"""

from __future__ import annotations

import threading
from contextlib import AbstractContextManager, closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeVar

import msgspec

from pbem.failpoints import Failpoints, passing
from pbem.store.disk import THIS_DISK
from pbem.store.engine import migrations as schema_scripts
from pbem.store.errors import StoreError, UnknownVersionError
from pbem.store.sqlite import Sqlite
from pbem.store_place import PostgresqlAddress

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Iterator, Mapping, Sequence

    import psycopg

    from pbem.store.disk import Disk
    from pbem.store.engine import Parameters, Values
    from pbem.store.postgresql import Postgresql
    from pbem.store_place import Place

    Engine = Sqlite | Postgresql
    Cursor = sqlite3.Cursor | psycopg.Cursor[Values]

T = TypeVar("T")
Row = dict[str, Any]
"""A row by its columns' names. The schema gives the columns' types: all tables are STRICT."""


def to_db(time: datetime) -> str:
    """A time as it is stored: UTC in fixed width, so that text order is time order; raises on naive times."""
    if time.tzinfo is None:
        raise ValueError("a stored time needs a time zone")
    return time.astimezone(UTC).isoformat(timespec="microseconds").removesuffix("+00:00") + "Z"


def from_db(text: str) -> datetime:
    """The time of a stored stamp, in UTC."""
    return datetime.fromisoformat(text)


class Database(AbstractContextManager["Database"]):
    """One connection to the store, for one thread at a time; each working thread opens its own.

    Raises `UnknownVersionError` on a store of another version, `DamagedError` if it is not a store, and `StoreError`
    if the promises cannot be kept. Without `migrate`, a store is neither made nor brought up to date, because readers
    beside a daemon must not do that. `approve` may raise before anything is written.
    """

    def __init__(
        self,
        place: Place | str,
        migrations: Sequence[str] | None = None,
        *,
        migrate: bool = True,
        points: Failpoints = passing,
        name: str = "",
        approve: Callable[[Database], object] = lambda _: None,
        disk: Disk = THIS_DISK,
    ) -> None:
        self._points = points
        self._thread = threading.RLock()
        self.begun = 0
        """The number of transactions begun: what was read in one of them may be cached until the next."""
        self.noting: Callable[[], object] = lambda: None
        """The note that each transaction makes at its end: with the desk's decisions, the time."""
        self.engine = _connected(place, disk, make=migrate, name=name)
        self.place = self.engine.place
        try:
            with self.engine.translated():
                self.engine.recognise(empty=migrate)
                scripts = schema_scripts() if migrations is None else migrations
                version = self._version(scripts)
                approve(self)
                self.engine.prepare()
                if version < len(scripts):
                    if not migrate:
                        raise StoreError(f"{self.place} has version {version}: start the server once with this pbem")
                    with self.transaction():
                        self.engine.lock("store")
                        done = self._version(scripts)  # another process may have been here first
                        for number, script in enumerate(scripts[done:], done + 1):
                            self.engine.migrate(script, number)
        except BaseException:
            self.engine.close()
            raise

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection; an open transaction is rolled back."""
        self.engine.close()

    @property
    def in_transaction(self) -> bool:
        """True if a transaction is open on this connection."""
        return self.engine.in_transaction

    def try_to_decide(self) -> bool:
        """Become the connection that decides, unless another server's is; return True if this one is it now.

        It decides until it breaks; transactions on its replacement raise `BusyError` until this is asked again.
        """
        with self.engine.translated():
            return self.engine.try_to_decide()

    @contextmanager
    def transaction(self) -> Iterator[Self]:
        """One transaction: committed and on disk at the block's end, rolled back when the block raises.

        Transactions do not nest (RuntimeError). Raises `BusyError` and `FullError`; then nothing was written.
        """
        with self._thread, self.engine.translated():
            if self.in_transaction:
                raise RuntimeError("a transaction is already open")
            self.begun += 1
            self.engine.begin()
            try:
                yield self
                self.noting()
                self._points("transaction written")
                self.engine.commit()
                self._points("transaction committed")
            except BaseException:
                self.engine.rollback()
                raise

    @contextmanager
    def savepoint(self) -> Iterator[None]:
        """A part of the open transaction that is undone by itself when the block raises; savepoints may nest.

        Raises RuntimeError if no transaction is open.
        """
        self._needs_transaction()
        with self.engine.translated(), self.engine.savepoint():
            yield

    def execute(self, sql: str, parameters: Parameters = ()) -> Cursor:
        """Run one statement: within the open transaction, or else in its own."""
        return self.engine.run(sql, parameters)

    def write(self, sql: str, parameters: Parameters = ()) -> Cursor:
        """Run one statement that belongs to the caller's transaction; raises RuntimeError if none is open."""
        self._needs_transaction()
        return self.execute(sql, parameters)

    def _needs_transaction(self) -> None:
        if not self.in_transaction:
            raise RuntimeError("this belongs into a transaction")

    def put(self, table: str, key: str = "", /, **columns: object) -> Cursor:
        """Insert a row, as `write` does; in place of the one that has the same `key` (columns, with commas)."""
        sql = _insertion(table, columns)
        if key:
            changed = [f"{name} = excluded.{name}" for name in columns if name not in key.split(", ")]
            sql += f" ON CONFLICT ({key}) DO UPDATE SET {', '.join(changed)}"
        return self.write(sql, tuple(columns.values()))

    def add(self, table: str, /, **columns: object) -> bool:
        """Insert a row, as `write` does, unless there is one with one of its keys; returns True if there was none."""
        sql = f"{_insertion(table, columns)} ON CONFLICT DO NOTHING"
        return self.write(sql, tuple(columns.values())).rowcount == 1

    def insert(self, table: str, number: str, /, **columns: object) -> int:
        """Insert a row, as `write` does, and return its number, by the name of that column."""
        sql = f"{_insertion(table, columns)} RETURNING {number}"
        ((found,),) = self.write(sql, tuple(columns.values())).fetchall()
        return int(found)

    def rows(self, sql: str, parameters: Parameters = ()) -> list[Row]:
        """All rows of a query, each by its columns' names."""
        return list(self.each(sql, parameters))

    def read(self, kind: type[T], sql: str, parameters: Parameters = ()) -> list[T]:
        """All rows of a query as structs, whose fields have the columns' names: stamps as times, 0 and 1 as bool."""
        return msgspec.convert(self.rows(sql, parameters), list[kind], strict=False)  # type: ignore[valid-type]

    def read_one(self, kind: type[T], sql: str, parameters: Parameters = ()) -> T | None:
        """The first row of a query as a struct, or None."""
        found = self.row(sql, parameters)
        return None if found is None else msgspec.convert(found, kind, strict=False)

    def each(self, sql: str, parameters: Parameters = ()) -> Iterator[Row]:
        """The rows of a query, one by one."""
        cursor = self.execute(sql, parameters)
        with self.engine.translated():
            names = [column[0] for column in cursor.description or ()]
            for row in cursor:
                yield dict(zip(names, row, strict=True))

    def table(self, name: str) -> Iterator[Row]:
        """The rows of a table, one by one."""
        with self.engine.translated():
            yield from self.engine.table(name)

    def row(self, sql: str, parameters: Parameters = ()) -> Row | None:
        """The first row of a query, or None."""
        found = self.rows(sql, parameters)
        return found[0] if found else None

    def scalar(self, sql: str, parameters: Parameters = ()) -> Any:
        """The first column of the first row, or None."""
        with self.engine.translated():
            found = self.execute(sql, parameters).fetchone()
        return None if found is None else found[0]

    def text(self, sql: str, parameters: Parameters = ()) -> str | None:
        """The text in the first column of the first row, or None."""
        found: str | None = self.scalar(sql, parameters)
        return found

    def moment(self, sql: str, parameters: Parameters = ()) -> datetime | None:
        """The time in the first column of the first row, or None."""
        stamp = self.text(sql, parameters)
        return None if stamp is None else from_db(stamp)

    def meta(self, name: str) -> str | None:
        """A fact about the store as a whole, or None."""
        return self.text("SELECT value FROM meta WHERE name = ?", (name,))

    def set_meta(self, name: str, value: str) -> None:
        """Keep a fact about the store as a whole, in the caller's transaction."""
        self.put("meta", "name", name=name, value=value)

    def _version(self, migrations: Sequence[str]) -> int:
        version = self.engine.version
        if version > len(migrations):
            raise UnknownVersionError(
                f"{self.place} has version {version}, and this pbem knows none above {len(migrations)}: it was"
                " written by a later one, or before 1.0"
            )
        return version


def _insertion(table: str, columns: Mapping[str, object]) -> str:
    return f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({', '.join('?' * len(columns))})"


def is_there(place: Place) -> bool:
    """True if there is, or may be, a store at a place; raises `StoreError` if it cannot be reached."""
    if isinstance(place, Path):
        return place.exists()
    with closing(_connected(place, THIS_DISK, make=False)) as engine:
        return engine.version > 0


def standby_of(place: Place) -> bool | None:
    """True if commits of a store wait for a standby; None if none is seen. Raises `StoreError`."""
    with closing(_connected(place, THIS_DISK, make=False)) as engine:
        return engine.standby()


def _connected(place: Place | str, disk: Disk, *, make: bool, name: str = "") -> Engine:
    """A connection to the engine of a place; `make` allows an empty place. A file is on this disk.

    `name` is that of the server, which others that share the store are shown.
    """
    if isinstance(place, PostgresqlAddress):
        from pbem.store.postgresql import Postgresql

        return Postgresql(place, name)
    return Sqlite(place, disk, make=make)
