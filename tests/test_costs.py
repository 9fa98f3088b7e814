"""What a letter may cost, counted and not timed: statements, commits and reads, so that speed cannot rot unseen."""

from __future__ import annotations

import asyncio
import gc
import os
import re
import sqlite3
import time
import tracemalloc
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, TypeVar, TypeVarTuple
from unittest.mock import Mock

import pytest
from desk.test_tournaments import RULED, Club
from in_a_box.boxes import Outbox
from in_a_box.referee import Referee, body, known
from in_a_box.stores import connection

from pbem.config.mail import Delivery
from pbem.desk import match_archive, strangers
from pbem.desk.daily_limits import DailyLimit
from pbem.games import parts
from pbem.games.spaceships import boards as spaceships
from pbem.games.spaceships import words
from pbem.match.state import Match
from pbem.match.transcript_replay import replay_transcript
from pbem.smtp.delivery import Deliverer
from pbem.smtp.rounds import TaskServices
from pbem.store.database import Database
from pbem.store.inbox import Envelope
from pbem.store.vault import Vault

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from pbem.games import Report
    from pbem.games.squares import Board

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


def test_a_turn_is_looked_at_and_drawn_once_for_each_reader(
    begun: Callable[..., Referee], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Text, HTML and attachment are made of the same view, and of the same boards; the public's view is kept."""
    referee = begun()
    seen: list[int | None] = []
    drawn: list[int] = []
    view, boards = Match.view, spaceships.boards

    def looked_at(match: Match, seat: int | None) -> Mapping[str, object] | None:
        seen.append(seat)
        return view(match, seat)

    def noted(view: Any) -> list[Board]:
        found = boards(view)
        drawn.append(found[0].seat)
        return found

    monkeypatch.setattr(Match, "view", looked_at)
    monkeypatch.setattr(spaceships, "boards", noted)
    monkeypatch.setattr(words, "boards_of", noted)
    referee.turn(*((person, ORDERS) for person in referee.people.values()))
    assert sorted(seen, key=str) == [1, 2, None]
    assert sorted(drawn) == [1, 2]


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


def test_a_match_is_replayed_once_and_stays_in_memory(
    begun: Callable[..., Referee], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first letter after a start reads each turn's letters one by one, and the rest of a match together."""
    replayed: list[object] = []

    def noted(*arguments: Any) -> Match:
        replayed.append(arguments)
        return replay_transcript(*arguments)

    monkeypatch.setattr(match_archive, "replay_transcript", noted)
    lengths = []
    for turns in (2, 12):
        referee = begun(turns)
        warm = watched(referee, 1)
        referee.open_desk()
        assert not replayed
        lengths.append(len(watched(referee, 1, 2)) - len(warm))
        watched(referee, 1, 3)
        assert len(replayed) == 1
        replayed.clear()
    assert lengths[1] - lengths[0] == 10 * 2


def test_no_letter_that_is_refused_makes_a_match_cold(
    begun: Callable[..., Referee], monkeypatch: pytest.MonkeyPatch
) -> None:
    referee = begun()
    ann, bob = referee.people.values()
    referee.match()
    monkeypatch.setattr(match_archive, "replay_transcript", None)
    referee.send(ann, "list nothing of the kind\n")
    referee.send(bob, bob.filled("orders", "Xx9"))
    assert "Xx9" in body(bob.letters[-1])
    referee.send(ann, ann.filled("orders", ORDERS))
    assert referee.match().orders


def test_a_decision_that_is_made_again_goes_on_from_the_match_in_memory(
    begun: Callable[..., Referee], monkeypatch: pytest.MonkeyPatch
) -> None:
    referee = begun()
    ann, bob = referee.people.values()
    referee.send(ann, ann.filled("orders", f"final\n{ORDERS}"))
    fails = Mock(side_effect=RuntimeError)
    with monkeypatch.context() as patched:
        patched.setattr(match_archive, "replay_transcript", None)
        with patched.context() as once:
            once.setattr(referee.desk.inbox, "done", fails)
            raw = referee.raw(bob, referee.signed(bob, bob.filled("orders", f"final\n{ORDERS}")))
            referee.inbox.put(Envelope(bob.address, ("pbem@play.example",)), raw, referee.now)
            referee.running.handle_next(referee.now)
        assert fails.called
        assert referee.match().turn == 3
        referee.work()
        assert referee.match().turn == 4
    referee.read_cold()


def test_a_warm_match_keeps_what_its_readers_know_and_no_reports_of_earlier_turns(
    begun: Callable[..., Referee],
) -> None:
    kept = []
    for turns in (29, 10, 30):  # the first fills what all matches share
        referee = begun(turns)
        referee.open_desk()
        tracemalloc.start()
        match = referee.match()
        assert len(match.turns) == turns
        gc.collect()
        kept.append(tracemalloc.get_traced_memory()[0])
        tracemalloc.stop()
    assert (kept[2] - kept[1]) / 20 < 1024, kept


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


def test_what_a_match_knew_stays_when_another_goes_on_from_it(begun: Callable[..., Referee]) -> None:
    """A decision may be made again from the match that is kept: it is not to lose what the first try went on from."""
    referee = begun(4)
    before = referee.match()
    knew = [known(before, reader) for reader in (1, 2, None)]
    referee.turn(*((person, ORDERS) for person in referee.people.values()))
    assert [known(before, reader) for reader in (1, 2, None)] == knew
    assert [known(referee.match(), reader) for reader in (1, 2, None)] != knew


def test_a_view_goes_on_from_the_turn_before(begun: Callable[..., Referee], monkeypatch: pytest.MonkeyPatch) -> None:
    """What a turn told is cut and folded once, however many turns follow; and nothing else comes of it."""
    referee = begun(6)
    match, whole = referee.match(), referee.desk.archive._replayed(1)
    rules = match.rules
    assert match.position is not None
    for seat in (1, 2, None):
        anew = parts.view(rules, match.position, seat, [list(reports) for reports in whole.shown(seat)])
        assert match.view(seat) == anew
    cut: list[object] = []
    show = rules.show

    def noted(report: Report, seat: int | None) -> Report | None:
        cut.append(report)
        return show(report, seat)

    monkeypatch.setattr(rules, "show", noted)
    referee.turn(*((person, ORDERS) for person in referee.people.values()))
    assert len(cut) <= 3 * 2 * 7  # for each seat and the public, the strikes of one turn


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


class Sink:
    """Takes every letter, after a moment in which others may go on."""

    async def send(self, _sender: str, _recipient: str, _raw: bytes) -> str:
        await asyncio.sleep(0)
        return "taken"

    async def rest(self) -> None:
        """Nothing was kept."""


@pytest.mark.parametrize("letters", [1, 200])
def test_letters_that_go_out_share_their_commits_and_their_ways_to_the_store(tmp_path: Path, letters: int) -> None:
    """One letter is two commits, its attempt and what came of it; many are ten each, at most."""
    now = datetime(2026, 11, 21, 12, tzinfo=UTC)
    heard: list[str] = []
    ways = 0
    with Database(tmp_path / "store.db") as database, ThreadPoolExecutor(1) as thread:
        outbox = Outbox(database, Vault(bytes(32), os.urandom))
        with database.transaction():
            for number in range(letters):
                outbox.put("anna@mail.example", f"<{number}@play.example>", b"letter", now)
        connection(database).set_trace_callback(heard.append)

        async def run(call: Callable[[*Arguments], T], /, *arguments: *Arguments) -> T:
            nonlocal ways
            ways += 1
            return await asyncio.get_running_loop().run_in_executor(thread, call, *arguments)

        async def main() -> None:
            left = letters
            done = asyncio.Event()

            def settled(point: str) -> None:
                nonlocal left
                left -= point == "sending settled"
                if not left:
                    done.set()

            deliverer = Deliverer(
                outbox,
                Sink(),
                Delivery(),
                TaskServices(lambda: now, run),
                address="pbem@play.example",
                delimiter="+",
                points=settled,
            )
            work = asyncio.create_task(deliverer.work())
            await asyncio.wait_for(done.wait(), 20)
            deliverer.stop()
            await work

        asyncio.run(main())
        assert outbox.count("delivered") == letters
    most = 2 if letters == 1 else letters // 10
    assert heard.count("COMMIT") <= most
    assert ways <= most + 3  # and to find that nothing is left


@pytest.mark.long
@pytest.mark.parametrize("format_", ["ladder", "swiss", "round robin"])
def test_a_hundred_and_twenty_eight_hold_the_store_for_moments(
    tmp_path: Path, format_: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Start, ruling, table and end take at most 0.2 s of processor time a transaction; the last letter is small."""
    held: list[float] = []
    real = Database.transaction

    @contextmanager
    def timed(database: Database, **how: Any) -> Iterator[None]:
        began = time.process_time()
        with real(database, **how):
            yield
        held.append(time.process_time() - began)

    monkeypatch.setattr(strangers, "NEW_MAILBOX", DailyLimit("{} at {}", 200))  # all are of one domain, on one day
    referee = Referee(tmp_path)
    club = Club(referee, *(f"p{number:03}" for number in range(128)))
    club.announce("p000", f"format: {format_}\nentrants: 128\n{'at-once: 2' if 'robin' in format_ else ''}")
    first, *others, last = club.people
    club.enter(first, *others)
    for name in club.people:
        club.say(name, "set mail digest")
    monkeypatch.setattr(Database, "transaction", timed)
    club.enter(last)
    if format_ == "ladder":
        club.say(last, f"challenge t1 {others[-1]}")
    match = next(pairing.match for pairing in club.awaited if first not in pairing.names)
    assert RULED in club.say(first, f"rule t1 annul {match}\nreason: by error\nend")
    with referee.database.transaction():
        referee.desk.tournaments.tell_table(1)
    referee.work()
    assert RULED in club.say(first, "rule t1 close\nreason: enough\nend")
    assert max(held) <= 0.2
    ends = [one for one in club.people[last].letters if "it is over" in str(one["Subject"])]
    assert [len(bytes(one)) < 1 << 20 for one in ends] == [True]
    referee.close()
