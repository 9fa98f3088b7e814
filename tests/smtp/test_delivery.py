"""Delivery against a smarthost that does as it is told: same bytes, again later, or never."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import os
import socket
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, TypeVar, TypeVarTuple

import pytest
from aiosmtpd.smtp import SMTP
from hypothesis import given
from hypothesis import strategies as st
from in_a_box.boxes import Outbox

from pbem.config.mail import Delivery, SmarthostConfig
from pbem.config.values import Duration
from pbem.match.changed import replace
from pbem.smtp import delivery
from pbem.smtp.delivery import Deliverer, Means, Permanent, Smarthost, Temporary, retry_time
from pbem.store.database import Database
from pbem.store.errors import BusyError, FullError
from pbem.store.vault import Vault

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
    from pathlib import Path

    from pbem.store.outbox import Leased, Sent

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
RAW = b"Message-ID: <1@play.example>\r\n\r\n.\r\n..dots\r\nFrom here \r\n"


T = TypeVar("T")
Arguments = TypeVarTuple("Arguments")


class Script:
    """A smarthost whose replies are taken from lists, the last one for ever."""

    def __init__(self) -> None:
        self.rcpt = ["250 ok"]
        self.data = ["250 taken"]
        self.mail = ["250 ok"]
        self.received: list[tuple[str, str, bytes]] = []
        self.tries = 0
        self.sessions: list[SMTP] = []
        self.quits = 0

    async def handle_QUIT(self, _server: SMTP, _session: Any, _envelope: Any) -> str:
        self.quits += 1
        return "221 bye"

    @staticmethod
    def next(replies: list[str]) -> str:
        return replies.pop(0) if len(replies) > 1 else replies[0]

    async def handle_MAIL(self, _s: Any, _session: Any, envelope: Any, address: str, options: list[str]) -> str:
        envelope.mail_from = address
        envelope.mail_options.extend(options)
        return self.next(self.mail)

    async def handle_RCPT(self, _s: Any, _session: Any, envelope: Any, address: str, _options: list[str]) -> str:
        self.tries += 1
        reply = self.next(self.rcpt)
        if reply.startswith("2"):
            envelope.rcpt_tos.append(address)
        return reply

    async def handle_DATA(self, server: SMTP, _session: Any, envelope: Any) -> str:
        reply = self.next(self.data)
        self.received.append((envelope.mail_from, envelope.rcpt_tos[0], envelope.original_content))
        if reply == "hang up":
            transport: Any = server.transport
            transport.abort()
        return reply


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
            Means(lambda: self.now, self.run, self.settle),
            address="pbem@play.example",
            delimiter="+",
        )

    async def run(self, call: Callable[[*Arguments], T], /, *arguments: *Arguments) -> T:
        return call(*arguments)

    def settle(self) -> None:
        self.settled += 1

    def put(self, number: int = 1, recipient: str = "anna@example.org") -> int:
        with self.database.transaction():
            self.outbox.put(recipient, f"<{number}@play.example>", RAW, NOW)
        return self.outbox.number(recipient, f"<{number}@play.example>")

    async def until(self, condition: Callable[[], bool]) -> None:
        """Wait until the deliverer brought something about."""
        while not condition():  # noqa: ASYNC110 - the condition is the store's state, not an event of ours
            await asyncio.sleep(0.01)


def smarthost(port: int, **more: Any) -> Smarthost:
    return Smarthost(
        SmarthostConfig(host="127.0.0.1", port=port, timeout=Duration(seconds=2), **more), server="play.example"
    )


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


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
        for number in range(5):
            post.put(number)
        post.deliverer.wake.set()
        await post.until(lambda: post.outbox.count("delivered") == 3)
        post.deliverer.wake.set()
        await asyncio.sleep(0.05)
        assert post.outbox.count("waiting") == 2
        post.now += timedelta(hours=24, seconds=1)
        post.deliverer.wake.set()
        await post.until(lambda: post.outbox.count("delivered") == 5)

    play(tmp_path, scene, Delivery(per_day=3, concurrency=2))


@pytest.mark.parametrize("at", [1, 2])
def test_a_store_that_fails_at_the_count_of_the_day_forgets_no_letter(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at: int
) -> None:
    """Neither one that is to be sent nor one that was sent already, of which the store does not know yet."""
    monkeypatch.setattr(delivery, "TROUBLE_WAIT", 0.01)

    async def scene(post: Post) -> None:
        count, calls = post.outbox.delivered_between, itertools.count(1)

        def failing(*times: datetime) -> int:
            if next(calls) == at:
                raise FullError("the disk does not work")
            return count(*times)

        monkeypatch.setattr(post.outbox, "delivered_between", failing)
        post.put()
        post.deliverer.wake.set()
        await post.until(lambda: post.outbox.count("delivered") == 1)
        assert len(post.script.received) == 1

    play(tmp_path, scene, Delivery(per_day=3))


def test_a_letter_that_was_leased_by_a_commit_whose_answer_was_lost_leaves_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(delivery, "TROUBLE_WAIT", 0.01)

    async def scene(post: Post) -> None:
        exchange, lost = post.outbox.exchange, [True]

        def losing(*given: Any) -> Leased:
            leased = exchange(*given)
            if leased.rows and lost:
                lost.pop()
                raise BusyError("the answer was lost")
            return leased

        monkeypatch.setattr(post.outbox, "exchange", losing)
        post.put()
        post.deliverer.wake.set()
        await post.until(lambda: post.outbox.count("delivered") == 1)
        assert not lost
        assert len(post.script.received) == 1

    play(tmp_path, scene)


def test_where_only_the_account_may_send_it_is_the_return_path(tmp_path: Path) -> None:
    async def scene(post: Post) -> None:
        post.deliverer.delimiter = None
        post.put()
        post.deliverer.wake.set()
        await post.until(lambda: post.outbox.count("delivered") == 1)
        assert [sender for sender, _, _ in post.script.received] == ["pbem@play.example"]

    play(tmp_path, scene)


def test_a_letter_leaves_exactly_as_stored_with_an_address_for_its_bounce(tmp_path: Path) -> None:
    async def scene(post: Post) -> None:
        number = post.put()
        post.deliverer.wake.set()
        await post.until(lambda: post.outbox.count("delivered") == 1)
        token = post.database.scalar("SELECT token FROM outbox")
        assert post.script.received == [(f"pbem+b{token}@play.example", "anna@example.org", RAW)]
        returned = post.outbox.returned(token)
        assert returned is not None
        assert returned.id == number
        assert post.database.scalar("SELECT reply FROM outbox") == "taken"

    play(tmp_path, scene)


def test_a_letter_put_aside_by_4xx_comes_again_with_the_same_bytes(tmp_path: Path) -> None:
    async def scene(post: Post) -> None:
        post.script.data = ["451 later", "250 taken"]
        post.put()
        post.deliverer.wake.set()
        await post.until(lambda: post.outbox.count("waiting") == 1 and bool(post.script.received))
        assert post.outbox.next_due() == NOW + timedelta(seconds=60)
        post.deliverer.wake.set()
        await asyncio.sleep(0.05)
        assert len(post.script.received) == 1
        post.now += timedelta(seconds=60)
        post.deliverer.wake.set()
        await post.until(lambda: post.outbox.count("delivered") == 1)
        first, second = post.script.received
        assert first == second
        assert post.settled == 0

    play(tmp_path, scene)


@pytest.mark.parametrize("stage", ["mail", "rcpt", "data"])
def test_5xx_about_the_letter_stops_it_and_is_told(tmp_path: Path, stage: str) -> None:
    async def scene(post: Post) -> None:
        setattr(post.script, stage, ["550 5.1.1 no such user"])
        post.put()
        post.deliverer.wake.set()
        await post.until(lambda: bool(post.outbox.failures()))
        (failure,) = post.outbox.failures()
        assert failure.reply == "550 5.1.1 no such user"
        assert failure.attempts == 1
        await post.until(lambda: post.settled == 1)

    play(tmp_path, scene)


@pytest.mark.parametrize("reply", ["421 going down", "450 greylisted", "530 5.7.0 log in first"])
def test_what_is_not_about_the_letter_is_temporary(tmp_path: Path, reply: str) -> None:
    async def scene(post: Post) -> None:
        post.script.mail = [reply]
        post.put()
        post.deliverer.wake.set()
        await post.until(lambda: post.database.scalar("SELECT reply FROM outbox") is not None)
        assert post.outbox.count("waiting") == 1
        assert post.outbox.failures() == []

    play(tmp_path, scene)


def test_a_connection_lost_after_the_final_dot_is_tried_again_alike(tmp_path: Path) -> None:
    async def scene(post: Post) -> None:
        post.script.data = ["hang up", "250 taken"]
        post.put()
        post.deliverer.wake.set()
        await post.until(lambda: post.outbox.count("waiting") == 1 and bool(post.script.received))
        post.now += timedelta(minutes=1)
        post.deliverer.wake.set()
        await post.until(lambda: post.outbox.count("delivered") == 1)
        assert post.script.received[0] == post.script.received[1]

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


def test_one_bad_recipient_holds_up_no_other(tmp_path: Path) -> None:
    async def scene(post: Post) -> None:
        post.script.rcpt = ["550 no", "250 ok"]
        for number in range(1, 12):
            post.put(number)
        post.deliverer.wake.set()
        await post.until(lambda: post.outbox.count("delivered") == 10)
        assert post.outbox.count("failed") == 1

    play(tmp_path, scene, Delivery(concurrency=1))


def test_many_letters_leave_each_once(tmp_path: Path) -> None:
    async def scene(post: Post) -> None:
        for number in range(1, 41):
            post.put(number)
        post.deliverer.wake.set()
        await post.until(lambda: post.outbox.count("delivered") == 40)
        assert len({sender for sender, _, _ in post.script.received}) == len(post.script.received) == 40

    play(tmp_path, scene, Delivery(concurrency=7))


def test_letters_that_follow_soon_share_a_connection(tmp_path: Path) -> None:
    async def scene(post: Post) -> None:
        for number in range(1, 4):
            post.put(number)
            post.deliverer.wake.set()
            await post.until(lambda: post.outbox.count("delivered") == number)  # noqa: B023 - awaited here
            await asyncio.sleep(0.05)
        assert (len(post.script.sessions), post.script.quits) == (1, 0)

    play(tmp_path, scene)


def test_letters_of_one_burst_share_a_connection_that_is_closed_when_it_is_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(delivery, "KEPT", 0.1)

    async def scene(post: Post) -> None:
        for number in range(1, 11):
            post.put(number)
        post.script.rcpt = ["250 ok", "550 no", "250 ok"]
        post.deliverer.wake.set()
        await post.until(lambda: post.outbox.count("delivered") == 9)
        await post.until(lambda: post.script.quits == 1)
        assert len(post.script.sessions) == 1
        post.put(11)
        post.deliverer.wake.set()
        await post.until(lambda: post.outbox.count("delivered") == 10)
        assert len(post.script.sessions) == 2

    play(tmp_path, scene, Delivery(concurrency=1))


def test_a_connection_that_died_between_two_letters_is_replaced() -> None:
    async def main() -> None:
        script, port = Script(), free_port()
        async with scripted(script, port):
            host = smarthost(port)
            await host.send("pbem@play.example", "anna@example.org", RAW)
            transport: Any = script.sessions[0].transport
            transport.abort()
            await host.send("pbem@play.example", "anna@example.org", RAW)
            await host.rest()
        assert (len(script.received), len(script.sessions)) == (2, 2)

    asyncio.run(main())


def test_a_letter_leased_by_a_killed_process_goes_out_alike(tmp_path: Path) -> None:
    async def scene(post: Post) -> None:
        post.put()
        assert post.outbox.lease(NOW) is not None
        post.deliverer.wake.set()
        await asyncio.sleep(0.05)
        assert post.script.received == []
        post.outbox.release_all()
        post.deliverer.wake.set()
        await post.until(lambda: post.outbox.count("delivered") == 1)
        assert post.script.received[0][2] == RAW

    play(tmp_path, scene)


def test_the_task_outlives_trouble_in_the_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pbem.smtp.delivery.TROUBLE_WAIT", 0.01)

    async def scene(post: Post) -> None:
        with monkeypatch.context() as patch:
            patch.setattr(post.outbox, "exchange", lambda *_: 1 // 0)
            post.put()
            post.deliverer.wake.set()
            await asyncio.sleep(0.05)
            assert post.outbox.count("waiting") == 1
        await post.until(lambda: post.outbox.count("delivered") == 1)

    play(tmp_path, scene)


def test_a_letter_that_was_taken_is_not_sent_again_for_trouble_in_the_store(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pbem.smtp.delivery.TROUBLE_WAIT", 0.01)

    async def scene(post: Post) -> None:
        exchange, trouble = post.outbox.exchange, 5

        def full(sent: Sequence[Sent], now: datetime, most: int) -> Leased:
            nonlocal trouble
            if sent and trouble:
                trouble -= 1
                raise FullError("no room")
            return exchange(sent, now, most)

        monkeypatch.setattr(post.outbox, "exchange", full)
        post.put()
        post.deliverer.wake.set()
        await post.until(lambda: post.outbox.count("delivered") == 1)
        assert trouble == 0
        assert len(post.script.received) == 1

    play(tmp_path, scene)


class Slow:
    """Takes a letter when it is told to."""

    def __init__(self) -> None:
        self.begun: list[str] = []
        self.free: set[str] = set()
        self.rests = 0

    async def send(self, _sender: str, recipient: str, _raw: bytes) -> str:
        self.begun.append(recipient)
        while recipient not in self.free:  # noqa: ASYNC110 - a few letters, a few milliseconds
            await asyncio.sleep(0.001)
        return "taken"

    async def rest(self) -> None:
        self.rests += 1


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


def test_a_letter_that_hangs_holds_up_no_other(tmp_path: Path) -> None:
    async def scene(post: Post, slow: Slow) -> None:
        slow.free |= {f"p{number}@example.org" for number in range(1, 100)}
        await post.until(lambda: post.outbox.count("delivered") == 99)
        assert slow.rests == 0
        slow.free.add("p0@example.org")
        await post.until(lambda: slow.rests > 0)
        assert post.outbox.count("delivered") == 100

    slowly(tmp_path, 100, scene)


def test_what_came_of_a_letter_does_not_wait_for_those_that_take_long(tmp_path: Path) -> None:
    """A letter that was taken is noted although there are many in hand, and none of them comes to its end."""

    async def scene(post: Post, slow: Slow) -> None:
        slow.free.add("p1@example.org")
        await post.until(lambda: post.outbox.count("delivered") == 1)
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
        await post.until(lambda: post.outbox.count("delivered") == 2)
        assert len(slow.begun) == 2
        assert post.outbox.count("waiting") == 98

    slowly(tmp_path, 100, scene)


def test_what_is_taken_at_the_end_while_another_is_noted_is_noted_too(tmp_path: Path) -> None:
    async def scene(post: Post, slow: Slow) -> None:
        async def slow_disk(call: Callable[[*Arguments], T], /, *arguments: *Arguments) -> T:
            slow.free.add("p1@example.org")
            await asyncio.sleep(0.05)
            return call(*arguments)

        await post.until(lambda: len(slow.begun) == 2)
        post.deliverer.means = replace(post.deliverer.means, run=slow_disk)
        post.deliverer.stop()
        slow.free.add("p0@example.org")
        await post.until(lambda: post.outbox.count("delivered") == 2)

    slowly(tmp_path, 2, scene)


def test_a_letter_that_cannot_be_opened_stays_out_of_the_others_way(tmp_path: Path) -> None:
    async def scene(post: Post) -> None:
        for number in range(1, 4):
            post.put(number)
        post.database.execute("UPDATE outbox SET raw = x'01' WHERE id = 2")
        post.deliverer.wake.set()
        await post.until(lambda: post.outbox.count("delivered") == 2)
        assert post.outbox.count("leased") == 1

    play(tmp_path, scene)


@given(st.text(), st.sampled_from(["\r\nRCPT TO:<evil@x.example>", "\n", "\r", "\0", "> SIZE=1"]))
def test_no_recipient_breaks_out_of_its_command(before: str, hostile: str) -> None:
    async def main() -> None:
        script, port = Script(), free_port()
        async with scripted(script, port):
            with pytest.raises(Permanent):
                await smarthost(port).send("pbem@play.example", f"a{before}{hostile}@b.example", RAW)
        assert script.tries == 0

    asyncio.run(main())


def test_a_smarthost_without_starttls_gets_nothing_when_it_is_demanded() -> None:
    async def main() -> None:
        script, port = Script(), free_port()
        async with scripted(script, port):
            with pytest.raises(Temporary):
                await smarthost(port, tls="starttls").send("pbem@play.example", "anna@example.org", RAW)
        assert script.received == []

    asyncio.run(main())


def test_retries_end_five_days_after_the_letter_was_written() -> None:
    schedule = Delivery()
    assert retry_time(schedule, NOW, 1, NOW) == NOW + timedelta(seconds=60)
    assert retry_time(schedule, NOW, 10_000, NOW) == NOW + timedelta(hours=6)
    assert retry_time(schedule, NOW, 30, NOW + timedelta(days=5)) is None


def test_case_38_a_letter_is_given_up_for_no_clock_that_was_set() -> None:
    """Its certificate is out of date then, and every letter fails; nor is it tried for ever."""
    schedule, year = Delivery(), timedelta(days=365)
    assert retry_time(schedule, NOW, 3, NOW + year) == NOW + year + timedelta(minutes=4)
    assert retry_time(schedule, NOW + year, 3, NOW) == NOW + timedelta(minutes=4)
    assert retry_time(schedule, NOW + year, 30, NOW) is None
