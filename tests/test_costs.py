"""The costs of a letter, counted and not timed: statements, commits and reads, so that speed cannot rot unseen."""

from __future__ import annotations

import itertools
import re
import tracemalloc
from contextlib import ExitStack
from typing import TYPE_CHECKING, TypeVar, TypeVarTuple

import pytest
from in_a_box.referee import Referee
from in_a_box.stores import connection, of_sqlite, steps

from pbem.desk.letter_handling import WorkingDesk
from pbem.store.inbox import Envelope
from pbem.store.retention import prune

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from pbem.store.database import Database


T = TypeVar("T")
Arguments = TypeVarTuple("Arguments")

ORDERS = "Rw1 Rw2 Rw3 Rx1 Rx2 Rx3 Rx4"
STATEMENTS = 37
"""The most statements for a letter with orders, from the lease to the answer and the look that finds no other."""

TOGETHER = 20
"""The most for each of eight such letters of one player that waited together."""


@pytest.fixture
def begun(tmp_path: Path) -> Iterator[Callable[..., Referee]]:
    """Makes referees, each in the middle of a match after so many turns."""
    with ExitStack() as opened:

        def begin(turns: int = 2) -> Referee:
            folder = tmp_path / str(turns)
            folder.mkdir()
            referee = Referee(folder)
            opened.callback(referee.close)
            people = referee.begun()
            for _ in range(turns):
                referee.turn(*((person, ORDERS) for person in people))
            return referee

        yield begin


def letters(referee: Referee, count: int, first: int = 1) -> Iterator[bytes]:
    """New revisions of Ann's orders."""
    ann = referee.people["ann@mail.example"]
    for rev in range(first, first + count):
        yield referee.raw(ann, referee.signed(ann, ann.filled("orders", ORDERS, rev)))


def watched(referee: Referee, count: int, first: int = 1) -> list[str]:
    """The statements that the desk runs for so many letters which wait."""
    for raw in letters(referee, count, first):
        referee.inbox.put(Envelope("ann@mail.example", ("pbem@play.example",)), raw, referee.now)
    heard: list[str] = []
    line = connection(referee.database)
    line.set_trace_callback(heard.append)
    running = WorkingDesk(referee.desk, lambda: 0.0)  # no decision takes too long for one more
    while running.handle_next(referee.now):
        pass
    line.set_trace_callback(None)
    return heard


def test_statements_and_commits_of_a_letter(begun: Callable[..., Referee]) -> None:
    heard = watched(begun(), 1)
    assert heard.count("COMMIT") == 2  # the lease and the effects
    assert len(heard) <= STATEMENTS, "\n".join(heard)


def test_letters_that_wait_together_share_their_commits(begun: Callable[..., Referee]) -> None:
    heard = watched(begun(), 8)
    assert heard.count("COMMIT") == 2
    assert len(heard) <= 8 * TOGETHER


def test_who_finds_nothing_to_do_keeps_no_writer_waiting(begun: Callable[..., Referee]) -> None:
    referee = begun()
    referee.running.tick(referee.now)
    before = referee.database.begun
    assert not referee.running.handle_next(referee.now)
    referee.running.tick(referee.now)
    assert referee.database.begun == before


def test_letters_that_arrive_together_share_a_commit(begun: Callable[..., Referee]) -> None:
    referee = begun()
    heard: list[str] = []
    connection(referee.database).set_trace_callback(heard.append)
    envelope = Envelope("ann@mail.example", ("pbem@play.example",))
    referee.inbox.put_all([(envelope, raw) for raw in letters(referee, 8)], lambda: referee.now, 100)
    assert heard.count("COMMIT") == 1


def test_no_letter_reads_more_the_longer_the_match(begun: Callable[..., Referee]) -> None:
    """As many rows are read of a warm match, and as much is told, after two turns as after twelve."""
    lengths = []
    for turns in (2, 12):
        referee = begun(turns)
        heard = watched(referee, 1)
        assert not [
            statement for statement in heard if re.search(r"FROM (entries|submissions)\b(?!.*seq =)", statement)
        ]
        lengths.append(len(heard))
    assert lengths[0] == lengths[1]


def test_long_letters_do_not_fill_the_memory_when_a_match_is_replayed(begun: Callable[..., Referee]) -> None:
    """Two who pad their letters to what the post office takes would hold a thousand turns of them against it."""
    referee = begun(0)
    for _ in range(20):
        for person in referee.people.values():
            raw = referee.raw(person, referee.signed(person, person.filled("orders", f"final\n{ORDERS}")))
            referee.deliver(raw + (b"> quoted %-60d\r\n" % 0) * 2500, person.address)
    assert referee.match().turn == 21
    referee.open_desk()
    tracemalloc.start()
    assert referee.match().turn == 21
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 20 * 2 * 175_000 / 2, most


GROWING = {
    "inbox": "fingerprint",
    "outbox": "message_id token",
    "handled": "signed",
    "vouched": "mark",
    "daily": "mark",
    "players": "name address",
    "keys": "player fingerprint",
    "matches": "number",
    "seats": "match",
    "entries": "match",
    "papers": "match",
    "submissions": "match",
}
"""Tables that grow with the letters, the players and the matches, and what tells their rows apart."""


def grow(database: Database, copies: int) -> None:
    """Add so many rows like each one that is there."""
    for table, keys in GROWING.items():
        columns = {}
        for _, name, kind, *_ in database.execute(f"PRAGMA table_info({table})"):
            another = f"{name} + 1000 * n" if kind == "INTEGER" else f"{name} || n"
            columns[name] = another if name in keys.split() else name
        columns.pop("id", None)  # the table numbers its rows
        database.execute(
            "WITH RECURSIVE more(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM more WHERE n < ?)"
            f" INSERT INTO {table} ({', '.join(columns)}) SELECT {', '.join(columns.values())} FROM {table}, more",
            (copies,),
        )


@of_sqlite
def test_nothing_costs_more_the_larger_the_store(begun: Callable[..., Referee]) -> None:
    """Steps of SQLite are counted: its plan does not say how many rows it walks along an index."""
    referee = begun()
    revisions = itertools.count(1)
    old = "2026-01-01T00:00:00.000000Z"

    def forget() -> None:
        with referee.database.transaction():
            prune(referee.database, old, referee.now.date().isoformat(), 100)

    work: dict[str, Callable[[], object]] = {
        "a letter": lambda: watched(referee, 1, next(revisions)),
        "a look at the clock": lambda: referee.running.tick(referee.now),
        "a search for what is old": forget,
    }

    def costs() -> dict[str, int]:
        found = {}
        for what, do in work.items():
            do()  # what is remembered of the match was read
            with steps(referee.database) as counted:
                do()
            found[what] = counted[0]
        return found

    few = costs()
    grow(referee.database, 50)
    many = costs()
    assert {what: cost for what, cost in many.items() if cost > few[what] + 20} == {}
