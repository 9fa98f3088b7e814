"""A decision is tried, undone, and written in a moment: with what was put off, or not at all."""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest
from stores import POSTGRESQL, heard, place

from pbem.store.database import Database
from pbem.store.decision import Later
from pbem.store.engine import Ran
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
    tried = "COMMIT" if POSTGRESQL else "ROLLBACK"
    assert began[began.index(tried) + 1 :] == [
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


def test_a_number_that_is_taken_is_no_fault_of_the_decision(database: Database, beside: Database) -> None:
    """Two take the last name: who comes second decides anew, and may find that it is taken."""

    def decide() -> None:
        assert database.meta("name") is None
        with beside.transaction():
            beside.set_meta("name", "the other's")
        database.write("INSERT INTO meta VALUES (?, ?)", ("name", "ours"))

    with pytest.raises(OvertakenError):
        database.decide(decide)
    assert database.meta("name") == "the other's"


def test_a_part_that_cannot_be_written_is_not_held_against_the_next(database: Database) -> None:
    """Nothing of it is written, and the part that looked is not the one that fails."""

    def part(*, look: bool) -> None:
        with database.savepoint():
            if look:
                words(database)
            else:
                database.write("INSERT INTO words (word) VALUES (?)", ("half",))
                database.write("INSERT INTO meta VALUES (?, ?)", ("name", "ours"))

    def decide() -> list[bool]:
        failed = []
        for look in (False, True):
            try:
                part(look=look)
            except database.engine.failure:
                failed.append(look)
        return failed

    with database.transaction():
        database.set_meta("name", "another's")
    with pytest.raises(OvertakenError):
        database.decide(decide)
    assert words(database) == []
    assert database.decide(decide, locked=True) == [False]
    assert words(database) == []


def test_a_store_that_cannot_be_looked_at_once_can_be_later(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail() -> object:
        raise BusyError("the store is busy")

    with monkeypatch.context() as patch:
        patch.setattr(database.engine, "written", fail)
        with pytest.raises(BusyError):
            database.decide(lambda: None)
    assert database.decide(lambda: words(database)) == []


@pytest.mark.parametrize("wrote", [False, True])
def test_a_part_is_undone_for_what_it_found(database: Database, beside: Database, *, wrote: bool) -> None:
    """Whoever refuses something says why: that is to hold still when it is written that it was refused."""

    def part() -> None:
        with database.savepoint():
            if wrote:
                database.write("INSERT INTO words (word) VALUES (?)", (Later(str, "meanwhile"),))
            if database.meta("open") is None:
                raise ZeroDivisionError

    def decide() -> None:
        with suppress(ZeroDivisionError):
            part()
        database.write("INSERT INTO words (word) VALUES (?)", (Later(opened, "meanwhile"),))

    def opened() -> str:
        with beside.transaction():
            beside.set_meta("open", "yes")
        return "refused"

    with pytest.raises(OvertakenError):
        database.decide(decide)
    assert words(database) == []


def test_what_was_undone_hides_nothing(database: Database, beside: Database) -> None:
    """A query is not held to have found what a part wrote that is undone; nor is nobody else let in for it."""

    def part() -> None:
        with database.savepoint():
            database.set_meta("name", "undone")
            database.write("UPDATE words SET word = ?", (Later(str, "word"),))
            raise ZeroDivisionError

    def decide() -> None:
        with suppress(ZeroDivisionError):
            part()
        assert database.meta("name") is None
        assert words(database) == ["word"]
        with beside.transaction(wait=False):
            beside.write("UPDATE words SET word = 'another'")
        put(database, Later(str, ""))

    with database.transaction():
        put(database, "word")
    with pytest.raises(OvertakenError):
        database.decide(decide)
    assert words(database) == ["another"]


@pytest.mark.parametrize("changed", ["nothing", "row", "number"])
def test_what_is_not_made_yet_is_all_that_a_query_may_find_otherwise(
    database: Database, beside: Database, changed: str
) -> None:
    """A row is found by the number that it was given when the decision was tried: it is to be the same row."""

    def make() -> str:
        with beside.transaction():
            if changed == "row":
                beside.write("UPDATE words SET word = 'changed'")
            elif changed == "number":
                put(beside, "another")
            else:
                beside.set_meta("name", "written")
        return "made"

    def decide() -> None:
        database.write("INSERT INTO words (word) VALUES (?)", (Later(make, "meanwhile"),))
        ((_, one), (number, other)) = database.execute("SELECT id, word FROM words ORDER BY id").fetchall()
        assert (one, other) == ("word", "meanwhile")
        database.write("DELETE FROM words WHERE id = ?", (number,))

    database.decide(lambda: put(database, "word"))
    if changed == "nothing":
        database.decide(decide)
    else:
        with pytest.raises(OvertakenError):
            database.decide(decide)
    assert words(database) == {"nothing": ["word"], "row": ["changed"], "number": ["word", "another"]}[changed]


def test_what_a_part_found_of_its_own_is_undone_with_it(database: Database, beside: Database) -> None:
    def part() -> None:
        with database.savepoint():
            put(database, "undone")
            assert words(database) == ["undone"]
            raise ZeroDivisionError

    def decide() -> None:
        with suppress(ZeroDivisionError):
            part()
        put(database, Later(make, "meanwhile"))

    def make() -> str:
        with beside.transaction():
            beside.set_meta("name", "written")
        return "made"

    database.decide(decide)
    assert words(database) == ["made"]


def test_a_decision_asks_nothing_twice(database: Database) -> None:
    """Until it writes what may be found: then it looks, and goes on looking."""
    statements = heard(database)

    def asked() -> int:
        return sum(statement.startswith("SELECT word") for statement in statements)

    def decide() -> None:
        assert (words(database), words(database), asked()) == ([], [], 1)
        database.set_meta("name", "of another table")
        assert (words(database), asked()) == ([], 1)
        put(database, "word")
        assert (words(database), words(database), asked()) == (["word"], ["word"], 3)

    database.decide(decide)
    assert asked() == 3


@pytest.mark.parametrize("again", [False, True])
def test_what_was_known_before_a_part_was_undone_is_stood_on(
    database: Database, beside: Database, *, again: bool
) -> None:
    """What was asked in it, and might have found what it wrote, counts again when it is asked again."""

    def part() -> None:
        with database.savepoint():
            assert words(database) == []
            database.write("INSERT INTO words (word) VALUES (?)", ("undone",))
            raise ZeroDivisionError

    def decide() -> None:
        with suppress(ZeroDivisionError):
            part()
        if again:
            assert words(database) == []
        database.write("INSERT INTO meta VALUES (?, ?)", ("name", Later(make, "meanwhile")))

    def make() -> str:
        with beside.transaction():
            put(beside, "other")
        return "made"

    if again:
        with pytest.raises(OvertakenError):
            database.decide(decide)
    else:
        database.decide(decide)
    assert database.meta("name") == (None if again else "made")


def test_what_was_only_glanced_at_is_stood_on_when_it_is_asked(database: Database, beside: Database) -> None:
    def decide() -> None:
        assert database.glance(lambda: words(database)) == words(database) == []
        put(database, Later(make, "meanwhile"))

    def make() -> str:
        with beside.transaction():
            put(beside, "other")
        return "made"

    with pytest.raises(OvertakenError):
        database.decide(decide)


@pytest.fixture
def alone(database: Database, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The statements that a database runs one by one, as if each were a way to a server and back."""
    statements: list[str] = []
    run = database.engine.run

    def noted(sql: str, *values: Any) -> Any:
        statements.append(sql)
        return run(sql, *values)

    def all_at_once(queries: Any) -> list[Ran]:
        cursors = [run(*query) for query in queries]
        return [
            Ran(cursor.rowcount, cursor.fetchall() if cursor.description else [], cursor.description)
            for cursor in cursors
        ]

    monkeypatch.setattr(database.engine, "far", True)
    monkeypatch.setattr(database.engine, "run", noted)
    monkeypatch.setattr(database.engine, "run_all", all_at_once)
    return statements


def looks(database: Database, about: str, *, asks: bool = True) -> list[str] | None:
    with database.savepoint(about=about):
        return words(database) if asks else None


def test_what_is_usually_asked_is_asked_at_once(database: Database, beside: Database, alone: list[str]) -> None:
    """What was asked twice about something is asked with all else of that kind; it finds what is there now."""
    for about, asked in (("ann", 1), ("ann", 1), ("ann", 0), ("bob", 1), ("ann", 0)):
        with beside.transaction():
            put(beside, "word")
        alone.clear()
        found = database.decide(partial(looks, database, about), about=[about])
        assert found == words(beside)
        assert sum(statement.startswith("SELECT word") for statement in alone) == asked


def test_what_is_asked_no_more_is_not_asked_ahead(database: Database, alone: list[str]) -> None:
    for asks, asked in ((True, 1), (True, 1), (False, 0), (True, 1), (True, 1), (True, 0)):
        alone.clear()
        database.decide(partial(looks, database, "ann", asks=asks), about=["ann"])
        assert sum(statement.startswith("SELECT word") for statement in alone) == asked


@pytest.mark.usefixtures("alone")
@pytest.mark.parametrize("asks", [True, False])
def test_a_decision_stands_on_what_was_asked_ahead_if_it_asks(
    database: Database, beside: Database, *, asks: bool
) -> None:
    def decide() -> None:
        looks(database, "ann", asks=asks)
        database.write("INSERT INTO meta VALUES (?, ?)", ("name", Later(make, "meanwhile")))

    def make() -> str:
        with beside.transaction():
            put(beside, "other")
        return "made"

    for _ in range(2):
        database.decide(partial(looks, database, "ann"), about=["ann"])
    if asks:
        with pytest.raises(OvertakenError):
            database.decide(decide, about=["ann"])
    else:
        database.decide(decide, about=["ann"])
    assert database.meta("name") == (None if asks else "made")


@pytest.mark.usefixtures("alone")
def test_what_was_asked_ahead_is_asked_anew_once_others_may_not_write(database: Database, beside: Database) -> None:
    """Until then they may have written; of what was asked before, that is seen when the lock is taken."""

    def decide() -> list[str] | None:
        with beside.transaction():
            put(beside, "other")
        database.set_meta("name", "ours")
        assert database.meta("name") == "ours"
        return looks(database, "ann")

    for _ in range(2):
        database.decide(partial(looks, database, "ann"), about=["ann"])
    assert database.decide(decide, about=["ann"]) == ["other"]
