"""The stores of tests: in files, or in the database of PBEM_TEST_POSTGRESQL, in a schema for each path."""

from __future__ import annotations

import hashlib
import os
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import pytest

from pbem.store.sqlite import Sqlite
from pbem.store_place import PostgresqlAddress

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterator

    from pbem.config.server import Config
    from pbem.store.database import Database
    from pbem.store_place import Place

POSTGRESQL = os.environ.get("PBEM_TEST_POSTGRESQL", "")

of_sqlite = pytest.mark.skipif(bool(POSTGRESQL), reason="about SQLite's file")
NEEDS_POSTGRESQL = "needs PostgreSQL: make test-postgresql"
of_postgresql = pytest.mark.skipif(not POSTGRESQL, reason=NEEDS_POSTGRESQL)


def place(path: Path) -> Place:
    return schema(path.resolve()) if POSTGRESQL else path


@cache
def schema(path: Path) -> PostgresqlAddress:
    import psycopg  # noqa: PLC0415 - where it is not asked for it need not be there

    name = f"s_{hashlib.sha256(str(path).encode()).hexdigest()[:20]}"
    with psycopg.connect(POSTGRESQL, autocommit=True) as connection:
        connection.execute(f"CREATE SCHEMA {name}".encode())
    mark = "&" if "?" in POSTGRESQL else "?"
    return PostgresqlAddress(f"{POSTGRESQL}{mark}options={quote(f'-c search_path={name}')}")


def connection(database: Database) -> sqlite3.Connection:
    assert isinstance(database.engine, Sqlite)
    return database.engine.connection


def file_of(config: Config) -> Path:
    assert isinstance(config.store, Path)
    return config.store


def heard(database: Database) -> list[str]:
    """The statements that a connection to PostgreSQL runs from now on."""
    statements: list[str] = []
    line: Any = database.engine
    execute = line.connection.execute

    def noted(sql: bytes | str, *more: object, **options: object) -> object:
        statements.extend((sql.decode() if isinstance(sql, bytes) else sql).split("; "))
        return execute(sql, *more, **options)

    line.connection.execute = noted
    return statements


@contextmanager
def steps(database: Database) -> Iterator[list[int]]:
    """The steps that SQLite's machine makes in a block, as the only item of a list."""
    counted = [0]

    def step() -> None:
        counted[0] += 1

    connection(database).set_progress_handler(step, 1)
    try:
        yield counted
    finally:
        connection(database).set_progress_handler(None, 1)


def at_rest(database: Database) -> bytes:
    """All that lies in a store, as it lies there."""
    if POSTGRESQL:
        tables = database.engine.tables()
        return b"".join(str(row).encode() for table in tables for row in database.table(table))
    database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    assert isinstance(database.place, Path)
    return b"".join(path.read_bytes() for path in database.place.parent.iterdir())
