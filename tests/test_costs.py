"""What a letter may cost, counted and not timed: statements, commits and reads, so that speed cannot rot unseen."""

from __future__ import annotations

import re
import sqlite3
import tracemalloc
from contextlib import ExitStack
from typing import TYPE_CHECKING, TypeVar, TypeVarTuple

import pytest
from in_a_box.referee import Referee
from in_a_box.stores import connection

from pbem.store.inbox import Envelope

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path


T = TypeVar("T")
Arguments = TypeVarTuple("Arguments")

ORDERS = "Rw1 Rw2 Rw3 Rx1 Rx2 Rx3 Rx4"
STATEMENTS = 40
"""Of a letter with orders, from the lease to the answer in the outbox and the look that finds no other."""

TOGETHER = 22
"""Of each of eight such letters of one player that waited together."""


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
    while referee.running.handle_next(referee.now):
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


def test_hot_queries_use_indexes(begun: Callable[..., Referee]) -> None:
    """No statement of a letter walks through a table that grows."""
    referee = begun()
    heard = watched(referee, 1)
    referee.open_desk()
    heard += watched(referee, 1)
    line = connection(referee.database)
    walks = set()
    for statement in heard:
        if statement.startswith(("SELECT", "UPDATE", "DELETE")):
            try:
                plan = line.execute(f"EXPLAIN QUERY PLAN {statement}").fetchall()
            except sqlite3.OperationalError:  # the trace cuts long blobs short
                continue
            walks |= {step[3] for step in plan if step[3].startswith("SCAN") and "INDEX" not in step[3]}
    few = {"SCAN kind0", "SCAN kind1", "SCAN kind2"}  # the first letters of each kind, no more than are taken
    assert walks <= {"SCAN outages", "SCAN CONSTANT ROW"} | few


def test_the_octets_of_cached_matches_are_kept_and_not_added_up(begun: Callable[..., Referee]) -> None:
    """Through new revisions, a letter that is refused, and a decision that is undone."""
    referee = begun()
    archive = referee.desk.archive
    ann = referee.people["ann@mail.example"]
    for text in (ORDERS, ORDERS.lower(), "Rw1", ""):
        referee.send(ann, ann.filled("orders", text, rev=len(text) + 1), follow=False)
        assert archive._all_octets == sum(archive._octets.values())
    assert archive._all_octets > 0
    archive.begin()
    archive._drop(1)
    assert archive._all_octets == 0
