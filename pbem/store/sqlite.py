"""A store in a SQLite file: connection, transactions, migrations, backups and checks, and the lock of the file.

Every commit is on disk (WAL, synchronous=FULL) before it returns. We use sqlite-utils to read whole tables only: its
`atomic` would begin transactions DEFERRED, find the store busy half-way, and name each savepoint anew; its
`Migrations` cannot recognise a store of an unknown version, and take the machine's time. Implements reliability.md,
promises 1 and 2.
"""

from __future__ import annotations

import fcntl
import json
import os
import sqlite3
from contextlib import AbstractContextManager, closing, contextmanager, suppress
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from pbem import durable
from pbem.store.disk import THIS_DISK, forget_marks, give_to_owner, marks_file, noted_marks
from pbem.store.engine import BUSY_SECONDS, statements
from pbem.store.errors import BusyError, DamagedError, FullError, LockedError, OrphanedError, StoreError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import datetime

    import sqlite_utils

    from pbem.store.disk import Disk
    from pbem.store.engine import Parameters

FULL = 2  # the value of PRAGMA synchronous under which SQLite syncs the WAL at each commit
BUSY = {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}
DAMAGED = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}
LONG_LOG = 16_000  # pages, 64 MiB
HELP = 'docs/operating.md, "The store is damaged"'
BROKEN = {sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN}


class Sqlite:
    """One connection to a store in a file."""

    decides = False
    """True if this connection decides; it is the only one, because the desk's server holds the `Lock` of the file."""

    def __init__(self, path: Path | str, disk: Disk, *, make: bool) -> None:
        # Follow symlinks, as SQLite does for its log, so that the store has only one name.
        self.place = Path(path).resolve()
        self._disk = disk
        if not make and not self.place.is_file():
            raise StoreError(f"there is no store {self.place}")
        if not self.place.exists():
            # Made before SQLite does that, so that no other user can ever read it, and its name is on disk.
            disk.make_folder(self.place.parent)
            forget_marks(self.place, disk)
            os.close(os.open(self.place, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
            disk.sync(self.place.parent)
        _must_be_a_file(self.place)
        if self.place.stat().st_nlink > 1:
            raise StoreError(
                f"{self.place} has a second name (a hard link), and each name would have a log of its own: remove one"
                " of them. A restore that broke off leaves such a name; restore again"
            )
        for place in (self.place, self.place.parent):
            if not os.access(place, os.R_OK | os.W_OK):
                raise FullError(f"{place} cannot be written by this user, or its disk is mounted read-only")
        with self.translated():
            self.connection = disk.connect(self.place, wait=BUSY_SECONDS)
        self._files: dict[Path, tuple[int, int] | None] = {self.place: _file(self.place)}
        """The device and inode of each open file: SQLite would keep writing to a file that was moved or deleted."""

    def close(self) -> None:
        """Close the connection; an open transaction is rolled back."""
        self.connection.close()

    @cached_property
    def _utils(self) -> sqlite_utils.Database:
        """sqlite-utils on this connection, loaded only when it is needed."""
        import sqlite_utils

        return sqlite_utils.Database(self.connection, execute_plugins=False)

    @property
    def in_transaction(self) -> bool:
        """True if a transaction is open on this connection."""
        return self.connection.in_transaction

    @property
    def changes(self) -> int:
        """The number of rows that this connection has written since it was opened."""
        return self.connection.total_changes

    @property
    def version(self) -> int:
        """The version of this store: the number of scripts that it has had; 0 if it is empty."""
        return self._number("PRAGMA user_version")

    def recognise(self, *, empty: bool) -> None:
        """Check that this is a store of ours, or that it is empty if that is allowed."""
        tables = self._number("SELECT count(*) FROM sqlite_master")
        if not (tables or empty):
            raise DamagedError(f"{self.place} is empty: {HELP}")
        if tables and not (self.version and "meta" in self.tables()):
            raise DamagedError(f"{self.place} is a database, and none of pbem: see `store` in the configuration")

    def prepare(self) -> None:
        """Set the connection up; raises `StoreError` if the promises of a store cannot be kept."""
        if self.run("PRAGMA journal_mode = WAL").fetchone()[0] != "wal":
            raise StoreError(f"{self.place}: this file system does not allow write-ahead logging")
        # SQLite silently ignores a pragma that it does not accept, so the value is read back.
        for name, value in (("synchronous", FULL), ("foreign_keys", 1)):
            self.run(f"PRAGMA {name} = {value}")
            if self._number(f"PRAGMA {name}") != value:
                raise StoreError(f"{self.place}: PRAGMA {name} could not be set")

    def leave_log(self) -> None:
        """Leave checkpoints to the other connections, which make one after a thousand pages."""
        self.run(f"PRAGMA wal_autocheckpoint = {LONG_LOG}")

    def settle_log(self) -> bool:
        """Make a checkpoint of the whole log, which is then empty; returns False if other connections read the log.

        A killed process may have left pages that it failed to sync. We would read them as if they were on disk; in a
        power failure they would be lost, and with them all later commits in the log.
        """
        # Linux reports a failed fsync once, and then treats the pages as clean: a new process finds them in memory.
        busy: int = self.run("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]
        return not busy

    def migrate(self, script: str, version: int) -> None:
        """Bring the store to a version, in the open transaction."""
        for statement in statements(script):  # the sqlite3 module's own `executescript` would commit first
            self.connection.execute(statement)
        self.connection.execute(f"PRAGMA user_version = {version}")

    def try_to_decide(self) -> bool:
        """Become the connection that decides."""
        self.decides = True
        return True

    def depose(self, alive: Sequence[str]) -> None:
        """Nothing: no other connection decides."""

    def lock(self, table: str) -> None:
        """Nothing: no other connection writes while a transaction is open."""

    def wait_to_write(self, table: str) -> None:
        """Nothing: whoever has begun a transaction has waited."""

    def begin(self) -> None:
        """Begin the one transaction that may write."""
        self.connection.execute("BEGIN IMMEDIATE")

    def commit(self) -> None:
        """Commit: the transaction is then on disk."""
        self.connection.execute("COMMIT")

    def rollback(self) -> None:
        """Undo the transaction, if a full disk has not ended it already."""
        self.connection.rollback()

    @contextmanager
    def savepoint(self) -> Iterator[None]:
        """A savepoint in the open transaction: if the block raises, only its own changes are undone.

        All have one name, so that SQLite compiles the statements once; the name means the innermost.
        """
        self.connection.execute("SAVEPOINT part")
        try:
            yield
        except BaseException:
            if self.in_transaction:  # a full disk ends the whole transaction
                self.connection.execute("ROLLBACK TO part")
                self.connection.execute("RELEASE part")
            raise
        self.connection.execute("RELEASE part")

    def run(self, sql: str, parameters: Parameters = ()) -> sqlite3.Cursor:
        """Run one statement; raises the errors of a store."""
        try:
            return self.connection.execute(sql, parameters)
        except sqlite3.DatabaseError as error:
            _raise_translated(error)

    def _number(self, sql: str) -> int:
        return int(self.run(sql).fetchone()[0])

    def tables(self) -> list[str]:
        """The names of all tables of the store's own, in order."""
        sql = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name"
        return [row[0] for row in self.run(sql)]

    def table(self, name: str) -> Iterator[dict[str, Any]]:
        """The rows of a table, one by one."""
        return self._utils.table(name).rows

    def last_numbers(self) -> dict[str, int]:
        """For each table that numbers its rows, the highest number that a row ever had."""
        return dict(self.run("SELECT name, seq FROM sqlite_sequence WHERE seq > 0 ORDER BY name").fetchall())

    def number_from(self, table: str, last: int) -> None:
        """Continue a table's numbers after this one, in the open transaction."""
        if not self.run("UPDATE sqlite_sequence SET seq = ? WHERE name = ?", (last, table)).rowcount:
            self.run("INSERT INTO sqlite_sequence VALUES (?, ?)", (table, last))

    def time(self, here: datetime) -> datetime:
        """The time of this machine, on which all processes run that share the store."""
        return here

    def room(self) -> int:
        """The free space on the disk under the store, in octets."""
        return self._disk.room(self.place.parent)

    def in_place(self) -> bool:
        """True if the names of the store and its log still belong to the open files."""
        log = self.place.with_name(f"{self.place.name}-wal")
        try:
            if inode := _file(log):  # exists from the first commit until the last connection is closed
                self._files.setdefault(log, inode)
            return all(_file(path) == known for path, known in self._files.items())
        except OSError:
            return True  # the disk fails, which is no sign of a moved file; the next commit will report it

    def note_high_water(self) -> None:
        """Note, beside the file, the highest numbers that the store ever gave out; they only grow."""
        numbers = self.last_numbers()
        if numbers != noted_marks(self.place):
            durable.replace(marks_file(self.place), f"{json.dumps(numbers)}\n".encode("ascii"))

    def check_high_water(self) -> None:
        """Check that the store has come as far as was noted, and is no older copy; raises `StoreError`."""
        noted = noted_marks(self.place)  # first: a server that runs may come further, and note it, between the two
        numbers = self.last_numbers()
        less = {name: number for name, number in noted.items() if numbers.get(name, 0) < number}
        if less:
            ends = ", ".join(f"{name} ends with {numbers.get(name, 0)}, not {least}" for name, least in less.items())
            raise StoreError(
                f"{self.place} is older than the store that was here ({ends}). A backup is put in its place by"
                ' `pbem restore`: see docs/operating.md, "Restore". If you know that nothing was mailed since, delete'
                f" {marks_file(self.place)}"
            )

    def backup(self, path: Path) -> None:
        """Copy the store as it is at this moment into a new file of mode 0600, on disk when this returns.

        The daemon may write meanwhile. Raises FileExistsError, and `StoreError` if the copy is not sound.
        """
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
        try:
            with self.translated(), closing(self._disk.connect(path, wait=BUSY_SECONDS)) as copy:
                self.connection.backup(copy)
                copy.execute("PRAGMA journal_mode = DELETE")  # one file, complete in itself
                if copy.execute("PRAGMA integrity_check").fetchone()[0] != "ok":
                    raise StoreError(f"the copy of {self.place} is damaged; so may be the store: ask `pbem doctor`")
            self._disk.sync(path)
            self._disk.sync(path.parent)
        except BaseException:
            path.unlink()
            raise

    def standby(self) -> bool | None:
        """None: a file has no standby."""
        return None

    def damage(self) -> list[str]:
        """The faults that SQLite finds in the file and in references between tables; empty when it is sound."""
        try:
            with self.translated():
                faults = [row[0] for row in self.run("PRAGMA integrity_check(20)")]
                lost = [f"{row[0]}: a row refers to a missing one" for row in self.run("PRAGMA foreign_key_check")]
        except DamagedError as error:
            return [str(error)]
        return [line for line in faults if line != "ok"] + lost[:20]

    @staticmethod
    def translated() -> AbstractContextManager[None]:
        """Raise the store's errors in place of SQLite's."""
        return _TRANSLATED


class _Translated(AbstractContextManager[None]):
    """Raises the store's errors in place of SQLite's; no generator, because each query has one."""

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        if isinstance(error, sqlite3.DatabaseError):
            _raise_translated(error)


_TRANSLATED = _Translated()


class Lock(AbstractContextManager["Lock"]):
    """The lock of a store, which only its daemon holds, until it is closed or the process ends.

    It locks two files: a note beside the store, which names the process, and the store's file itself, if it exists.
    The file is the same through every link and mount, while the note may be another one. Close this after the store:
    closing any handle of a file gives up the locks that SQLite has on it in the same process. Raises `LockedError` if
    another process holds the lock (`OrphanedError`: one whose server has ended), and `StoreError` if no file can be
    created.
    """

    def __init__(self, path: Path | str, disk: Disk = THIS_DISK) -> None:
        self._store = Path(path).resolve()
        self.files: list[int] = []
        """The locked files; a process that inherits them holds the lock, too, until it ends."""
        note = _note(self._store)
        try:
            self.cover()
            disk.make_folder(note.parent)
            file = os.open(note, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
            self._hold(file)
            give_to_owner(note)
            os.ftruncate(file, 0)
            os.write(file, f"{os.getpid()}\n".encode())
        except BaseException as error:
            self.close()
            if isinstance(error, OSError):
                raise StoreError(f"{error.filename or note}: {error.strerror}") from error
            raise

    def cover(self) -> None:
        """Lock the store's file, if it exists by now."""
        if self._store.exists():
            _must_be_a_file(self._store)  # to open a pipe would block
            self._hold(os.open(self._store, os.O_RDONLY | os.O_CLOEXEC))

    def _hold(self, file: int) -> None:
        self.files.append(file)
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            note = _note(self._store)
            raise _refusal(self._store, _server(note) if note.exists() else 0, _holders(file)) from None

    @staticmethod
    def holder(path: Path | str) -> int | None:
        """The server that holds the lock of a store; None if nobody does, or only the desk of an ended server."""
        server, holders = _locked(path)
        if server in holders or not holders:  # only the note shows processes of other users or containers
            return server
        return None if server else holders[0]

    @staticmethod
    def left_behind(path: Path | str) -> list[int]:
        """The processes that hold the lock of a store although its server has ended: its desks."""
        server, holders = _locked(path)
        return [] if server is None or server in (0, *holders) else holders

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Release the store; the note stays, because removing it would race with the next holder."""
        while self.files:
            os.close(self.files.pop())


def _note(store: Path) -> Path:
    return store.with_name(f"{store.name}.lock")


def _locked(path: Path | str) -> tuple[int | None, list[int]]:
    """The server that took the lock of a store, by its note, and the processes that hold it; None if none does."""
    note = _note(Path(path).resolve())
    try:
        file = os.open(note, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return None, []
    try:
        fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return _server(note), _holders(file)
    finally:
        os.close(file)
    return None, []


def _server(note: Path) -> int:
    """The process that took the lock, by its note; 0 if it has not written that yet."""
    return int(note.read_bytes() or 0)


def _holders(file: int) -> list[int]:
    """The processes that hold the lock of an open file, also by inheritance, as far as we may look into them.

    Linux shows a lock beside each descriptor that shares it: proc_pid_fdinfo(5). /proc/locks would name only the
    process that took the lock, which may have ended.
    """
    this, holders = os.fstat(file), list[int]()
    for about in Path("/proc").glob("[0-9]*/fdinfo/*"):
        with suppress(OSError):  # another user's, or it has ended
            process = about.parents[1]
            if b"FLOCK" in about.read_bytes() and os.path.samestat(this, (process / "fd" / about.name).stat()):
                holders.append(int(process.name))
    return sorted(set(holders))


def _refusal(store: Path, server: int, holders: Sequence[int]) -> LockedError:
    """The error for a store whose lock this server took, and these processes hold."""
    left = server not in holders if holders else not _lives(server)
    if not (server and left):
        return LockedError(f"{store} is in use by another pbem (process {server or next(iter(holders), 'unknown')})")
    if not holders:  # ended since, or hidden from this user
        return OrphanedError(f"{store} is in use by another pbem (its server, process {server}, has ended)")
    names = " ".join(map(str, holders))
    return OrphanedError(
        f"{store} is still held by what another pbem left behind (its server, process {server}, has ended): if"
        f" that does not end by itself, end it with `kill -9 {names}`"
    )


def _lives(process: int) -> bool:
    """True if a process lives, also one of another user."""
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True


def _must_be_a_file(path: Path) -> None:
    if not path.is_file():
        raise StoreError(f"{path} is no file: see `store` in the configuration")


def _file(path: Path) -> tuple[int, int] | None:
    """The device and inode of the file of this name; None if there is no such file."""
    try:
        status = path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    return status.st_dev, status.st_ino


def _raise_translated(error: Exception) -> NoReturn:
    """Raise the store's error for what SQLite lumps together as errors of the database."""
    code = getattr(error, "sqlite_errorcode", None)  # missing if the module itself could not decode a text
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
