"""The SQLite file under the store: how it is opened, locked, brought up to date and written to.

Here live `Database` (one connection), its one explicit transaction, the migrations' engine, the lock against a
second daemon, and the errors that the rooms above may meet. Tables and their meaning live in the other modules.
Implements reliability.md, promises 1 and 2: every commit is on disk (WAL, synchronous=FULL) before it returns.

Parts of a transaction and the scripts of migrations are sqlite-utils' own work. A whole transaction is not: its
`atomic` begins DEFERRED, and would meet a busy store half-way. Nor are the migrations' numbers: its `Migrations` know
no store that is too new, take the machine's time, and find no version in the `user_version` of the stores there are.
"""

from __future__ import annotations

import fcntl
import os
import sqlite3
import threading
from contextlib import closing, contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, Self, TypeVar

import sqlite_utils

from pbem.failpoints import Failpoints, passing
from pbem.store.decision import Answer, Read, Script, Write, made, meanwhile, puts_off
from pbem.store.schema import MIGRATIONS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from pbem.store.decision import Parameters
    from pbem.store.write_turn import WriteTurn

    Cursor = sqlite3.Cursor | Answer

__all__ = [
    "BusyError",
    "DamagedError",
    "Database",
    "FullError",
    "Lock",
    "LockedError",
    "OvertakenError",
    "Row",
    "StoreError",
    "TooNewError",
    "from_db",
    "sync",
    "to_db",
]

T = TypeVar("T")
Row = dict[str, Any]
"""A row by its columns' names. What is in a column, is said by the schema; of its tables each is STRICT."""

BUSY_SECONDS = 5.0  # the longest wait for another's transaction; then the sender is asked to come again
FULL = 2  # the value of PRAGMA synchronous under which SQLite syncs the WAL at each commit


class StoreError(Exception):
    """The store could not do its work, through no fault of the caller."""


class BusyError(StoreError):
    """Another connection held the write lock for too long; trying again later helps."""


class FullError(StoreError):
    """The disk is full or does not work; nothing was written."""


class OvertakenError(StoreError):
    """The premises of a decision changed before it was written; nothing was written, and it must be made anew."""


class DamagedError(StoreError):
    """The file is no store of pbem, or not all of it can be read."""


class LockedError(StoreError):
    """Another daemon works on this store."""


class TooNewError(StoreError):
    """The store was written by a later version of the software."""


def to_db(time: datetime) -> str:
    """A time as it is stored: UTC, fixed width, so that text order is time order; raises on naive times."""
    if time.tzinfo is None:
        raise ValueError("a stored time needs a time zone")
    return time.astimezone(UTC).isoformat(timespec="microseconds").removesuffix("+00:00") + "Z"


def from_db(text: str) -> datetime:
    """The time of a stored stamp, in UTC."""
    return datetime.fromisoformat(text)


class Database:
    """One connection to the store, made for one thread at a time; each thread that works opens its own.

    Connections of one server share a `turn` at writing, see `WriteTurn`.

    Raises `TooNewError` on a store from a later version, `DamagedError` on what is none, and `StoreError` where the
    promises cannot be kept. Without `migrate` a store is neither made nor brought up to date: who looks in beside a
    daemon must not. `approve` may raise before anything is written.
    """

    def __init__(
        self,
        path: Path | str,
        migrations: Sequence[str] = MIGRATIONS,
        *,
        migrate: bool = True,
        points: Failpoints = passing,
        turn: WriteTurn | threading.Lock | None = None,
        approve: Callable[[Database], object] = lambda _: None,
    ) -> None:
        # A symlink is followed, as SQLite does for its log: the store has one name.
        self.path = Path(path).resolve()
        self._turn = turn or threading.Lock()
        self._points = points
        if migrate:
            _create(self.path)
        elif not self.path.is_file():
            raise StoreError(f"there is no store {self.path}")
        _look_at(self.path)
        with _translated():
            connection = sqlite3.connect(
                self.path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False
            )
        self._thread = threading.RLock()
        self._script: Script | None = None
        self.begun = 0
        """How many transactions were begun: what was read in one of them may be kept in mind until the next."""
        try:
            with _translated():
                self.utils = sqlite_utils.Database(connection, execute_plugins=False)
                self._recognise(empty=migrate)
                approve(self)
                self._prepare()
                if not migrate and self.version < len(migrations):
                    raise StoreError(
                        f"{self.path} was written by an earlier version: start the server once with this one"
                    )
                self._migrate(migrations)
        except BaseException:
            connection.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection; an open transaction is rolled back."""
        self.utils.close()

    @property
    def in_transaction(self) -> bool:
        """Whether a transaction is open on this connection."""
        return self.utils.conn.in_transaction

    @property
    def changes(self) -> int:
        """How many rows this connection has written since it was opened."""
        return self.utils.conn.total_changes

    def room(self) -> int:
        """How many octets are free on the disk under the store."""
        found = os.statvfs(self.path.parent)
        return found.f_bavail * found.f_frsize

    @property
    def version(self) -> int:
        """The number of migrations that this store has seen."""
        return int(self.scalar("PRAGMA user_version"))

    @contextmanager
    def transaction(self, *, wait: bool = True) -> Iterator[Self]:
        """One transaction: committed and on disk at the block's end, rolled back when the block raises.

        Transactions do not nest (RuntimeError). Raises `BusyError` and `FullError`; then nothing was written. Without
        `wait` the store is busy when anybody else writes.
        """
        with self._thread:
            if self.in_transaction:
                raise RuntimeError("a transaction is already open")
            if not self._turn.acquire(timeout=BUSY_SECONDS if wait else 0):
                raise BusyError("another connection writes")
            self.begun += 1
            with _held(self._turn), _translated():
                self._begin(wait=wait)
                try:
                    yield self
                    self._points("transaction written")
                    self.utils.conn.execute("COMMIT")
                    self._points("transaction committed")
                except BaseException:
                    self.utils.rollback()  # if a full disk has not ended the transaction already
                    raise

    def decide(self, decision: Callable[[], T]) -> T:
        """Try a decision, undo what it wrote, make what it put off until `Later`, and write it all; what it gave.

        It is tried in a transaction of its own and written in a short one; between the two nothing is locked. What
        puts nothing off is written at once. Whatever the decision raises undoes it. Raises `OvertakenError` when
        others changed meanwhile what it stands on, `BusyError` and `FullError`; then nothing was written.
        """
        script = Script()
        with suppress(_TriedError), self.transaction():
            self._script = script
            try:
                result = decision()
            finally:
                self._script = None
            if script.puts_off:
                seen = self._written()
                raise _TriedError
        if script.puts_off:
            script.make()
            with self.transaction():
                self._play(script, alone=seen == self._written())
        return result

    def stands_on(self, look: Callable[[], T], *, holds: Callable[[T, T], bool]) -> T:
        """What is found, apart from the queries that find it, which a decision stands on while it `holds`.

        `holds` is asked of what was found and of what is found when the decision is written.
        """
        script, self._script = self._script, None
        try:
            found = look()
        finally:
            self._script = script
        if script is not None:
            script.stands_on.append(lambda: holds(found, look()))
        return found

    def _written(self) -> tuple[int, int]:
        """What is another value when anything was written, by another connection or by this one."""
        return int(self.utils.conn.execute("PRAGMA data_version").fetchone()[0]), self.changes

    def _play(self, script: Script, *, alone: bool) -> None:
        """Write what was decided; each statement must do what it did when it was tried, and find what it found."""
        if not (alone or all(holds() for holds in script.stands_on)):
            raise OvertakenError("what was decided on has changed")
        for step in script.steps:
            if isinstance(step, Read):
                if not alone and self._run(step.sql, step.parameters).fetchall() != step.rows:
                    raise OvertakenError(f"somebody else changed what was found by: {step.sql}")
                continue
            cursor = self._run(step.sql, made(step.parameters) if step.puts_off else step.parameters)
            if cursor.rowcount != step.rows or step.new not in {None, cursor.lastrowid}:
                raise OvertakenError(f"somebody else changed what was written by: {step.sql}")

    def _begin(self, *, wait: bool) -> None:
        if wait:
            self.utils.conn.execute("BEGIN IMMEDIATE")
            return
        self.utils.conn.execute("PRAGMA busy_timeout = 0")
        try:
            self.utils.conn.execute("BEGIN IMMEDIATE")
        finally:
            self.utils.conn.execute(f"PRAGMA busy_timeout = {int(BUSY_SECONDS * 1000)}")

    @contextmanager
    def savepoint(self) -> Iterator[None]:
        """A part of the open transaction that is undone by itself when the block raises; savepoints may nest.

        Raises RuntimeError when no transaction is open.
        """
        self._needs_transaction()
        before = len(self._script.steps) if self._script else 0
        try:
            with _translated(), self.utils.atomic():
                yield
        except BaseException:
            if self._script is not None:
                del self._script.steps[before:]
            raise

    def execute(self, sql: str, parameters: Parameters = ()) -> Cursor:
        """Run one statement: within the open transaction, or else as one of its own."""
        if sql.startswith(_OF_THE_ENGINE):
            return self._run(sql, parameters)
        later = puts_off(parameters)
        if self._script is None:
            return self._run(sql, made(parameters) if later else parameters)
        cursor = self._run(sql, meanwhile(parameters) if later else parameters)
        if not sql.startswith("SELECT"):
            self._script.wrote(Write(sql, parameters, later, cursor.rowcount))
            return cursor
        with _translated():
            rows = cursor.fetchall()
        self._script.asked(Read(sql, parameters, rows))
        return Answer(rows, cursor.description)

    def _run(self, sql: str, parameters: Parameters) -> sqlite3.Cursor:
        try:
            return self.utils.conn.execute(sql, parameters)
        except sqlite3.DatabaseError as error:
            _tell_apart(error)

    def write(self, sql: str, parameters: Parameters = ()) -> Cursor:
        """Run one statement that belongs to the caller's transaction; raises RuntimeError when none is open."""
        self._needs_transaction()
        return self.execute(sql, parameters)

    def _needs_transaction(self) -> None:
        if not self.in_transaction:
            raise RuntimeError("this belongs into a transaction")

    def insert(self, sql: str, parameters: Parameters = ()) -> int:
        """Insert one row, as `write` does, and give its number, which is the same when a decision is written."""
        number = int(self.write(sql, parameters).lastrowid or 0)
        if self._script is not None:
            last = self._script.steps[-1]
            assert isinstance(last, Write)
            self._script.steps[-1] = last._replace(new=number)
        return number

    def rows(self, sql: str, parameters: Parameters = ()) -> list[Row]:
        """All rows that a query gives, each by its columns' names."""
        cursor = self.execute(sql, parameters)
        names = [column[0] for column in cursor.description]
        try:
            return [dict(zip(names, row, strict=True)) for row in cursor]
        except sqlite3.DatabaseError as error:
            _tell_apart(error)

    def each(self, sql: str, parameters: Parameters = ()) -> Iterator[Row]:
        """The rows that a query gives, one by one."""
        cursor = self.execute(sql, parameters)
        names = [column[0] for column in cursor.description]
        with _translated():
            for row in cursor:
                yield dict(zip(names, row, strict=True))

    def table(self, name: str) -> Iterator[Row]:
        """The rows of a table, one by one."""
        with _translated():
            yield from self.utils.table(name).rows

    def row(self, sql: str, parameters: Parameters = ()) -> Row | None:
        """The first row that a query gives, or None."""
        found = self.rows(sql, parameters)
        return found[0] if found else None

    def scalar(self, sql: str, parameters: Parameters = ()) -> Any:
        """The first column of the first row, or None."""
        try:
            found = self.execute(sql, parameters).fetchone()
        except sqlite3.DatabaseError as error:
            _tell_apart(error)
        return None if found is None else found[0]

    def meta(self, name: str) -> str | None:
        """A fact about the store as a whole, or None."""
        value: str | None = self.scalar("SELECT value FROM meta WHERE name = ?", (name,))
        return value

    def set_meta(self, name: str, value: str) -> None:
        """Keep a fact about the store as a whole, in the caller's transaction."""
        self.write("INSERT OR REPLACE INTO meta (name, value) VALUES (?, ?)", (name, value))

    def backup(self, path: Path) -> None:
        """Copy the store as it is at this moment into a new file of mode 0600, on disk when this returns.

        The daemon may write meanwhile. Raises FileExistsError, and `StoreError` when the copy is not sound.
        """
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
        try:
            with _translated(), closing(sqlite3.connect(path, isolation_level=None)) as copy:
                self.utils.conn.backup(copy)
                copy.execute("PRAGMA journal_mode = DELETE")  # one file, complete in itself
                if copy.execute("PRAGMA integrity_check").fetchone()[0] != "ok":
                    raise StoreError(f"the copy of {self.path} is damaged; so may be the store: ask `pbem doctor`")
            sync(path)
            sync(path.parent)
        except BaseException:
            path.unlink()
            raise

    def damage(self) -> list[str]:
        """What SQLite finds wrong with the file and with references between tables; empty when it is sound."""
        try:
            found = [row["integrity_check"] for row in self.rows("PRAGMA integrity_check(20)")]
            lost = [f"{row['table']}: a row refers to a missing one" for row in self.rows("PRAGMA foreign_key_check")]
        except DamagedError as error:
            return [str(error)]
        return [line for line in found if line != "ok"] + lost[:20]

    def _recognise(self, *, empty: bool) -> None:
        """See that this is a store of ours, or that there is nothing in it where that is allowed."""
        tables = self.scalar("SELECT count(*) FROM sqlite_master")
        if not (tables or empty):
            raise DamagedError(f"{self.path} is empty: {HELP}")
        if tables and not (self.version and self.utils["meta"].exists()):
            raise DamagedError(f"{self.path} is a database, and none of pbem: see `store` in the configuration")

    def _prepare(self) -> None:
        self.execute("PRAGMA synchronous = FULL")
        self.execute("PRAGMA foreign_keys = ON")
        wanted = {"synchronous": FULL, "foreign_keys": 1}
        if self.scalar("PRAGMA journal_mode = WAL") != "wal":
            raise StoreError(f"{self.path}: this file system does not allow write-ahead logging")
        # A pragma that SQLite does not like is silently ignored: ask, do not trust.
        for name, value in wanted.items():
            if self.scalar(f"PRAGMA {name}") != value:
                raise StoreError(f"{self.path}: PRAGMA {name} could not be set")

    def _migrate(self, migrations: Sequence[str]) -> None:
        with self.transaction():
            done = self.version
            if done > len(migrations):
                raise TooNewError(
                    f"{self.path} has version {done}; this software knows {len(migrations)}: use the later one"
                )
            for script in migrations[done:]:
                # Within a transaction sqlite-utils runs a script statement by statement; the sqlite3
                # module's own executescript would commit first.
                self.utils.executescript(script)
            if done < len(migrations):
                self.utils.conn.execute(f"PRAGMA user_version = {len(migrations)}")


class Lock:
    """The right to be the one daemon of a store, held until closed or until the process ends.

    Held are a note beside the store, which says who holds it, and the store's file itself, if it is there: the file
    is the same through every link and mount, where the note may be another. It is to be closed after the store: who
    closes any handle of a file gives up the locks that SQLite has on it in the same process. Raises `LockedError`
    when another process holds it, and `StoreError` where no file can be made.
    """

    def __init__(self, path: Path | str) -> None:
        self._store = Path(path).resolve()
        self.files: list[int] = []
        """What holds it; a process that is given these holds it, too, until it ends."""
        note = _note(self._store)
        try:
            self.cover()
            note.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            file = os.open(note, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            self._hold(file)
            os.ftruncate(file, 0)
            os.write(file, f"{os.getpid()}\n".encode())
        except BaseException as error:
            self.close()
            if isinstance(error, OSError):
                raise StoreError(f"{error.filename or note}: {error.strerror}") from error
            raise

    def cover(self) -> None:
        """Hold the store's file, if there is one now."""
        if self._store.exists():
            self._hold(os.open(self._store, os.O_RDONLY | os.O_CLOEXEC))

    def _hold(self, file: int) -> None:
        self.files.append(file)
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = self.holder(self._store) or "unknown"
            raise LockedError(f"{self._store} is in use by another pbem (process {holder})") from None

    @staticmethod
    def holder(path: Path | str) -> int | None:
        """The process that holds the lock of a store, or None when none does."""
        try:
            file = os.open(_note(Path(path).resolve()), os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError:
            return None
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except OSError:
            return int(os.read(file, 20) or 0)
        finally:
            os.close(file)
        return None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Give the store free; the note stays, because removing it would race with the next holder."""
        while self.files:
            os.close(self.files.pop())


def _note(store: Path) -> Path:
    return store.with_name(f"{store.name}.lock")


def _look_at(path: Path) -> None:
    """Raise what is to be said of a store's file before SQLite opens it."""
    if path.stat().st_nlink > 1:
        raise StoreError(
            f"{path} has a second name (a hard link), and each name would have a log of its own: remove one of them."
            " A restore that broke off leaves such a name; restore again"
        )
    for place in (path, path.parent):
        if not os.access(place, os.R_OK | os.W_OK):
            raise FullError(f"{place} cannot be written by this user, or its disk is mounted read-only")


def _create(path: Path) -> None:
    """Make the file before SQLite does, so that nobody else may ever read it, and its name is on disk."""
    if path.exists():
        return
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
    sync(path.parent)


def sync(path: Path) -> None:
    """Bring a file, or the names in a folder, to disk."""
    file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(file)
    finally:
        os.close(file)


_OF_THE_ENGINE = ("PRAGMA",)


class _TriedError(Exception):
    """A decision was tried, and is undone."""


BUSY = {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}
DAMAGED = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}
HELP = 'docs/operating.md, "The store is damaged"'
BROKEN = {sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN}


@contextmanager
def _held(turn: WriteTurn | threading.Lock) -> Iterator[None]:
    """Give the turn to the next one when the block is over."""
    try:
        yield
    finally:
        turn.release()


@contextmanager
def _translated() -> Iterator[None]:
    """Let `_tell_apart` see SQLite's errors."""
    try:
        yield
    except sqlite3.DatabaseError as error:
        _tell_apart(error)


def _tell_apart(error: sqlite3.DatabaseError) -> NoReturn:
    """Raise what SQLite lumps together as errors of the database."""
    code = getattr(error, "sqlite_errorcode", None)  # text that is no UTF-8 has none
    if code is None and isinstance(error, sqlite3.OperationalError):
        raise DamagedError("a text in the store cannot be read: ask `pbem doctor`") from error
    primary = (code or 0) & 0xFF  # the low byte
    if primary in BUSY:
        raise BusyError("the store is busy") from error
    if primary in BROKEN:
        raise FullError(f"the store cannot be written: {error}") from error
    if primary in DAMAGED:
        raise DamagedError(f"the store is damaged, or no store at all ({error}): {HELP}") from error
    raise error
