"""The order of the inbox: players from where they wrote before, from elsewhere, strangers; each by arrival."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest
from in_a_box.boxes import Inbox
from in_a_box.stores import place

from pbem.store.database import Database
from pbem.store.inbox import ALONE, BATCH, FEW, Envelope, Look
from pbem.store.questions import RANKS, Lookups
from pbem.store.vault import Vault

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


NOW = datetime(2026, 11, 22, 12, tzinfo=UTC)
PLAYERS = ("ann", "bob", "cleo")


class Queue:
    """An inbox in which it is known whose letter is whose."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self.inbox = Inbox(database, Vault(bytes(32)))
        self.names: dict[int, str] = {}
        with database.transaction():
            for name in PLAYERS:
                database.write("INSERT INTO players VALUES (?, ?, '2026')", (name, f"{name}@mail.example"))

    def put(self, names: str, size: int = 10, network: str = "") -> None:
        """Keep letters of these senders; `ann` and the other players are written by their first letters."""
        for letter in names:
            name = next((player for player in PLAYERS if player[0] == letter.lower()), letter)
            number = len(self.names) + 1
            envelope = Envelope(f"{name}@mail.example", ("pbem@play.example",), network)
            self.names[self.inbox.put(envelope, (b"%d" % number).ljust(size), NOW)] = letter

    def prove(self, name: str, network: str) -> None:
        """A letter comes from there, and is done, and it is proved whose it is."""
        self.put(name, network=network)
        (row,) = self.inbox.lease_some(1, NOW)
        with self.database.transaction():
            self.inbox.done(row.id, "ok", proved=True)

    def next(self, most: int = 8) -> str:
        """The senders of the letters that are leased, in order."""
        return "".join(self.names[row.id] for row in self.inbox.lease_some(most, NOW))


@pytest.fixture
def queue(tmp_path: Path) -> Iterator[Queue]:
    with Database(place(tmp_path / "a.db")) as database:
        yield Queue(database)


def test_players_letters_come_before_those_of_strangers_and_no_batch_has_both(queue: Queue) -> None:
    queue.put("x" * 10 + "bbbbbaaacaa")
    assert [queue.next() for _ in range(4)] == ["bbbbbaaa", "caa", "x" * 8, "xx"]


def test_who_writes_from_where_they_wrote_before_comes_first(queue: Queue) -> None:
    for name in "ab":
        queue.prove(name, "home")
    queue.put("c" + "x" * 3 + "c" * 4, network="elsewhere")
    queue.put("bab", network="home")
    assert [queue.next() for _ in range(3)] == ["bab", "c" * 5, "xxx"]


def test_a_batch_has_no_more_octets_than_it_may_but_for_a_single_letter(queue: Queue) -> None:
    queue.put("x" * 4, BATCH // 2)
    queue.put("x" * 2, 2 * BATCH)
    queue.put("x")
    assert [queue.next() for _ in range(5)] == ["xx", "xx", "x", "x", "x"]


def test_letters_of_one_sender_stay_in_the_order_in_which_they_came(queue: Queue) -> None:
    queue.put("abaab")
    first = queue.inbox.lease_some(2, NOW)
    queue.inbox.put(Envelope("ANN@mail.example", ("pbem@play.example",)), b"last", NOW)
    for row in first:
        queue.inbox.give_back(row.id)
    rows = [row for _ in range(3) for row in queue.inbox.lease_some(3, NOW)]
    for name in ("ann", "bob"):
        found = [row.id for row in rows if row.envelope.sender.lower() == f"{name}@mail.example"]
        assert found == sorted(found)
    assert len(rows) == 6


@pytest.mark.parametrize("networks", [1, 60])
def test_many_letters_in_a_name_from_elsewhere_delay_nobody_who_writes_from_where_he_wrote_before(
    queue: Queue, networks: int
) -> None:
    queue.prove("a", "home")
    queue.prove("b", "")
    for number in range(120):
        queue.put("abc", network=f"elsewhere {number % networks}")
    for _ in range(3):
        queue.next()
    queue.put("A", network="home")
    queue.put("B")
    assert queue.next()[:2] == "AB"


def asked_the_dns(queue: Queue, times: int) -> Lookups:
    """The letters that come first wait for the DNS, which has been asked for them."""
    lookups = Lookups(queue.database)
    for row in (row for _ in range(3) for row in queue.inbox.lease_some(8, NOW)):
        with queue.database.transaction():
            lookups.ask(row.id, ["slow.example"], times, NOW)
        queue.inbox.give_back(row.id)
    return lookups


def test_letters_in_a_name_that_wait_for_the_dns_delay_nobody_who_writes_from_where_he_wrote_before(
    queue: Queue,
) -> None:
    queue.prove("a", "home")
    queue.put("a" * 24, network="elsewhere")
    asked_the_dns(queue, 3)
    queue.put("c" * FEW, network="elsewhere")
    queue.put("A", network="home")
    queue.put("c" * 20, network="elsewhere")
    assert queue.next()[0] == "A"


def test_letters_in_a_name_that_waited_for_the_dns_come_not_before_who_came_meanwhile(queue: Queue) -> None:
    """Their sender may run the name server that answers at last."""
    queue.prove("a", "home")
    queue.put("a" * 24, network="elsewhere")
    lookups = asked_the_dns(queue, 1)
    queue.put("a", network="elsewhere")
    queue.put("A", network="home")
    for lookup in lookups.due(NOW, 1, 99):
        lookups.settle(lookup, "", NOW)
    assert queue.next()[0] == "A"


def test_a_letter_waits_for_each_answer_of_the_dns_and_clocks_wait_for_it_thereafter(queue: Queue) -> None:
    queue.put("x")
    lookups = Lookups(queue.database)
    (row,) = queue.inbox.lease_some(1, NOW)
    with queue.database.transaction():
        lookups.ask(row.id, ["one.example", "two.example"], 1, NOW, counts=False)
    queue.inbox.give_back(row.id)
    first, second = lookups.due(NOW, 0, 9)
    lookups.settle(first, "", NOW)
    lookups.settle(first, "", NOW)
    assert not queue.next()
    with queue.database.transaction():
        assert queue.inbox.oldest_unhandled() is None
    lookups.settle(second, "", NOW)
    with queue.database.transaction():
        assert queue.inbox.oldest_unhandled() == NOW
    assert queue.next() == "x"


def test_the_dns_is_asked_first_for_who_writes_from_where_he_wrote_before(queue: Queue) -> None:
    queue.prove("a", "home")
    queue.put("bc", network="elsewhere")
    queue.put("a", network="home")
    lookups = Lookups(queue.database)
    while rows := queue.inbox.lease_some(8, NOW):
        for row in rows:
            with queue.database.transaction():
                lookups.ask(row.id, ["silent.example"], 1, NOW)
            queue.inbox.give_back(row.id)
    assert [one.sender[0] for rank in RANKS for one in lookups.due(NOW, rank, 3)] == ["a", "b", "c"]


def test_where_a_letter_came_from_whose_sender_was_not_proved_is_nobodys_home(queue: Queue) -> None:
    queue.put("a", network="elsewhere")
    (row,) = queue.inbox.lease_some(1, NOW)
    with queue.database.transaction():
        queue.inbox.done(row.id, "ok")
    queue.prove("b", "elsewhere")
    queue.put("a" * 20 + "A", network="elsewhere")
    assert "".join(queue.next() for _ in range(3)) == "a" * 20 + "A"


def test_a_few_letters_of_one_sender_stay_in_order_wherever_they_came_from(queue: Queue) -> None:
    queue.prove("a", "home")
    queue.put("a" * (FEW - 1), network="phone")
    queue.put("A", network="home")
    queue.put("a", network="phone")
    assert queue.next() == "a" * (FEW - 1) + "Aa"


def test_a_letter_that_failed_has_its_turn_while_others_pour_in(queue: Queue) -> None:
    queue.put("a")
    (row,) = queue.inbox.lease_some(1, NOW)
    queue.inbox.give_back(row.id, failed=1)
    queue.put("b" * 8 * ALONE)
    assert [queue.next() for _ in range(ALONE)].count("a") == 1


def test_a_second_address_counts_once_it_is_confirmed(queue: Queue) -> None:
    with queue.database.transaction():
        for name, confirmed in (("w", "2026"), ("v", None)):
            queue.database.write(
                "INSERT INTO addresses VALUES (?, 'ann', 'c', '2026', ?)", (f"{name}@mail.example", confirmed)
            )
    queue.put("vw")
    assert queue.next() + queue.next() == "wv"


# Looks at a mailbox: since when letters may lie there.


LOOKED = datetime(2026, 11, 21, 12, tzinfo=UTC)
MINUTE = timedelta(minutes=1)


class Reading:
    """An inbox whose letters come from a mailbox, which is read each minute."""

    def __init__(self, database: Database) -> None:
        self.now = LOOKED
        self._database = database
        self._inbox = Inbox(database, Vault(bytes(32)), "games")
        self._count = 0

    def look(self, letters: int = 0) -> None:
        self.now += MINUTE
        for _ in range(letters):
            self._count += 1
            self._inbox.put(Envelope("ann@mail.example", ()), b"%d" % self._count, self.now)
        self._inbox.note_look(Look(self.now, self.now))

    def handle(self, received: datetime) -> None:
        """Handle what was received by then."""
        sql = "UPDATE inbox SET state = 'done' WHERE received <= ?"
        self._database.execute(sql, (received.isoformat().replace("+00:00", ".000000Z"),))

    @property
    def oldest(self) -> datetime:
        with self._database.transaction():
            found = self._inbox.oldest_unhandled()
        assert found is not None
        return found


@pytest.fixture
def reading(tmp_path: Path) -> Iterator[Reading]:
    with Database(place(tmp_path / "store")) as database:
        yield Reading(database)


def test_a_letter_may_have_lain_there_since_the_look_before(reading: Reading) -> None:
    reading.look()
    before = reading.now
    reading.look(1)
    came = reading.now
    for letters in (0, 1, 0):
        assert reading.oldest == before
        reading.look(letters)
    reading.handle(came)
    assert reading.oldest == came
    reading.handle(reading.now)
    assert reading.oldest == came, "what came since was known when the next look was awaited"
    reading.look()
    assert reading.oldest == reading.now


def test_letters_without_end_that_are_handled_slowly_put_off_nothing_for_ever(reading: Reading) -> None:
    """Each waits for name servers that do not answer."""
    for _ in range(100):
        reading.look(1)
        reading.handle(reading.now - 10 * MINUTE)
        assert reading.now - reading.oldest <= 23 * MINUTE
