"""PostgreSQL alone: connections that break, sleepers in a transaction, and addresses that show no password."""

from __future__ import annotations

import ctypes
import re
import socket
import socketserver
import struct
import threading
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing, contextmanager, nullcontext, suppress
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import pytest
from in_a_box.boxes import Inbox, Outbox
from in_a_box.stores import POSTGRESQL, heard, of_postgresql, place
from machines.waiting import until
from store.test_deciding import beside

from pbem.store.database import Database
from pbem.store.errors import BusyError, DamagedError, FullError, StoreError
from pbem.store.inbox import ATTEMPTS, Envelope
from pbem.store.outbox import Sent
from pbem.store.owners import LEASE, Owners
from pbem.store.players import Players
from pbem.store.questions import Lookups, Notification, Notifications, Topic
from pbem.store.vault import Vault
from pbem.store_place import PostgresqlAddress

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = of_postgresql

SO_ATTACH_FILTER = 26  # of Linux; Python does not name it
NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
VAULT = Vault(bytes(32))


__all__ = ["beside"]


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    with Database(place(tmp_path / "store")) as database:
        yield database


def test_who_sleeps_in_a_transaction_is_cut_off(database: Database, beside: Database) -> None:
    beside.engine.run("SELECT set_config('idle_in_transaction_session_timeout', '1s', false)")
    with pytest.raises(BusyError), beside.transaction():  # noqa: PT012 - the body of a transaction
        beside.set_meta("kept", "1")
        assert beside.meta("kept") == "1"
        with database.transaction():  # it has its turn when the other is gone
            database.set_meta("kept", "2")
    assert database.meta("kept") == "2"


def test_a_table_that_a_later_version_changed_is_read_again(database: Database, beside: Database) -> None:
    query = "SELECT * FROM meta"
    for _ in range(8):
        beside.rows(query)
    with database.transaction():
        database.engine.migrate("ALTER TABLE meta ADD COLUMN more TEXT", database.engine.version)
    with pytest.raises(BusyError):
        beside.rows(query)
    assert beside.rows(query) == database.rows(query)


@pytest.mark.parametrize(
    ("state", "meaning"),
    [
        ("08006", BusyError),
        ("0A000", BusyError),
        ("25006", FullError),
        ("25P03", BusyError),
        ("26000", BusyError),
        ("40001", BusyError),
        ("40002", BusyError),
        ("40003", BusyError),
        ("40P01", BusyError),
        ("42501", StoreError),
        ("42P05", BusyError),
        ("53100", FullError),
        ("53200", BusyError),
        ("53300", BusyError),
        ("55P03", BusyError),
        ("57014", BusyError),
        ("57P01", BusyError),
        ("58030", FullError),
        ("58P01", FullError),
        ("XX001", DamagedError),
    ],
)
def test_what_is_no_letters_fault(database: Database, state: str, meaning: type[StoreError]) -> None:
    """Whatever else is said counts as an attempt at a letter, and three of them set it aside."""
    with pytest.raises(StoreError) as found, database.transaction():
        database.engine.run(f"DO $$ BEGIN RAISE SQLSTATE '{state}'; END $$")
    assert type(found.value) is meaning
    assert database.meta("") is None


def test_a_number_that_is_taken_back_is_given_again(database: Database) -> None:
    """As in SQLite: matches are numbered without gaps."""
    row = {"phase": "open", "terms": "{}", "head": "", "created": ""}
    with suppress(ValueError), database.transaction():
        assert database.insert("matches", "number", **row) == 1
        raise ValueError
    with database.transaction():
        assert [database.insert("matches", "number", **row) for _ in range(2)] == [1, 2]


def test_the_sendings_of_a_server_whose_time_is_over_are_others(database: Database, beside: Database) -> None:
    dead, living = Owners(database), Owners(beside)
    outbox = Outbox(database, VAULT, "dead.")
    with database.transaction():
        outbox.put("ann@mail.example", "<1@play.example>", b"answer", NOW)
        dead.renew("dead.", (), NOW)
    (sending,) = outbox.exchange((), NOW, 8).rows
    almost, then = NOW + LEASE - timedelta(seconds=1), NOW + LEASE
    for now, given_back in ((NOW, 0), (almost, 0), (then, 1)):
        with beside.transaction():
            living.renew("living.", (), now)
            assert living.release(now) == given_back
    assert living.alive(then) == ["living."]
    (again,) = Outbox(beside, VAULT, "living.").exchange((), then, 8).rows
    assert again.raw == sending.raw
    outbox.exchange([Sent(sending.id, "late", then, "failed")], then, 0)
    assert outbox.count("leased") == 1


def test_two_servers_post_no_text_twice(
    database: Database, beside: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    ours, theirs = Notifications(database, VAULT), Notifications(beside, VAULT)
    with database.transaction():
        Players(database).add("ann", "ann@mail.example", None, "2026-01-01T00:00:00Z")
        ours.add("ann", Topic("https://ntfy.example/t", "abcdefgh", "a code"), NOW)
    found: list[Future[list[Notification]]] = []

    def another_asks(point: str) -> None:
        if point == "transaction written" and not found:
            found.append(pool.submit(theirs.due, NOW, NOW + LEASE, 8))
            waiting = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
            until(lambda: database.scalar(waiting) == 1)

    monkeypatch.setattr(database, "_points", another_asks)
    with ThreadPoolExecutor(1) as pool:
        assert len(ours.due(NOW, NOW + LEASE, 8)) == 1
        assert found[0].result() == []


def test_who_does_not_decide_writes_beside_the_one_who_does(database: Database, beside: Database) -> None:
    """The intake waits for no decision; only one that finds nobody silent keeps letters out for its moment."""
    assert database.try_to_decide()
    inbox = Inbox(beside, VAULT)
    envelope = Envelope("ann@mail.example", ("pbem@play.example",))
    with database.transaction():
        database.set_meta("decides", "1")
        assert inbox.put(envelope, b"letter", NOW) == 1
        assert Inbox(database, VAULT).oldest_unhandled() == NOW
        beside.execute("SELECT set_config('lock_timeout', '50ms', false)")
        with pytest.raises(BusyError):
            inbox.put(envelope, b"another", NOW)


def test_a_letter_that_waits_for_a_decision_came_after_it(database: Database, beside: Database) -> None:
    """Otherwise it would have come in time, and its player would have missed the deadline all the same."""
    times = [NOW, NOW + LEASE]
    envelope = Envelope("ann@mail.example", ("pbem@play.example",))
    with ThreadPoolExecutor(1) as pool, closing(Database(database.place)) as third:
        with database.transaction():
            assert Inbox(database, VAULT).oldest_unhandled() is None
            found = pool.submit(Inbox(beside, VAULT).put_all, [(envelope, b"letter")], lambda: times[0])
            until(lambda: third.scalar("SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'") == 1)
            del times[0]
        assert found.result() == [1]
    with database.transaction():
        assert Inbox(database, VAULT).oldest_unhandled() == NOW + LEASE


def test_the_time_is_that_of_utc_wherever_the_database_is(database: Database) -> None:
    """Its zone would count the day's letters anew at another midnight, and wrong where clocks are put back."""
    assert isinstance(database.place, PostgresqlAddress)
    there = f"{database.place.url}{quote(' -c TimeZone=Pacific/Kiritimati -c DateStyle=German')}"
    with Database(PostgresqlAddress(there)) as elsewhere:
        assert elsewhere.engine.time(NOW).tzname() == "UTC"
        assert abs(elsewhere.engine.time(NOW) - database.engine.time(NOW)) < timedelta(hours=1)


def test_a_database_that_was_silent_takes_nothing_out_of_living_hands(database: Database, beside: Database) -> None:
    """It failed over, or one slept while all others waited for its lock: nobody could say that he lives."""
    one, other, inbox = Owners(database), Owners(beside), Inbox(database, VAULT)
    letter = inbox.put(Envelope("ann@mail.example", ("pbem@play.example",)), b"letter", NOW)
    inbox.lease(NOW)
    later = NOW + 3 * LEASE

    def goes_on(owners: Owners, name: str, now: datetime) -> int:
        with owners._database.transaction():
            owners.renew(name, (), now)
            return owners.release(now)

    for step in range(8):
        assert not goes_on(one, "one.", NOW + LEASE / 7 * step)
        assert not goes_on(other, "other.", NOW + LEASE / 7 * step)
    for step in range(14):
        assert not goes_on(other, "other.", later + LEASE / 7 * step)
        assert not goes_on(one, "one.", later + LEASE / 7 * step)
    with database.transaction():
        inbox.done(letter, "in time")


@contextmanager
def by_tcp(place: PostgresqlAddress) -> Iterator[tuple[PostgresqlAddress, list[socket.socket]]]:
    """The same store by TCP, and our ends of the connections to it."""
    from psycopg.conninfo import conninfo_to_dict  # noqa: PLC0415 - where it is not asked for it need not be there

    told = conninfo_to_dict(place.url)
    host, port = str(told["host"]), int(told.get("port") or 5432)
    ends: list[socket.socket] = []

    def there() -> socket.socket:
        if not host.startswith("/"):
            return socket.create_connection((host, port))
        line = socket.socket(socket.AF_UNIX)
        line.connect(f"{host}/.s.PGSQL.{port}")
        return line

    def carry(one: socket.socket, other: socket.socket) -> None:
        with suppress(OSError):
            while octets := one.recv(65536):
                other.sendall(octets)
            other.shutdown(socket.SHUT_WR)

    class Carrier(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            ends.append(self.request)
            with there() as line:
                back = threading.Thread(target=carry, args=(line, self.request))
                back.start()
                carry(self.request, line)
                line.shutdown(socket.SHUT_RDWR)
                back.join()

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Carrier) as server:
        threading.Thread(target=server.serve_forever, args=(0.02,)).start()
        where = f"{told['user']}@127.0.0.1:{server.server_address[1]}/{told['dbname']}"
        try:
            yield PostgresqlAddress(f"postgresql://{where}?options={quote(str(told['options']))}"), ends
        finally:
            server.shutdown()


def vanish(end: socket.socket) -> None:
    """Let no packet come to this end any more, nor an acknowledgement leave it: as if its machine had no power."""
    nothing = ctypes.create_string_buffer(struct.pack("HBBI", 0x06, 0, 0, 0))  # a filter of one instruction: return 0
    end.setsockopt(socket.SOL_SOCKET, SO_ATTACH_FILTER, struct.pack("HP", 1, ctypes.addressof(nothing)))


@pytest.mark.parametrize("in_a_transaction", [True, False])
def test_a_machine_whose_power_failed_is_waited_for_no_longer_than_by_it(
    database: Database, *, in_a_transaction: bool
) -> None:
    """It says no farewell; TCP by itself would try for a quarter of an hour."""
    from pbem.store.postgresql import SILENCE  # noqa: PLC0415 - which needs its library

    assert isinstance(database.place, PostgresqlAddress)
    with by_tcp(database.place) as (place, ends), Database(place) as far, ThreadPoolExecutor(1) as thread:

        def speak() -> None:
            with far.transaction() if in_a_transaction else nullcontext():
                vanish(ends[-1])
                far.meta("kept")

        try:
            with pytest.raises(BusyError):
                thread.submit(speak).result(2.5 * SILENCE)
        finally:
            for end in ends:
                end.shutdown(socket.SHUT_RDWR)


def test_what_is_said_of_a_database_that_cannot_be_reached_holds_no_secret(caplog: pytest.LogCaptureFixture) -> None:
    for url in (
        "postgresql://pbem:s3cr3t@127.0.0.1:1/games",
        "postgresql://pbem:s3cr3t@nowhere.invalid/games?x=s3cr3t",
    ):
        with pytest.raises(StoreError) as found:
            Database(PostgresqlAddress(url))
        assert "s3cr3t" not in f"{found.value}{found.value.__cause__}{found.value.__context__}{caplog.text}"


def test_a_strangers_text_with_nul_is_kept_without_it(database: Database) -> None:
    with database.transaction():
        database.set_meta("record", "v=DKIM1\0;")
        database.write("UPDATE meta SET value = value || :more WHERE name = 'record'", {"more": "\0"})
    assert database.meta("record") == "v=DKIM1\ufffd;\ufffd"


def test_a_backup_is_refused_and_says_how_it_is_made(database: Database, tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="pg_dump"):
        database.engine.backup(tmp_path / "backup")
    assert not list(tmp_path.iterdir())


def test_what_is_no_store_of_ours_is_left_alone(tmp_path: Path) -> None:
    import psycopg  # noqa: PLC0415 - an extra

    address = place(tmp_path / "foreign")
    assert isinstance(address, PostgresqlAddress)
    with psycopg.connect(address.url, autocommit=True) as connection:
        connection.execute("CREATE TABLE customers (name TEXT)")
    with pytest.raises(StoreError, match="none of pbem"):
        Database(address)
    with pytest.raises(StoreError, match="there is no store"):
        Database(place(tmp_path / "nothing"), migrate=False)
    assert POSTGRESQL


@pytest.mark.parametrize("waits", [False, True])
def test_the_next_letters_are_found_without_a_look_at_all_of_them(database: Database, *, waits: bool) -> None:
    """Rows are counted as they are read, those too that are dropped then."""
    inbox = Inbox(database, VAULT)
    letters = [(Envelope(f"{number}@mail.example", ("pbem@play.example",)), b"%d" % number) for number in range(400)]
    inbox.put_all(letters, lambda: NOW)
    if waits:
        with database.transaction():
            for row in range(9, 401):
                Lookups(database).ask(row, ["slow.example"], 3, NOW)
    asked = heard(database)
    assert [row.id for row in inbox.lease_some(8, NOW)] == list(range(1, 9))
    assert inbox.stranded() == []
    queries = [statement for statement in asked if statement.startswith("SELECT id")]
    line: Any = database.engine
    for query, value in zip(queries, (8, ATTEMPTS), strict=True):
        plan = "\n".join(
            row[0] for row in line.connection.execute(f"EXPLAIN (ANALYZE, TIMING OFF) {query}", (value,))
        )
        # From version 18 on with two decimals.
        assert max(map(float, re.findall(r"actual rows=([\d.]+)", plan))) <= 8, plan
        assert "Removed" not in plan, plan
