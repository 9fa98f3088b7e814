"""The store's file: durable, one transaction at a time, one daemon, migrations in order."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from typing import TYPE_CHECKING

import pytest
from in_a_box.stores import migrations_before, of_sqlite, place

from pbem.store.database import Database, from_db, to_db
from pbem.store.errors import TooNewError
from pbem.store.operator import Instructions
from pbem.store.people import People
from pbem.store.schema import migrations

if TYPE_CHECKING:
    from pathlib import Path


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


def test_transactions_do_not_nest_and_writes_need_one(tmp_path: Path) -> None:
    with Database(place(tmp_path / "a.db")) as database:
        with database.transaction(), pytest.raises(RuntimeError), database.transaction():
            pass
        with pytest.raises(RuntimeError):
            database.set_meta("a", "b")
        with pytest.raises(RuntimeError), database.savepoint():
            pass


def test_a_part_that_is_undone_leaves_the_rest(tmp_path: Path) -> None:
    with Database(place(tmp_path / "a.db")) as database:
        with database.transaction():
            database.set_meta("first", "1")
            with database.savepoint():
                database.set_meta("part", "1")
                with pytest.raises(KeyError), database.savepoint():  # noqa: PT012 - the body of a part
                    database.set_meta("lost", "1")
                    raise KeyError
        found = [database.meta(name) for name in ("first", "part", "lost")]
        assert found == ["1", "1", None]


def test_migrations_run_once_and_in_order(tmp_path: Path) -> None:
    first = ("CREATE TABLE meta (x INTEGER); CREATE TABLE a (x INTEGER); INSERT INTO a VALUES (1);",)
    with Database(place(tmp_path / "a.db"), first) as database:
        assert database.engine.version == 1
    second = (*first, "CREATE TABLE b (x INTEGER); INSERT INTO b SELECT x + 1 FROM a;")
    for _ in range(2):
        with Database(place(tmp_path / "a.db"), second) as database:
            assert (database.engine.version, database.rows("SELECT x FROM b")) == (2, [{"x": 2}])


def test_a_store_of_an_earlier_version_keeps_its_seats(tmp_path: Path) -> None:
    """Their reply tokens are forgotten: they grant nothing any more."""
    before = migrations_before("seats")
    with Database(place(tmp_path / "a.db"), before) as database:
        database.execute("INSERT INTO players VALUES ('ann', 'ann@mail.example', '')")
        database.execute("INSERT INTO matches (phase, terms, head, created) VALUES ('playing', '{}', '', '')")
        database.execute("INSERT INTO seats VALUES (1, 1, 'ann', 'c0ffee', 1)")
    with Database(place(tmp_path / "a.db")) as database:
        assert database.rows("SELECT * FROM seats") == [{"match": 1, "seat": 1, "player": "ann", "accepted": 1}]
        assert not database.engine.damage()


def test_a_store_of_an_earlier_version_keeps_what_waits(tmp_path: Path) -> None:
    before = migrations_before("purposes")
    with Database(place(tmp_path / "a.db"), before) as database:
        database.execute(
            "INSERT INTO reply_tokens VALUES ('aa', 'a@b.example', 'ann', 'reply', NULL, 0, 0, '', 'u', 'l')"
        )
        database.execute(
            "INSERT INTO challenges VALUES ('a@b.example', 'ann', 'ssh', 'SHA256:x', 'key', 'c0', '2026')"
        )
    with Database(place(tmp_path / "a.db")) as database:
        (token,) = database.rows("SELECT * FROM reply_tokens")
        assert (token["purpose"], token["used"], token["letter"]) == ("reply", "u", "l")
        (waiting,) = database.rows("SELECT * FROM challenges")
        assert (waiting["name"], waiting["challenge"], waiting["created"]) == ("ann", "c0", "2026")


def test_a_store_of_an_earlier_version_keeps_its_standings(tmp_path: Path) -> None:
    """They are those of matches among people."""
    before = migrations_before("pools")
    with Database(place(tmp_path / "a.db"), before) as database:
        database.execute("INSERT INTO players VALUES ('ann', 'ann@mail.example', '')")
        database.execute("INSERT INTO standings VALUES ('spaceships', 'ann', 3, 2, 1, 0, 27.5, 2.5, 20.0)")
    with Database(place(tmp_path / "a.db")) as database:
        people = People(database)
        (ann,) = people.standings("spaceships", "people", 10)
        assert (ann.played, ann.won, ann.drawn, ann.abandoned, ann.mean, ann.deviation) == (3, 2, 1, 0, 27.5, 2.5)
        assert people.standings("spaceships", "programs", 10) == []
        assert not database.engine.damage()


def test_a_store_of_an_earlier_version_loses_its_snapshots(tmp_path: Path) -> None:
    """They were made from transcripts, and are no longer read."""
    before = migrations_before("no-snapshots")
    with Database(place(tmp_path / "a.db"), before) as database:
        database.execute("INSERT INTO matches (phase, terms, head, created) VALUES ('playing', '{}', '', '')")
        for insert in ("snapshots VALUES (1, '', '', ?)", "snapshot_turns VALUES (1, 0, ?)"):
            database.execute(f"INSERT INTO {insert}", (b"sealed",))
    with Database(place(tmp_path / "a.db")) as database:
        assert not [table for table in database.engine.tables() if "snapshot" in table]
        assert not database.engine.damage()
        assert database.scalar("SELECT phase FROM matches") == "playing"


def test_a_store_of_an_earlier_version_keeps_its_instructions_and_goes_on_with_their_numbers(tmp_path: Path) -> None:
    now = datetime(2026, 3, 1, tzinfo=UTC)
    with Database(place(tmp_path / "a.db"), migrations_before("tournaments-instructed")) as database:
        for _ in range(3):
            database.execute(
                "INSERT INTO instructions (what, match, reason, by, given) VALUES ('pause', 7, 'a trip', 'root', '')"
            )
        assert database.engine.last_numbers() == {"instructions": 3}
    with Database(place(tmp_path / "a.db")) as database:
        assert database.engine.last_numbers() == {"instructions": 3}
        given = Instructions(database)
        assert given.give("rule", None, "", "root", now, tournament=1, ruling="close") == 4
        assert given.outcome(3) == ("waiting", "")
        assert not database.engine.damage()


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


def test_a_store_of_later_software_is_left_alone(tmp_path: Path) -> None:
    with Database(place(tmp_path / "a.db")) as database:
        assert database.engine.version == len(migrations())
    with pytest.raises(TooNewError, match="use the later one"):
        Database(place(tmp_path / "a.db"), migrations()[:-1])


def test_stamps_sort_as_times_do() -> None:
    time = datetime(2026, 11, 21, 12, 0, 0, 5, tzinfo=UTC)
    assert from_db(to_db(time)) == time
    assert to_db(time) == "2026-11-21T12:00:00.000005Z"
    assert to_db(time.astimezone(timezone(timedelta(hours=-5)))) == to_db(time)
    with pytest.raises(ValueError, match="time zone"):
        to_db(datetime(2026, 1, 1))  # noqa: DTZ001
