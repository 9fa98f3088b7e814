"""A store in a PostgreSQL database: connection, transactions and migrations.

One connection decides: it holds an advisory lock, which PostgreSQL releases when that connection breaks, within
`SILENCE` if a machine or its network died. Transactions are READ COMMITTED; the other connections change no row on
which a decision rests. Implements reliability.md, promises 1 and 2, as far as the database keeps what it reports as
committed.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import contextmanager, suppress
from datetime import datetime
from functools import cache
from typing import TYPE_CHECKING, Any, NoReturn

import psycopg
from psycopg import errors, rows

from pbem.store.engine import BUSY_SECONDS, statements
from pbem.store.errors import BusyError, DamagedError, FullError, StoreError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from pbem.store.engine import Parameters, Values
    from pbem.store_place import PostgresqlAddress

OLDEST = 150000
SILENCE = 3
"""Seconds after which either side gives up a connection whose other end acknowledges nothing."""

IDLE_SECONDS = 10
"""The longest time that a transaction may idle before PostgreSQL ends it, so that others may write."""

CONNECT_SECONDS = 5

_TO_DECIDE = "hashtext('pbem'), hashtext(current_schema())"
"""The name of the advisory lock, one per schema, since each schema may hold a store."""

PREPARED = 1000
"""The most statements that a connection keeps prepared: more than there are, counting each by its values' types."""

_BEGINNING = """
CREATE TABLE store (
    one BOOLEAN PRIMARY KEY DEFAULT TRUE CHECK (one), version INTEGER NOT NULL
);
INSERT INTO store (version) VALUES (0);
CREATE TABLE numbers (name TEXT PRIMARY KEY, last BIGINT NOT NULL);
CREATE FUNCTION next_number(of_table TEXT) RETURNS BIGINT LANGUAGE sql AS $$
    INSERT INTO numbers (name, last) VALUES (of_table, 1)
    ON CONFLICT (name) DO UPDATE SET last = numbers.last + 1 RETURNING last
$$;
"""
"""Features that SQLite has built in: a version, and row numbers that a rollback takes back."""

# SQLSTATE codes (PostgreSQL, Appendix A), or their classes, which are the first two characters.
_UNDONE = "40"
_NOT_PREPARED = {"0A000", "26000", "42P05"}
"""States of prepared statements that are out of date: another version of pbem changed a table, or a pooler switched
the connection."""
_CUT_OFF = {"25P03", "25P04"}
_LOST = psycopg.OperationalError | psycopg.InterfaceError
"""The errors that psycopg itself raises for a lost connection."""

_ADVISORY = "(hashtext('pbem')::bigint & 4294967295, hashtext(current_schema())::bigint & 4294967295)"
"""The name of the advisory lock as the unsigned numbers that `pg_locks` shows."""

_OWN = {"store", "numbers"}


class Postgresql:
    """One connection to a store in PostgreSQL; a lost one is replaced for the next transaction."""

    def __init__(self, address: PostgresqlAddress, name: str = "") -> None:
        self.place = address
        self.changes = 0
        """The number of statements that may have written, since this was opened."""
        self._name = name
        self._parts = 0
        self.in_transaction = False
        """True from `begin` to `commit` or `rollback`, which is also needed after the connection was lost."""
        self._is_to_decide = False
        self._connect()

    def _reach(self) -> None:
        """Make sure that there is a connection."""
        if self._worn:
            self.connection.close()
        if self.connection.closed:
            self._connect()

    def _reach_to_write(self) -> None:
        """Make sure that there is a connection; raises `BusyError` if it was to decide, and no longer does."""
        self._reach()
        if self._is_to_decide and not self.decides:
            raise BusyError("the connection was lost: another server may decide by now")

    def _connect(self) -> None:
        self.decides = False
        """True if this connection is the one that decides."""
        self._worn = False
        """True if psycopg may rely on prepared statements that this connection does not have, or not up to date."""
        try:
            self.connection = psycopg.connect(
                self.place.url,
                autocommit=True,
                connect_timeout=CONNECT_SECONDS,
                application_name=f"pbem {self._name}".strip(),
                # A machine that loses power does not close its connections: otherwise we would wait for 15 minutes.
                tcp_user_timeout=SILENCE * 1000,
                keepalives_idle=1,
                keepalives_interval=1,
                keepalives_count=SILENCE - 1,
            )
        except psycopg.Error as error:
            raise BusyError(f"{self.place} cannot be reached: {_first_line(error)}") from None
        try:
            self.connection.prepared_max = PREPARED
            for name, value in (
                ("client_encoding", "UTF8"),
                ("TimeZone", "UTC"),
                ("DateStyle", "ISO"),
                ("lock_timeout", f"{int(BUSY_SECONDS * 1000)}ms"),
                ("idle_in_transaction_session_timeout", f"{IDLE_SECONDS}s"),
                ("default_transaction_isolation", "read committed"),
                ("tcp_user_timeout", f"{SILENCE}s"),
                ("tcp_keepalives_idle", "1"),
                ("tcp_keepalives_interval", "1"),
                ("tcp_keepalives_count", f"{SILENCE - 1}"),
            ):
                self.connection.execute("SELECT set_config(%s, %s, false)", (name, value))
        except psycopg.Error as error:
            self.connection.close()
            raise BusyError(f"{self.place} cannot be reached: {_first_line(error)}") from None

    def close(self) -> None:
        """Close the connection; an open transaction is rolled back."""
        self.connection.close()

    @property
    def version(self) -> int:
        """The version of this store: the number of scripts that it has had; 0 if it is empty."""
        if not self._begun():
            return 0
        return self._number("SELECT coalesce(max(version), 0) FROM store")

    def _begun(self) -> bool:
        return bool(
            self._number("SELECT count(*) FROM pg_tables WHERE schemaname = current_schema() AND tablename = 'store'")
        )

    def recognise(self, *, empty: bool) -> None:
        """Check that this is a store of ours, or that it is empty if that is allowed."""
        if self.connection.info.server_version < OLDEST:
            raise StoreError(f"{self.place} is older than PostgreSQL {OLDEST // 10000}")
        if self._begun() and self.version:
            return
        if set(self._all_tables()) - _OWN:
            raise DamagedError(f"{self.place} is a database, and none of pbem: see `store` in the configuration")
        if not empty:
            raise StoreError(f"there is no store in {self.place}")

    def prepare(self) -> None:
        """Create what SQLite has built in; raises `StoreError` if the database may lose a commit."""
        for name in ("fsync", "synchronous_commit", "full_page_writes"):
            if self.run(f"SHOW {name}").fetchone() == ("off",):
                raise StoreError(
                    f"{self.place}: with {name} = off nothing that is answered for is sure to be on disk"
                )
        if not self._begun():
            # Another process may have begun at the same moment.
            with suppress(errors.UniqueViolation, errors.DuplicateTable, errors.DuplicateFunction):
                self.connection.execute(_BEGINNING)

    def leave_log(self) -> None:
        """Nothing: PostgreSQL makes checkpoints in a process of its own."""

    def settle_log(self) -> bool:
        """True: PostgreSQL ends itself when a sync fails, and writes its log again."""
        return True

    def migrate(self, script: str, version: int) -> None:
        """Bring the store to a version, in the open transaction."""
        for statement in statements(script):
            for part in migration_statement(statement).split(";"):
                self.connection.execute(part.encode())
        self.connection.execute("UPDATE store SET version = %s", (version,))

    def try_to_decide(self) -> bool:
        """Become the connection that decides, unless there is another; returns True if this one decides now."""
        self._reach()
        self._is_to_decide = True
        if not self.decides:
            ((self.decides,),) = self.connection.execute(f"SELECT pg_try_advisory_lock({_TO_DECIDE})".encode())
        return self.decides

    def depose(self, alive: Sequence[str]) -> None:
        """End the connection that decides if its server is not among those that are alive."""
        self.run(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity JOIN pg_locks USING (pid)"
            " WHERE locktype = 'advisory' AND granted AND datname = current_database()"
            f" AND (classid::bigint, objid::bigint) = {_ADVISORY} AND NOT application_name = ANY(?)",
            ([f"pbem {name}" for name in alive],),
        )

    def lock(self, table: str) -> None:
        """Within a transaction, wait for writers of a table, and keep others from it until the transaction ends."""
        self.run(f"LOCK TABLE {table} IN SHARE ROW EXCLUSIVE MODE")

    def wait_to_write(self, table: str) -> None:
        """Within a transaction, wait until nobody keeps writers from a table; then nobody can before it ends."""
        self.run(f"LOCK TABLE {table} IN ROW EXCLUSIVE MODE")

    def begin(self) -> None:
        """Begin a transaction; raises `BusyError` if this connection was to decide, and no longer does."""
        self._reach_to_write()
        self.in_transaction = True
        try:
            self.connection.execute("BEGIN")
        except BaseException:
            self.rollback()
            raise

    def commit(self) -> None:
        """Commit: the transaction is then on disk. Raises `BusyError` if the database had rolled it back."""
        done = self.connection.execute("COMMIT")
        self.in_transaction = False
        if done.statusmessage != "COMMIT":
            raise BusyError("the transaction had failed, and was undone")

    def rollback(self) -> None:
        """Undo the transaction, if it has not ended already."""
        self.in_transaction = False
        try:
            if self.connection.info.transaction_status != psycopg.pq.TransactionStatus.IDLE:
                self.connection.execute("ROLLBACK")
        except psycopg.Error:
            self._wear_out()  # the connection is lost, and with it the transaction

    def _wear_out(self) -> None:
        """Have the connection replaced before it is used again."""
        self._worn, self.decides = True, False

    @contextmanager
    def savepoint(self) -> Iterator[None]:
        """A savepoint in the open transaction: if the block raises, only its own changes are undone."""
        self._parts += 1
        name = f"part_{self._parts}"
        self.connection.execute(f"SAVEPOINT {name}".encode())
        try:
            yield
        except BaseException:
            with suppress(psycopg.OperationalError):
                self.connection.execute(f"ROLLBACK TO SAVEPOINT {name}".encode())
            raise
        finally:
            with suppress(psycopg.OperationalError):
                self.connection.execute(f"RELEASE SAVEPOINT {name}".encode())

    def run(self, sql: str, parameters: Parameters = ()) -> psycopg.Cursor[Values]:
        """Run one statement; one that writes outside of a transaction is a transaction of its own."""
        try:
            if not self.in_transaction:
                (self._reach if sql.lstrip().startswith(("SELECT", "SHOW")) else self._reach_to_write)()
            cursor = self._sent(sql, parameters)
            if cursor.description is None:  # it returns no rows
                self.changes += 1
            return cursor
        except psycopg.Error as error:
            self._raise_translated(error)

    def _sent(self, sql: str, parameters: Parameters) -> psycopg.Cursor[Values]:
        statement = in_postgresql(sql).encode()
        try:
            return self.connection.execute(statement, parameters)
        except psycopg.DataError as error:
            if error.sqlstate is not None:
                raise
            # psycopg refused it: a stranger's text, such as a DNS record, has a NUL, which PostgreSQL cannot store.
            if isinstance(parameters, Mapping):
                return self.connection.execute(
                    statement, {name: _storable(each) for name, each in parameters.items()}
                )
            return self.connection.execute(statement, [_storable(each) for each in parameters])

    def _number(self, sql: str) -> int:
        ((number,),) = self.run(sql).fetchall()
        return int(number)

    def _all_tables(self) -> list[str]:
        sql = "SELECT tablename FROM pg_tables WHERE schemaname = current_schema()"
        return sorted(row[0] for row in self.run(sql))

    def tables(self) -> list[str]:
        """The names of all tables of the store's own, in order."""
        return [name for name in self._all_tables() if name not in _OWN]

    def table(self, name: str) -> Iterator[dict[str, Any]]:
        """The rows of a table, one by one."""
        with self.connection.cursor("rows_of_a_table", withhold=True, row_factory=rows.dict_row) as cursor:
            cursor.itersize = 100
            cursor.execute(psycopg.sql.SQL("SELECT * FROM {}").format(psycopg.sql.Identifier(name)))
            yield from cursor

    def last_numbers(self) -> dict[str, int]:
        """For each table that numbers its rows, the highest number that a row ever had."""
        return dict(self.run("SELECT name, last FROM numbers ORDER BY name").fetchall())

    def number_from(self, table: str, last: int) -> None:
        """Continue a table's numbers after this one, in the open transaction."""
        self.run(
            "INSERT INTO numbers (name, last) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET last = excluded.last",
            (table, last),
        )

    def time(self, here: datetime) -> datetime:
        """The time for all servers that share the store: the database's, because their clocks may differ."""
        del here
        ((now,),) = self.run("SELECT clock_timestamp()").fetchall()
        assert isinstance(now, datetime)
        return now

    def room(self) -> None:
        """None: the disk belongs to the database server, and cannot be seen from here."""

    def in_place(self) -> bool:
        """True: the database server looks after its files."""
        return True

    def note_high_water(self) -> None:
        """Note nothing: nobody can replace this store by copying an older file."""

    def check_high_water(self) -> None:
        """Check nothing: no high water was noted."""

    def backup(self, path: Path) -> None:
        """Refuse: PostgreSQL has better tools of its own."""
        raise StoreError(f"{path} was not made: back up {self.place} with pg_dump or pg_basebackup")

    def standby(self) -> bool | None:
        """True if a commit waits for a standby of the database; None where no standby is seen from here."""
        names, commit = (self.run(f"SHOW synchronous_{of}").fetchone() for of in ("standby_names", "commit"))
        if names != ("",) and commit != ("local",):
            return True
        # All users see the rows of standbys, but only some users see their state.
        sql = "SELECT count(*) FROM pg_stat_replication WHERE coalesce(state, 'streaming') = 'streaming'"
        return False if names != ("",) or self._number(sql) else None

    def damage(self) -> list[str]:
        """Nothing: damage cannot be seen from here. pg_amcheck checks files and indexes."""
        return []

    @contextmanager
    def translated(self) -> Iterator[None]:
        """Raise the store's errors in place of PostgreSQL's."""
        try:
            yield
        except psycopg.Error as error:
            self._raise_translated(error)

    def _raise_translated(self, error: psycopg.Error) -> NoReturn:
        """Raise the store's error for PostgreSQL's; errors that are our own fault stay as they are."""
        state = error.sqlstate or ""
        if isinstance(error, errors.LockNotAvailable | errors.QueryCanceled):
            raise BusyError("the store is busy") from error
        if state[:2] == _UNDONE:
            raise BusyError(f"the database gave the transaction up: {_first_line(error)}") from error
        if state in _NOT_PREPARED:
            self._wear_out()
            raise BusyError(f"the connection is out of date: {_first_line(error)}") from error
        if state in {"25006", "53100"} or state[:2] == "58":  # a standby, a full disk, one that fails
            raise FullError(f"the store cannot be written: {_first_line(error)}") from error
        if state[:2] == "XX":
            raise DamagedError(f"the store is damaged ({_first_line(error)}): ask pg_amcheck") from error
        if state in _CUT_OFF or state[:2] in {"08", "53", "57"} or (not state and isinstance(error, _LOST)):
            raise BusyError(f"{self.place} cannot be reached: {_first_line(error)}") from error
        if state == "42501":
            raise StoreError(f"{self.place} is closed to us: {_first_line(error)}") from error
        raise error


def _storable(value: object) -> object:
    """A value with U+FFFD in place of each NUL in it."""
    return value.replace("\0", "\ufffd") if isinstance(value, str) else value


def _first_line(error: Exception) -> str:
    """The first line of a message; the others may quote a row's secrets."""
    return str(error).strip().split("\n", maxsplit=1)[0]


# SQLite's SQL in PostgreSQL's words. The case of addresses does not matter in either: SQLite has a collation for
# that, PostgreSQL indexes of `lower`.
_WORDS = (("%", "%%"), ("rowid", "ctid"), ("group_concat(", "string_agg("), ("?", "%s"))
_PHRASES = (
    (re.compile(r"(?<![\w.:%])([\w.:%]++) = ([\w.:%]++) COLLATE NOCASE"), r"lower(\1) = lower(\2)"),
    (re.compile(r"\(address COLLATE NOCASE"), "(lower(address)"),
    (
        re.compile(r"json_extract\(CAST\(([\w.]++) AS TEXT\), '\$\.(\w++)'\)"),
        r"(convert_from(\1, 'UTF8')::json->>'\2')",
    ),
    (re.compile(r"json_extract\((\w++), '\$\.(\w++)'\)"), r"(\1::json->>'\2')"),
    (re.compile(r"(?<![:\w]):([a-z_]\w*+)"), r"%(\1)s"),
)


@cache
def in_postgresql(sql: str) -> str:
    """A statement, with parameters as psycopg writes them."""
    for ours, theirs in _WORDS:
        sql = sql.replace(ours, theirs)
    for phrase, theirs in _PHRASES:
        sql = phrase.sub(theirs, sql)
    return sql


_WORDS_OF_TABLES = (
    (" TEXT", ' TEXT COLLATE "C"'),  # ordered by octets, as in SQLite, whatever the version of the C library
    (" BLOB", " BYTEA"),
    (" INTEGER", " BIGINT"),
    (" REAL", " DOUBLE PRECISION"),
)
_TABLE = re.compile(r"CREATE TABLE (\w++) \((.*)\n\) STRICT(?:, WITHOUT ROWID)?", re.DOTALL)
_KEY = re.compile(r",\n    PRIMARY KEY \(address, ([\w, ]++)\)")
_ADDRESS = re.compile(r"address TEXT(?P<must> NOT NULL)?(?P<key> UNIQUE| PRIMARY KEY)? COLLATE NOCASE")
_INDEXED = re.compile(r"(?<!\w)(?:address(?!\w| IS)|(\w++) COLLATE NOCASE)")


def migration_statement(statement: str) -> str:
    """A statement of a migration script, with the same tables, columns and keys; two if a key becomes an index."""
    if table := _TABLE.fullmatch(statement):
        # A key with an address becomes an index, because the case of addresses does not matter.
        name, columns, keys = table[1], table[2], ""
        columns = columns.replace("PRIMARY KEY AUTOINCREMENT", f"PRIMARY KEY DEFAULT next_number('{name}')")
        if address := _ADDRESS.search(columns):
            columns = _ADDRESS.sub(
                "address TEXT" + (" NOT NULL" if address["must"] or address["key"] else ""), columns
            )
            more = _KEY.search(columns)
            columns = _KEY.sub("", columns)
            if address["key"] or more:
                keys = ";\n" + _index(f"CREATE UNIQUE INDEX ON {name} (address{f', {more[1]}' if more else ''})")
        statement = f"CREATE TABLE {name} ({columns}\n){keys}"
    elif statement.startswith(("CREATE INDEX", "CREATE UNIQUE INDEX")):
        statement = _index(statement)
    for ours, theirs in _WORDS_OF_TABLES:
        statement = statement.replace(ours, theirs)
    return statement


def _index(statement: str) -> str:
    return _INDEXED.sub(lambda part: f"lower({part[1] or 'address'})", statement)
