"""A decision is tried, undone, and written in a moment: with what was put off, or not at all."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

import pytest
from stores import POSTGRESQL, heard, place

from pbem.store.database import Database
from pbem.store.decision import Later
from pbem.store.errors import BusyError, OvertakenError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

TABLE = """
CREATE TABLE meta (
    name TEXT PRIMARY KEY,
    value TEXT NOT NULL
) STRICT;
CREATE TABLE words (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    word TEXT NOT NULL,
    times INTEGER DEFAULT 1
) STRICT;
"""


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    with Database(place(tmp_path / "store.db"), (TABLE,)) as database:
        yield database


@pytest.fixture
def beside(database: Database) -> Iterator[Database]:
    with Database(database.place, (TABLE,)) as other:
        yield other


def words(database: Database) -> list[str]:
    return [row["word"] for row in database.rows("SELECT word FROM words ORDER BY id")]


def put(database: Database, word: str | Later[str]) -> int:
    return database.insert("INSERT INTO words (word) VALUES (?) RETURNING id", (word,))


def test_what_is_put_off_is_made_while_others_write(database: Database, beside: Database) -> None:
    seen: list[tuple[bool, list[str]]] = []

    def make() -> str:
        seen.append((database.in_transaction, words(beside)))
        with beside.transaction(wait=False):
            beside.write("UPDATE words SET times = 2 WHERE word = 'other'")
        return "made"

    def decide() -> list[str]:
        put(database, Later(make, "meanwhile"))
        put(database, "at once")
        return words(database)

    with database.transaction():
        put(database, "other")
    assert database.decide(decide) == ["other", "meanwhile", "at once"]
    assert seen == [(False, ["other"])]
    assert words(beside) == ["other", "made", "at once"]


def test_what_puts_nothing_off_is_written_once(database: Database) -> None:
    statements = heard(database)
    assert database.decide(lambda: put(database, "word")) == 1
    turn = ["UPDATE"] if POSTGRESQL else []
    began = [statement.split()[0] for statement in statements]
    assert began[began.index("ROLLBACK") + 1 :] == [
        "BEGIN",
        *turn,
        *([] if POSTGRESQL else ["PRAGMA"]),
        "INSERT",
        "COMMIT",
    ]


def test_what_was_undone_is_not_written_nor_made(database: Database) -> None:
    def fail() -> str:
        raise AssertionError("this was undone")

    def part() -> None:
        with database.savepoint():
            put(database, Later(fail, "meanwhile"))
            raise ZeroDivisionError

    def decide() -> None:
        put(database, "first")
        with pytest.raises(ZeroDivisionError):
            part()
        put(database, Later(lambda: "last", "meanwhile"))

    database.decide(decide)
    assert words(database) == ["first", "last"]


@pytest.mark.parametrize("when", ["deciding", "making"])
def test_what_raises_leaves_nothing(database: Database, when: str) -> None:
    def make() -> str:
        raise ZeroDivisionError

    def decide() -> None:
        put(database, Later(make, "meanwhile"))
        if when == "deciding":
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        database.decide(decide)
    assert words(database) == []
    assert database.decide(lambda: put(database, "next")) == 1


@pytest.mark.parametrize("what", ["looked at", "row", "number"])
def test_what_others_changed_meanwhile_is_not_written(database: Database, beside: Database, what: str) -> None:
    """What was looked at, a row that is no more, a number that is taken."""

    def meanwhile() -> str:
        with beside.transaction(wait=False):
            if what == "row":
                beside.write("DELETE FROM words")
            elif what == "looked at":
                beside.write("UPDATE words SET word = 'another'")
            else:
                put(beside, "another")
        return "made"

    def decide() -> None:
        if what == "looked at":
            assert words(database) == ["word"]
        assert database.write("UPDATE words SET times = times + 1 WHERE id = 1").rowcount == 1
        put(database, Later(meanwhile, "meanwhile"))

    database.decide(lambda: put(database, "word"))
    with pytest.raises(OvertakenError):
        database.decide(decide)
    assert "made" not in words(database)
    assert not database.in_transaction


def test_decisions_do_not_nest(database: Database) -> None:
    with pytest.raises(RuntimeError):
        database.decide(lambda: database.decide(lambda: None))


def test_while_a_decision_is_tried_others_write(database: Database, beside: Database) -> None:
    """As long as it needs to see nothing that it writes, nobody waits for it."""

    def decide() -> None:
        assert database.scalar("SELECT count(*) FROM words WHERE id = ?", (1,)) == 1
        database.write("UPDATE words SET times = times + 1 WHERE id = ?", (1,))
        assert database.scalar("SELECT times FROM words WHERE id = ?", (7,)) is None
        with beside.transaction(wait=False):
            put(beside, "other")

    database.decide(lambda: put(database, "word"))
    database.decide(decide)
    with pytest.raises(BusyError):
        database.decide(decide, locked=True)
    assert database.rows("SELECT id, times FROM words ORDER BY id") == [{"id": 1, "times": 2}, {"id": 2, "times": 1}]


def test_a_decision_sees_what_it_writes_in_each_part(database: Database) -> None:
    """Parts begun before and behind the moment from which others wait are undone by themselves."""

    def part(word: str, *, look: bool) -> list[str]:
        with database.savepoint():
            database.write("INSERT INTO words (word) VALUES (?)", (word,))
            if look:
                return words(database)
            raise ZeroDivisionError

    def decide() -> list[list[str]]:
        seen = []
        for word, look in (("first", False), ("second", True), ("third", False), ("fourth", True)):
            with suppress(ZeroDivisionError):
                seen.append(part(word, look=look))
        return seen

    assert database.decide(decide) == [["second"], ["second", "fourth"]]
    assert words(database) == ["second", "fourth"]


def test_what_a_statement_did_is_believed_once(database: Database) -> None:
    """Whoever asks how many rows were changed is told one, and is asked anew, with a lock, where it was none."""

    def decide() -> int:
        return database.write("DELETE FROM words WHERE id = ?", (7,)).rowcount

    with pytest.raises(OvertakenError):
        database.decide(decide)
    assert database.decide(decide, locked=True) == 0
