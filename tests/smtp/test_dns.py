"""Asking the DNS: answers, silence, later tries, and real questions over a loopback socket."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import dns.asyncresolver
import dns.flags
import dns.message
import dns.rcode
import dns.resolver
import dns.rrset
import pytest
from in_a_box.boxes import Inbox
from machines.named_server import name_server
from machines.waiting import at_once

from pbem.smtp.dns import AT_ONCE, DnsAsker, DnsUnreachable, txt
from pbem.smtp.rounds import TaskServices
from pbem.store.database import Database
from pbem.store.inbox import Envelope
from pbem.store.questions import Lookups
from pbem.store.vault import Vault

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
NAME = "s1._domainkey.mail.example"


class Case:
    """Two letters in a store, a clock, and a DNS that does as it is told."""

    def __init__(self, database: Database) -> None:
        self.inbox = Inbox(database, Vault(bytes(32), bytes))
        self.lookups = Lookups(database)
        self.database = database
        self.now = NOW
        self.answers: dict[str, str | None] = {}
        self.woken = 0
        self.first, self.second = (
            self.inbox.put(Envelope(f"{number}@mail.example", ("pbem@play.example",)), b"letter", NOW)
            for number in (1, 2)
        )
        self.asker = DnsAsker(self.lookups, self.resolve, TaskServices(lambda: self.now, at_once, self.wake))

    def wake(self) -> None:
        self.woken += 1

    async def resolve(self, name: str) -> str:
        answer = self.answers[name]
        if answer is None:
            raise DnsUnreachable("Timeout")
        return answer

    def ask(self, letter: int, *names: str, tries: int = 4) -> None:
        with self.database.transaction():
            self.lookups.ask(letter, names, tries, self.now)

    def round(self) -> None:
        async def scene() -> None:
            await self.asker._round()
            await asyncio.gather(*self.asker._under_way)

        asyncio.run(scene())

    def leased(self) -> list[int]:
        """The letters that the desk is given."""
        found = []
        while row := self.inbox.lease(self.now):
            found.append(row.id)
        self.inbox.release_all()
        return found


@pytest.fixture
def case(tmp_path: Path) -> Iterator[Case]:
    with Database(tmp_path / "store.sqlite") as database:
        yield Case(database)


def test_a_letter_waits_and_others_do_not(case: Case) -> None:
    case.ask(case.first, NAME, "s2._domainkey.mail.example")
    assert case.leased() == [case.second]
    case.answers = {NAME: "v=DKIM1; p=x", "s2._domainkey.mail.example": ""}
    case.round()
    assert case.woken == 2
    assert case.lookups.found([case.first])[case.first] == {
        NAME: "v=DKIM1; p=x",
        "s2._domainkey.mail.example": "",
    }
    assert case.lookups.found([case.second]) == {}
    assert sorted(case.leased()) == [case.first, case.second]


def test_asked_again_later_and_at_last_given_up(case: Case) -> None:
    case.ask(case.first, NAME)
    case.answers = {NAME: None}
    waits = []
    for _ in range(4):
        assert case.first not in case.leased()
        case.round()
        due = case.lookups.next_due(case.now)
        waits.append((due - case.now) if due else None)
        case.now = due or case.now
    assert waits == [timedelta(minutes=1), timedelta(minutes=5), timedelta(minutes=30), None]
    assert case.lookups.found([case.first]) == {case.first: {NAME: None}}
    assert case.first in case.leased()


SILENT = "s1._domainkey.silent.example"


def _waiting(case: Case, sender: str, name: str, number: int = 0) -> int:
    """A letter that waits for a name."""
    letter = case.inbox.put(Envelope(sender, ("pbem@play.example",)), b"letter %d" % number, NOW)
    case.ask(letter, name)
    return letter


def _comes_through(case: Case, sender: str) -> bool:
    """True if a letter that comes now is settled while the name servers of others say nothing."""

    async def resolve(name: str) -> str:
        await asyncio.sleep(3600 if name == SILENT else 0)
        return "v=DKIM1; p=x"

    async def some_time() -> None:
        for _ in range(50):
            await asyncio.sleep(0)

    async def scene() -> bool:
        asker = DnsAsker(case.lookups, resolve, TaskServices(lambda: case.now, at_once, case.wake))
        task = asyncio.create_task(asker.work())
        await some_time()
        letter = _waiting(case, sender, NAME)
        asker.wake.set()
        await some_time()
        assert len(asker._under_way) <= AT_ONCE
        asker.stop()
        await task
        assert not asker._under_way
        return case.lookups.found([letter]) == {letter: {NAME: "v=DKIM1; p=x"}}

    return asyncio.run(scene())


@pytest.fixture
def players(case: Case) -> None:
    for name in ("ann", "bob"):
        case.database.execute(
            "INSERT INTO players (name, address, created) VALUES (?, ?, '')", (name, f"{name}@mail.example")
        )


@pytest.mark.usefixtures("players")
def test_strangers_whose_name_servers_say_nothing_keep_no_player_waiting(case: Case) -> None:
    for number in range(3 * AT_ONCE):
        _waiting(case, f"{number}@silent.example", SILENT)
    assert _comes_through(case, "Ann@mail.example")


@pytest.mark.usefixtures("players")
@pytest.mark.parametrize(
    ("many", "one"), [("bob@mail.example", "ann@mail.example"), ("1@silent.example", "new@mail.example")]
)
def test_many_in_a_players_name_keep_no_other_player_waiting(case: Case, many: str, one: str) -> None:
    """Nor many of a stranger another stranger."""
    for number in range(3 * AT_ONCE):
        _waiting(case, many, SILENT, number)
    assert _comes_through(case, one)


# Over a socket.


def asked(port: int, name: str = NAME) -> str:
    resolver = dns.asyncresolver.Resolver(configure=False)
    resolver.nameservers, resolver.port = ["127.0.0.1"], port
    return asyncio.run(_ask(resolver, name))


async def _ask(resolver: dns.asyncresolver.Resolver, name: str) -> str:
    return await txt(resolver)(name)


def test_real_questions() -> None:
    records = {
        NAME: f"v=DKIM1; k=rsa; p={'A' * 300}",
        "two._domainkey.mail.example": ["v=DKIM1; p=A", "v=DKIM1; p=B"],
    }
    with name_server(records) as port:
        assert asked(port) == records[NAME], "in two pieces"
        assert asked(port, "two._domainkey.mail.example") == ""
        assert asked(port, "none._domainkey.mail.example") == ""
    with name_server({}, dns.rcode.NXDOMAIN) as port:
        assert asked(port) == ""
    with name_server({}, dns.rcode.SERVFAIL) as port, pytest.raises(DnsUnreachable, match="NoNameservers"):
        asked(port)


def test_few_answers_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """The cache drops the names that were unused for longest."""
    monkeypatch.setattr("pbem.smtp.dns.CACHED", 20)
    records = {f"s{number}.mail.example": "v=DKIM1" for number in range(21)}
    with name_server(records) as port:
        resolver = dns.asyncresolver.Resolver(configure=False)
        resolver.nameservers, resolver.port = ["127.0.0.1"], port
        monkeypatch.setattr("dns.asyncresolver.Resolver", lambda: resolver)

        async def scene() -> None:
            resolve = txt()
            for name in records:
                assert await resolve(name) == "v=DKIM1"

        asyncio.run(scene())
    assert isinstance(resolver.cache, dns.resolver.LRUCache)
    assert len(resolver.cache.data) == 20
