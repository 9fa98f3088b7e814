"""Notifications on their way: over real sockets and TLS, to a double of ntfy, and wherever else a name leads."""

from __future__ import annotations

import asyncio
import socket
import ssl
from contextlib import closing
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest
from in_a_box.referee import Referee
from in_a_box.stores import place
from machines import ntfy_double
from machines.house import configured, move_in, run
from machines.ntfy_double import HOST, Message
from machines.waiting import at_once, one_round
from msgspec.structs import replace
from structlog.testing import capture_logs

from pbem.config.server import NotifyConfig
from pbem.networks import is_public
from pbem.server.desk_work import open_desk
from pbem.server.http_call import LEASE, Notifier, Unreachable, told
from pbem.smtp.rounds import TaskServices
from pbem.store.database import Database
from pbem.store.players import Players
from pbem.store.questions import Notifications, Topic
from pbem.store.vault import Vault

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from machines.ntfy_double import Ntfy

    from pbem.server.http_call import Tell

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
URL = "https://ntfy.example/Anns_phone"


@pytest.fixture
def ntfy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Ntfy]:
    """A server of topics, and a DNS that knows it alone."""
    with ntfy_double.serving(tmp_path) as ntfy:
        known = socket.getaddrinfo

        def look_up(host: str, port: int, **more: Any) -> Any:
            return known("127.0.0.1" if host == HOST else "no-such-host.invalid", port, **more)

        monkeypatch.setattr("pbem.server.http_call.socket.getaddrinfo", look_up)
        yield ntfy


def posted(tell: Tell, *words: str) -> int:
    async def scene() -> int:
        return await tell(*words)

    return asyncio.run(scene())


def loopback(address: str) -> bool:
    return address == "127.0.0.1"


def test_a_line_reaches_the_topic_as_ntfy_takes_it(ntfy: Ntfy) -> None:
    tell = told(ntfy.trusting, loopback)
    assert posted(tell, f"https://{ntfy.host}/Anns_phone", "play.example", "Etwas ist fällig.") == 200
    assert ntfy.came == [Message("Anns_phone", "play.example", "Etwas ist fällig.")]


def test_no_address_that_is_not_public_is_connected_to(ntfy: Ntfy) -> None:
    with pytest.raises(Unreachable, match="no public address"):
        posted(told(ntfy.trusting), f"https://{ntfy.host}/t", "t", "x")
    assert not ntfy.came


def test_the_address_that_was_checked_is_the_one_connected_to(ntfy: Ntfy, monkeypatch: pytest.MonkeyPatch) -> None:
    """A name with two answers, one after the other: whoever asks again is led elsewhere."""
    asked: list[str] = []
    found = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", ntfy.port))]

    def rebind(host: str, _port: int, *_: Any, **__: Any) -> Any:
        asked.append(host)
        assert len([one for one in asked if one == HOST]) < 2, "looked up a second time"
        return found

    monkeypatch.setattr("pbem.server.http_call.socket.getaddrinfo", rebind)
    assert posted(told(ntfy.trusting, loopback), f"https://{ntfy.host}/t", "t", "x") == 200
    assert asked[0] == HOST


def test_the_certificate_must_be_the_hosts_and_of_somebody_trusted(ntfy: Ntfy, tmp_path: Path) -> None:
    with pytest.raises(Unreachable, match="CERTIFICATE_VERIFY_FAILED"):
        posted(told(None, loopback), f"https://{ntfy.host}/t", "t", "x")
    (tmp_path / "other").mkdir()
    with ntfy_double.serving(tmp_path / "other", "other.example") as other:
        with pytest.raises(Unreachable, match="CERTIFICATE_VERIFY_FAILED"):
            posted(told(other.trusting, loopback), f"https://{HOST}:{other.port}/t", "t", "x")
        assert not other.came
    assert ssl.create_default_context().verify_mode == ssl.CERT_REQUIRED


def test_no_redirection_is_followed(ntfy: Ntfy) -> None:
    ntfy.status, ntfy.location = 307, f"https://{ntfy.host}/elsewhere"
    assert posted(told(ntfy.trusting, loopback), f"https://{ntfy.host}/t", "t", "x") == 307
    assert len(ntfy.came) == 1


@pytest.mark.parametrize(
    "address",
    [
        *("127.0.0.1", "10.1.2.3", "172.16.0.1", "192.168.1.1", "169.254.169.254", "100.64.0.1", "0.0.0.0"),
        *(
            "224.0.0.1",
            "240.0.0.1",
            "255.255.255.255",
            "192.0.2.1",
            "::1",
            "::",
            "fe80::1%eth0",
            "fc00::1",
            "ff02::1",
        ),
        *("::ffff:127.0.0.1", "::127.0.0.1", "64:ff9b::7f00:1", "64:ff9b:1::a00:1", "2002:7f00:1::1"),
        *("2001::1", "2001:db8::1", "fec0::1", "feff::1", "", "ntfy.example", "127.1", "0x7f000001"),
    ],
)
def test_addresses_that_are_not_public(address: str) -> None:
    assert not is_public(address)


@pytest.mark.parametrize("address", ["1.1.1.1", "159.203.148.75", "2606:4700:4700::1111", "::ffff:1.1.1.1"])
def test_addresses_that_are_public(address: str) -> None:
    assert is_public(address)


@pytest.mark.parametrize("said", [b"POST /Anns_phone HTTP/1.1\r\n\r\n", b"\x1b[2J" * 2000 + b"\r\n"])
def test_what_no_http_says_is_not_repeated(ntfy: Ntfy, said: bytes) -> None:
    """Such as a line of the request: the topic is in it."""
    ntfy.said = said
    with pytest.raises(Unreachable) as found:
        posted(told(ntfy.trusting, loopback), f"https://{ntfy.host}/Anns_phone", "t", "x")
    assert str(found.value) == "BadStatusLine"


# The task.


class Case:
    """A store with a player's topic, a clock, and a network that does as it is told."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self.notifications = Notifications(database, Vault(bytes(32)))
        self.now = NOW
        self.said: list[int | None] = []
        self.told: list[tuple[str, str, str]] = []
        self.hosts = ["ntfy.example"]
        with database.transaction():
            Players(database).add("ann", "ann@mail.example", None, "2026-01-01T00:00:00Z")
            self.notifications.add("ann", Topic(URL, "abcdefgh"), NOW)
            self.notifications.confirm("ann", Topic(URL, "abcdefgh"))

    async def tell(self, url: str, title: str, text: str) -> int:
        self.told.append((url, title, text))
        status = self.said.pop(0) if self.said else 200
        if status is None:
            raise Unreachable("TimeoutError")
        return status

    def put(self, text: str) -> None:
        with self.database.transaction():
            self.notifications.tell("ann", text, self.now)

    def round(self) -> float:
        services = TaskServices(lambda: self.now, at_once)
        return one_round(Notifier(self.notifications, self.hosts, "play.example", services, self.tell))


@pytest.fixture
def case(tmp_path: Path) -> Iterator[Case]:
    with closing(Database(place(tmp_path / "store.sqlite"))) as database:
        yield Case(database)


@pytest.mark.parametrize("status", [None, 500, 503, 429])
def test_trouble_is_tried_three_times(case: Case, status: int | None) -> None:
    case.put("due")
    case.said = [status] * 9
    waits = []
    while case.notifications.next_due() is not None:
        case.now = case.notifications.next_due() or case.now
        case.round()
        if following := case.notifications.next_due():
            waits.append(following - case.now)
    assert waits == [timedelta(minutes=1), timedelta(minutes=10)]
    assert len(case.told) == 3
    assert case.notifications.failing(1) == "ann"
    case.put("again")
    case.said = []
    case.round()
    assert case.notifications.failing(1) is None, "only failures in a row count"


@pytest.mark.parametrize("status", [302, 400, 401, 403, 404, 413])
def test_what_is_refused_is_not_tried_again(case: Case, status: int) -> None:
    case.put("due")
    case.said = [status]
    case.round()
    assert case.notifications.next_due() is None
    assert case.notifications.failing(1) == "ann"


def test_the_outcome_of_an_older_text_does_not_lose_the_newer(case: Case) -> None:
    case.put("due")
    (old,) = case.notifications.due(case.now, case.now + LEASE, 9)
    case.put("newer")
    case.notifications.settle(old, arrived=True)
    case.notifications.postpone(old, case.now + timedelta(days=1))
    case.round()
    assert [text for _, _, text in case.told] == ["newer"]


def test_who_posted_and_died_is_followed_and_nothing_is_held_meanwhile(case: Case) -> None:
    case.put("due")
    assert len(case.notifications.due(case.now, case.now + LEASE, 9)) == 1
    assert not case.database.in_transaction
    case.round()
    assert not case.told
    case.now += LEASE
    case.round()
    assert len(case.told) == 1


def test_a_host_that_is_no_longer_allowed_gets_nothing(case: Case) -> None:
    case.put("due")
    case.hosts = ["other.example"]
    case.round()
    assert not case.told


def test_the_topic_is_in_no_log_and_not_in_the_store_in_clear(case: Case, tmp_path: Path) -> None:
    case.put("due")
    case.said = [None]
    with capture_logs() as logs:
        case.round()
    assert logs == [
        {
            "event": "notification failed",
            "host": "ntfy.example",
            "log_level": "warning",
            "tries": 1,
            "trouble": "TimeoutError",
        }
    ]
    found = b"".join(path.read_bytes() for path in tmp_path.glob("store.sqlite*"))
    assert b"Anns_phone" not in found


def test_a_daemon_posts_what_its_desk_stored(tmp_path: Path, ntfy: Ntfy) -> None:
    with closing(Referee(tmp_path)) as referee:
        ann = referee.registered("ann")
        referee.desk.config = referee.config
        url = f"https://{ntfy.host}/Anns_phone"
        with referee.database.transaction():
            referee.desk.notifications.add(ann.name, Topic(url, "abcdefgh", "a code"), referee.now)

    config = replace(
        configured(tmp_path, notify=NotifyConfig(hosts=(ntfy.host,))), store=place(tmp_path / "store.sqlite")
    )
    move_in(config, bytes(range(32)))
    run(
        config, lambda house: house.until(lambda: bool(ntfy.came)), desk=open_desk, tell=told(ntfy.trusting, loopback)
    )
    assert ntfy.came == [Message("Anns_phone", "play.example", "a code")]
