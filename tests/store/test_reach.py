"""Which rows a statement reaches: a query that is held apart from it finds the same before it and after it."""

from __future__ import annotations

import random
import re
import sqlite3
from contextlib import closing, suppress
from typing import TYPE_CHECKING

import pytest

from pbem.store.reach import CASCADES, Reaches
from pbem.store.schema import MIGRATIONS

if TYPE_CHECKING:
    from pbem.store.decision import Parameters

COLUMNS = ("match", "seat", "player", "state")
TABLE = """
CREATE TABLE rows (
    match INTEGER NOT NULL, seat INTEGER NOT NULL, player TEXT NOT NULL COLLATE NOCASE, state INTEGER,
    PRIMARY KEY (match, seat)
) STRICT, WITHOUT ROWID
"""
QUERIES = [
    "SELECT * FROM rows WHERE match = ?",
    "SELECT * FROM rows WHERE match = ? AND seat = ? ORDER BY match, seat",
    "SELECT count(*) FROM rows WHERE state = ? AND seat <= ?",
    "SELECT * FROM rows WHERE player = :player COLLATE NOCASE AND state IS NOT NULL",
    "SELECT * FROM rows WHERE match = ? OR seat = ?",
    "SELECT * FROM rows WHERE match = ? AND seat IN (?, ?)",
    "SELECT * FROM rows WHERE match = ? AND seat NOT IN (?, ?)",
    "SELECT * FROM rows WHERE NOT (match = ?)",
    "SELECT * FROM rows WHERE match = (SELECT max(match) FROM rows WHERE seat = ?)",
    "SELECT * FROM rows WHERE match = coalesce(?, match)",
    "SELECT max(state) FROM rows",
    "SELECT * FROM rows WHERE match = ? AND state = (SELECT max(state) FROM rows)",
]
STATEMENTS = [
    "INSERT INTO rows VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING",
    "INSERT INTO rows (seat, match, player) VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
    "INSERT INTO rows VALUES (?, ?, ?, 1) ON CONFLICT (match, seat) DO UPDATE SET state = excluded.state",
    "INSERT INTO rows VALUES (?, ?, ?, ?) ON CONFLICT (match, seat) DO UPDATE SET player = excluded.player",
    "INSERT INTO rows (seat, match, player) VALUES (2, ?, ?) ON CONFLICT DO NOTHING",
    "INSERT INTO rows (match, seat, player) SELECT ?, seat + 1, player FROM rows WHERE seat = 3",
    "UPDATE rows SET state = ? WHERE match = ? AND seat = ?",
    "UPDATE rows SET state = state + 1 WHERE player = ? COLLATE NOCASE",
    "UPDATE rows SET player = ? WHERE player = ?",
    "UPDATE rows SET state = ? WHERE match = ? AND state = ?",
    "UPDATE rows SET state = ? WHERE match = ? OR seat = ?",
    "DELETE FROM rows WHERE match = ?",
    "DELETE FROM rows WHERE player = ? COLLATE NOCASE AND state < ?",
    "DELETE FROM rows",
]
ROWS = 300
"""How many tables are tried with each query and each statement."""


def value(chance: random.Random, *, of_player: bool) -> object:
    return chance.choice(["ann", "Ann", "bob"]) if of_player else chance.randint(1, 3)


def row(chance: random.Random) -> tuple[object, ...]:
    return tuple(value(chance, of_player=column == "player") for column in COLUMNS)


def values(chance: random.Random, sql: str) -> dict[str, object] | tuple[object, ...]:
    """Values for a statement, each of the type of the column that it stands beside."""
    if ":player" in sql:
        return {"player": value(chance, of_player=True)}
    if sql.startswith("INSERT INTO rows VALUES"):
        return row(chance)[: sql.count("?")]
    if "(seat, match, player) VALUES" in sql:
        return row(chance)[3 - sql.count("?") : 3]
    marks = (match.start() for match in re.finditer(r"\?", sql))
    return tuple(value(chance, of_player=sql[:mark].endswith("player = ")) for mark in marks)


@pytest.mark.parametrize("query", QUERIES)
@pytest.mark.parametrize("statement", STATEMENTS)
def test_what_is_held_apart_finds_the_same(query: str, statement: str) -> None:
    chance = random.Random(f"{query} {statement}")
    reaches = Reaches(lambda _: COLUMNS)
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        connection.execute(TABLE)
        for _ in range(ROWS):
            asked, written = values(chance, query), values(chance, statement)
            if reaches(query, asked).meets(reaches(statement, written)):
                continue
            connection.execute("BEGIN")
            for _ in range(chance.randint(0, 6)):
                connection.execute("INSERT INTO rows VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING", row(chance))
            before = connection.execute(query, asked).fetchall()
            with suppress(sqlite3.IntegrityError):
                connection.execute(statement, written)
                assert connection.execute(query, asked).fetchall() == before
            connection.execute("ROLLBACK")


@pytest.mark.parametrize(
    ("query", "asked", "statement", "written", "meets"),
    [
        ("SELECT * FROM rows WHERE match = ?", (1,), "UPDATE rows SET state = ? WHERE match = ?", (0, 2), False),
        ("SELECT * FROM rows WHERE match = ?", (1,), "UPDATE rows SET state = ? WHERE match = ?", (0, 1), True),
        ("SELECT * FROM rows WHERE match = ? AND seat = ?", (1, 2), STATEMENTS[3], (1, 1, "ann", 0), False),
        ("SELECT * FROM rows WHERE player = :player", {"player": "Ann"}, STATEMENTS[0], (1, 1, "ann", 0), True),
        ("SELECT * FROM rows WHERE player = :player", {"player": "Ann"}, STATEMENTS[0], (1, 1, "bob", 0), False),
        ("SELECT * FROM others WHERE match = ?", (1,), "DELETE FROM rows", (), False),
        ("SELECT * FROM lookups", (), "DELETE FROM inbox WHERE id = ?", (1,), True),
    ],
)
def test_what_is_held_apart(
    query: str, asked: Parameters, statement: str, written: Parameters, *, meets: bool
) -> None:
    reaches = Reaches(lambda _: COLUMNS)
    assert reaches(query, asked).meets(reaches(statement, written)) is meets


def test_all_tables_whose_rows_go_with_those_of_another_are_known() -> None:
    with closing(sqlite3.connect(":memory:")) as connection:
        for script in MIGRATIONS:
            connection.executescript(script)
        tables = [row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        found = {
            key[2]: table
            for table in tables
            for key in connection.execute(f"PRAGMA foreign_key_list({table})")
            if key[6] != "NO ACTION"
        }
        assert not connection.execute("SELECT * FROM sqlite_master WHERE type = 'trigger'").fetchall()
    assert found == CASCADES
