"""The store's file: durable, one transaction at a time, one daemon, migrations in order."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest
from in_a_box.stores import of_sqlite, place

from pbem.store.database import Database, from_db, to_db
from pbem.store.engine import migrations, statements
from pbem.store.errors import StoreError, UnknownVersionError
from pbem.store.operator import Instructions
from pbem.store.players import Players

EXAMPLE = Path(__file__).parents[1] / "data" / "migrations" / "02-example.sql"


@of_sqlite
def test_nobody_else_may_read_the_file(tmp_path: Path) -> None:
    with Database(place(tmp_path / "new" / "a.db")) as database:
        with database.transaction():
            database.set_meta("a", "b")
        for path in (tmp_path / "new").iterdir():
            assert path.stat().st_mode & 0o077 == 0, path


def test_a_transaction_is_whole_or_nothing(tmp_path: Path) -> None:
    with Database(place(tmp_path / "a.db")) as database:
        with database.transaction():
            database.set_meta("kept", "1")
        with pytest.raises(KeyError), database.transaction():  # noqa: PT012 - the body of a transaction
            database.set_meta("lost", "1")
            raise KeyError
        assert (database.meta("kept"), database.meta("lost")) == ("1", None)
        assert not database.in_transaction


def test_a_later_migration_keeps_what_is_there(tmp_path: Path) -> None:
    """The example of how tables change: an upgrade keeps all rows, and the numbers that were given out."""
    now = datetime(2026, 3, 1, tzinfo=UTC)
    path = place(tmp_path / "a.db")
    with Database(path) as database:
        with database.transaction():
            Players(database).add("ann", "ann@mail.example", None, to_db(now))
        assert [Instructions(database).give("pause", "m7", "a trip", "root", now) for _ in range(3)] == [1, 2, 3]
    later = (*migrations(), EXAMPLE.read_text("utf-8"))
    with pytest.raises(StoreError, match="has version 1: start the server once with this pbem"):
        Database(path, later, migrate=False)
    for _ in range(2):
        with Database(path, later) as database:
            assert (database.engine.version, database.engine.damage()) == (2, [])
            assert database.rows("SELECT name, motto FROM players") == [{"name": "ann", "motto": ""}]
            assert database.engine.last_numbers() == {"instructions": 3}
            assert Instructions(database).outcome(3) == ("waiting", "")
    with Database(path, later) as database:
        assert Instructions(database).give("end", "m7", "", "root", now) == 4
        assert database.scalar("SELECT urgent FROM instructions WHERE id = 4") == 0


def test_a_failed_migration_leaves_the_store_as_it_was(tmp_path: Path) -> None:
    with Database(place(tmp_path / "a.db"), ("CREATE TABLE meta (x INTEGER);",)):
        pass
    with pytest.raises(Exception, match=r"meta.*already exists"):
        Database(
            place(tmp_path / "a.db"),
            ("CREATE TABLE meta (x INTEGER);", "CREATE TABLE b (x INTEGER); CREATE TABLE meta (x INTEGER);"),
        )
    with Database(place(tmp_path / "a.db"), ("CREATE TABLE meta (x INTEGER);",)) as database:
        assert database.engine.tables() == ["meta"]


def test_a_store_of_an_unknown_version_is_left_alone(tmp_path: Path) -> None:
    with Database(place(tmp_path / "a.db"), (*migrations(), "CREATE TABLE b (x INTEGER);")) as database:
        assert database.engine.version == 2
    for migrate in (False, True):
        with pytest.raises(UnknownVersionError, match="has version 2, and this pbem knows none above 1: it was"):
            Database(place(tmp_path / "a.db"), migrate=migrate)


def test_a_comment_in_a_script_leaves_nothing_behind() -> None:
    """Or PostgreSQL's dialect would miss a key after it, which an upsert names."""
    (statement,) = statements("CREATE TABLE a (\n    b TEXT, -- of c\n    PRIMARY KEY (b)\n) STRICT;\n-- The end.")
    assert statement == "CREATE TABLE a (\n    b TEXT,\n    PRIMARY KEY (b)\n) STRICT"


def test_transactions_do_not_nest_and_writes_need_one(tmp_path: Path) -> None:
    with Database(place(tmp_path / "a.db")) as database:
        with database.transaction(), pytest.raises(RuntimeError), database.transaction():
            pass
        with pytest.raises(RuntimeError):
            database.set_meta("a", "b")
        with pytest.raises(RuntimeError), database.savepoint():
            pass


def test_stamps_sort_as_times_do() -> None:
    time = datetime(2026, 11, 21, 12, 0, 0, 5, tzinfo=UTC)
    assert from_db(to_db(time)) == time
    assert to_db(time) == "2026-11-21T12:00:00.000005Z"
    assert to_db(time.astimezone(timezone(timedelta(hours=-5)))) == to_db(time)
    with pytest.raises(ValueError, match="time zone"):
        to_db(datetime(2026, 1, 1))  # noqa: DTZ001
