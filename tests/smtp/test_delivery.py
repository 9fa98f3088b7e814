"""Delivery against a smarthost that does as it is told: same bytes, again later, or never."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import os
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest
from aiosmtpd.smtp import SMTP
from in_a_box.boxes import Outbox
from machines.waiting import at_once
from world.listening import free_port

from pbem.config.mail import Delivery, SmarthostConfig
from pbem.config.values import Duration
from pbem.smtp import delivery
from pbem.smtp.delivery import Deliverer, Smarthost, Temporary, retry_time
from pbem.smtp.rounds import TaskServices
from pbem.store.database import Database
from pbem.store.errors import BusyError, FullError
from pbem.store.vault import Vault

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
    from pathlib import Path

    from pbem.store.outbox import Leased, Sent

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
RAW = b"Message-ID: <1@play.example>\r\n\r\n.\r\n..dots\r\nFrom here \r\n"


class Script:
    """A smarthost whose replies to RCPT are taken from a list, the last one for ever."""

    def __init__(self) -> None:
        self.rcpt = ["250 ok"]
        self.received: list[tuple[str, str, bytes]] = []
        self.sessions: list[SMTP] = []
        self.quits = 0

    async def handle_QUIT(self, _server: SMTP, _session: Any, _envelope: Any) -> str:
        self.quits += 1
        return "221 bye"

    async def handle_RCPT(self, _s: Any, _session: Any, envelope: Any, address: str, _options: list[str]) -> str:
        reply = self.rcpt.pop(0) if len(self.rcpt) > 1 else self.rcpt[0]
        if reply.startswith("2"):
            envelope.rcpt_tos.append(address)
        return reply

    async def handle_DATA(self, _server: SMTP, _session: Any, envelope: Any) -> str:
        self.received.append((envelope.mail_from, envelope.rcpt_tos[0], envelope.original_content))
        return "250 taken"


class Post:
    """A store with an outbox, a scripted smarthost, a clock set by hand, and the deliverer between them."""

    def __init__(self, database: Database, port: int, script: Script, schedule: Delivery) -> None:
        self.database = database
        self.script = script
        self.outbox = Outbox(database, Vault(bytes(32), os.urandom))
        self.now = NOW
        self.settled = 0
        self.deliverer = Deliverer(
            self.outbox,
            smarthost(port),
            schedule,
            TaskServices(lambda: self.now, at_once, self.settle),
            address="pbem@play.example",
            delimiter="+",
        )

    def settle(self) -> None:
        self.settled += 1

    def put(self, number: int = 1, recipient: str = "anna@example.org") -> int:
        with self.database.transaction():
            self.outbox.put(recipient, f"<{number}@play.example>", RAW, NOW)
        return self.outbox.number(recipient, f"<{number}@play.example>")

    async def send(self, letters: int = 1) -> None:
        """Put letters, and wake the deliverer."""
        for number in range(letters):
            self.put(number)
        self.deliverer.wake.set()

    async def delivered(self, letters: int = 1) -> None:
        await self.until(lambda: self.outbox.count("delivered") == letters)

    async def until(self, condition: Callable[[], bool]) -> None:
        """Wait until the deliverer brought something about."""
        while not condition():  # noqa: ASYNC110 - the condition is the store's state, not an event of ours
            await asyncio.sleep(0.01)


def smarthost(port: int, **more: Any) -> Smarthost:
    return Smarthost(
        SmarthostConfig(host="127.0.0.1", port=port, timeout=Duration(seconds=2), **more), server="play.example"
    )


@contextlib.asynccontextmanager
async def scripted(script: Script, port: int) -> AsyncIterator[None]:
    loop = asyncio.get_running_loop()

    def session() -> SMTP:
        script.sessions.append(SMTP(script, hostname="smarthost.example", loop=loop))
        return script.sessions[-1]

    server = await loop.create_server(session, "127.0.0.1", port)
    try:
        yield
    finally:
        server.close()
        for open_session in script.sessions:
            if open_session.transport is not None:
                open_session.transport.close()
        await asyncio.sleep(0.01)


def play(
    folder: Path,
    scene: Callable[[Post], Awaitable[None]],
    schedule: Delivery | None = None,
    *,
    listening: bool = True,
) -> None:
    """Play a scene while the deliverer works."""

    async def main() -> None:
        script, port = Script(), free_port()
        with Database(folder / "store.db") as database:
            post = Post(database, port, script, schedule or Delivery())
            async with scripted(script, port) if listening else contextlib.nullcontext():
                working = asyncio.create_task(post.deliverer.work())
                try:
                    await asyncio.wait_for(scene(post), 20)
                finally:
                    post.deliverer.stop()
                    await working

    asyncio.run(main())


def test_no_more_letters_leave_in_a_day_than_the_provider_takes(tmp_path: Path) -> None:
    async def scene(post: Post) -> None:
        await post.send(5)
        await post.delivered(3)
        post.deliverer.wake.set()
        await asyncio.sleep(0.05)
        assert post.outbox.count("waiting") == 2
        post.now += timedelta(hours=24, seconds=1)
        post.deliverer.wake.set()
        await post.delivered(5)

    play(tmp_path, scene, Delivery(per_day=3, concurrency=2))


@pytest.mark.parametrize("at", [1, 2])
def test_a_store_that_fails_at_the_count_of_the_day_forgets_no_letter(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at: int
) -> None:
    """Neither one that is to be sent nor one that was sent already, of which the store does not know yet."""
    monkeypatch.setattr(delivery, "TROUBLE_WAIT", 0.01)

    async def scene(post: Post) -> None:
        count, calls = post.outbox.delivered_since, itertools.count(1)

        def failing(time: datetime) -> int:
            if next(calls) == at:
                raise FullError("the disk does not work")
            return count(time)

        monkeypatch.setattr(post.outbox, "delivered_since", failing)
        await post.send()
        await post.delivered()
        assert len(post.script.received) == 1

    play(tmp_path, scene, Delivery(per_day=3))


def test_a_letter_leaves_exactly_as_stored_with_an_address_for_its_bounce(tmp_path: Path) -> None:
    async def scene(post: Post) -> None:
        number = post.put()
        post.deliverer.wake.set()
        await post.delivered()
        token = post.database.scalar("SELECT token FROM outbox")
        assert post.script.received == [(f"pbem+b{token}@play.example", "anna@example.org", RAW)]
        returned = post.outbox.returned(token)
        assert returned is not None
        assert returned.id == number
        assert post.database.scalar("SELECT reply FROM outbox") == "taken"

    play(tmp_path, scene)


def test_5xx_about_the_letter_stops_it_and_is_told(tmp_path: Path) -> None:
    async def scene(post: Post) -> None:
        post.script.rcpt = ["550 5.1.1 no such user"]
        await post.send()
        await post.until(lambda: bool(post.outbox.failures()))
        (failure,) = post.outbox.failures()
        assert failure.reply == "550 5.1.1 no such user"
        assert failure.attempts == 1
        await post.until(lambda: post.settled == 1)

    play(tmp_path, scene)


def test_no_smarthost_at_all_is_temporary_until_the_letter_is_too_old(tmp_path: Path) -> None:
    async def scene(post: Post) -> None:
        post.put()
        waits = []
        for _ in range(100):
            post.deliverer.wake.set()
            await post.until(lambda: not post.outbox.count("leased") and post.outbox.next_due() != post.now)
            due = post.outbox.next_due()
            if due is None:
                break
            waits.append((due - post.now).total_seconds())
            post.now = due
        assert waits[:9] == [60, 120, 240, 480, 960, 1920, 3840, 7680, 15360]
        assert set(waits[9:]) == {6 * 3600}
        assert timedelta(days=5) - timedelta(hours=6) < post.now - NOW <= timedelta(days=5)
        (failure,) = post.outbox.failures()
        assert "given up after" in failure.reply

    play(tmp_path, scene, listening=False)


def test_letters_of_one_burst_share_a_connection_that_is_closed_when_it_is_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(delivery, "KEPT", 0.1)

    async def scene(post: Post) -> None:
        post.script.rcpt = ["250 ok", "550 no", "250 ok"]
        await post.send(10)
        await post.delivered(9)
        await post.until(lambda: post.script.quits == 1)
        assert len(post.script.sessions) == 1
        post.put(11)
        post.deliverer.wake.set()
        await post.delivered(10)
        assert len(post.script.sessions) == 2

    play(tmp_path, scene, Delivery(concurrency=1))


@pytest.mark.parametrize("trouble", ["before a lease", "after a lease", "after a sending"])
def test_a_letter_leaves_once_whatever_trouble_there_is_in_the_store(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, trouble: str
) -> None:
    """An error of ours, a commit whose answer was lost, a disk without room."""
    monkeypatch.setattr(delivery, "TROUBLE_WAIT", 0.01)

    async def scene(post: Post) -> None:
        exchange, left = post.outbox.exchange, [1] * 5

        def failing(sent: Sequence[Sent], now: datetime, most: int) -> Leased:
            if trouble == "before a lease" and left:
                left.pop()
                raise ZeroDivisionError
            if trouble == "after a sending" and sent and left:
                left.pop()
                raise FullError("no room")
            leased = exchange(sent, now, most)
            if trouble == "after a lease" and leased.rows and left:
                left.clear()
                raise BusyError("the answer was lost")
            return leased

        monkeypatch.setattr(post.outbox, "exchange", failing)
        await post.send()
        await post.delivered()
        assert not left
        assert len(post.script.received) == 1

    play(tmp_path, scene)


class Slow:
    """Takes a letter when it is told to."""

    def __init__(self) -> None:
        self.begun: list[str] = []
        self.free: set[str] = set()

    async def send(self, _sender: str, recipient: str, _raw: bytes) -> str:
        self.begun.append(recipient)
        while recipient not in self.free:  # noqa: ASYNC110 - a few letters, a few milliseconds
            await asyncio.sleep(0.001)
        return "taken"

    async def rest(self) -> None:
        """There is no connection to close."""


def slowly(folder: Path, letters: int, scene: Callable[[Post, Slow], Awaitable[None]]) -> None:
    """Play a scene with so many letters, to p0@example.org and so on, two of them under way at once."""

    async def main() -> None:
        with Database(folder / "store.db") as database:
            post, slow = Post(database, 1, Script(), Delivery(concurrency=2)), Slow()
            post.deliverer.transport = slow
            for number in range(letters):
                post.put(number, f"p{number}@example.org")
            working = asyncio.create_task(post.deliverer.work())
            try:
                await asyncio.wait_for(scene(post, slow), 20)
            finally:
                post.deliverer.stop()
                slow.free |= {f"p{number}@example.org" for number in range(letters)}
                await working

    asyncio.run(main())


def test_what_came_of_a_letter_does_not_wait_for_those_that_take_long(tmp_path: Path) -> None:
    """A letter that was taken is noted although there are many in hand, and none of them comes to its end."""

    async def scene(post: Post, slow: Slow) -> None:
        slow.free.add("p1@example.org")
        await post.delivered()
        assert slow.begun == ["p0@example.org", "p1@example.org", "p2@example.org"]
        assert post.outbox.count("leased") > 10

    slowly(tmp_path, 100, scene)


def test_what_is_in_hand_at_the_end_waits_as_if_it_had_never_been_taken(tmp_path: Path) -> None:
    async def scene(post: Post, slow: Slow) -> None:
        await post.until(lambda: len(slow.begun) == 2)
        post.deliverer.stop()
        await asyncio.sleep(0.05)
        assert post.outbox.count("leased") == 2
        assert post.database.scalar("SELECT sum(attempts) FROM outbox") == 2
        slow.free |= {"p0@example.org", "p1@example.org"}
        await post.delivered(2)
        assert len(slow.begun) == 2
        assert post.outbox.count("waiting") == 98

    slowly(tmp_path, 100, scene)


def test_what_hangs_at_the_end_is_waited_for_a_while_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pbem.smtp.delivery.PATIENCE", 0.1)

    async def scene(post: Post, slow: Slow) -> None:
        await post.until(lambda: len(slow.begun) == 2)
        post.deliverer.stop()
        await asyncio.wait_for(post.until(lambda: not post.deliverer._senders), 10)
        assert post.outbox.count("delivered") == 0

    slowly(tmp_path, 2, scene)


def test_a_letter_that_cannot_be_opened_stays_out_of_the_others_way(tmp_path: Path) -> None:
    async def scene(post: Post) -> None:
        for number in range(1, 4):
            post.put(number)
        post.database.execute("UPDATE outbox SET raw = x'01' WHERE id = 2")
        post.deliverer.wake.set()
        await post.delivered(2)
        assert post.outbox.count("leased") == 1

    play(tmp_path, scene)


def test_a_smarthost_without_starttls_gets_nothing_when_it_is_demanded() -> None:
    async def main() -> None:
        script, port = Script(), free_port()
        async with scripted(script, port):
            with pytest.raises(Temporary):
                await smarthost(port, tls="starttls").send("pbem@play.example", "anna@example.org", RAW)
        assert script.received == []

    asyncio.run(main())


def test_case_38_a_letter_is_given_up_for_no_outage() -> None:
    """It is old at once, and had no attempts."""
    year = timedelta(days=365)
    assert retry_time(Delivery(), NOW, 3, NOW + year) == NOW + year + timedelta(minutes=4)
