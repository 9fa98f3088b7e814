"""The daemon as a whole, with a desk that echoes: a letter goes in, an answer comes out, once, whatever happens."""

from __future__ import annotations

import asyncio
import errno
import io
import json
import os
import re
import signal
import threading
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import structlog
from in_a_box.stores import of_sqlite
from machines.house import TEXT, House, configured, deliver, run, serving
from signing.domains import Domain, rsa_key

from pbem.config.limits import Limits
from pbem.config.server import LogConfig
from pbem.server.daemon import IN_DOUBT
from pbem.server.desk_work import open_desk
from pbem.server.logs import configure_logs
from pbem.server.opening import StartError
from pbem.store.database import Database
from pbem.store.owners import Role
from pbem.store.sqlite import Sqlite

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pbem.store.inbox import Envelope


@pytest.fixture(autouse=True)
def _logs() -> Iterator[None]:
    structlog.configure(logger_factory=structlog.PrintLoggerFactory(io.StringIO()))
    yield
    structlog.reset_defaults()


def test_a_mailbox_registers_once_the_dns_was_asked(tmp_path: Path) -> None:
    """The real desk: a letter waits for its key record outside of it, while others are answered."""
    domain, answer = Domain("example.org", key=rsa_key(1024)), asyncio.Event()
    asked: list[str] = []

    async def resolve(name: str) -> str:
        asked.append(name)
        await answer.wait()
        return domain.record

    async def scene(house: House) -> None:
        def letters() -> list[str]:
            return [raw.decode() for _, _, raw in house.post.sent]

        register = b"From: anna@example.org\r\nTo: %s\r\nSubject: a\r\n\r\nregister anna\r\n"
        await house.send(register % b"pbem@play.example")
        await house.until(lambda: len(letters()) == 1)
        token = re.findall(r"Reply-To: (\S+)", letters()[0])[0].encode()
        await house.send(domain.sign(register % token, datetime.now(UTC)))
        await house.until(lambda: bool(asked))
        await house.send(TEXT.replace(b"secret orders", b"help"))
        await house.until(lambda: len(letters()) == 2)
        assert "Write commands" in letters()[1]
        answer.set()
        await house.until(lambda: len(letters()) == 3)
        assert "You are registered as anna, at the level `mailbox`" in letters()[2]
        assert asked == [domain.where]

    run(configured(tmp_path), scene, desk=open_desk, resolve=resolve)


def test_what_is_answered_is_sent_while_the_desk_works_on(tmp_path: Path) -> None:
    """Nobody's answer waits until the whole inbox is worked on."""
    begin = threading.Event()
    sent: list[int] = []

    async def scene(house: House) -> None:
        handle_next = house.desk.handle_next

        def patiently(now: datetime) -> bool:
            begin.wait()
            end = time.monotonic() + 5
            while len(house.post.sent) < min(len(sent), 3) and time.monotonic() < end:
                time.sleep(0.005)
            sent.append(len(house.post.sent))
            return bool(handle_next(now))

        house.desk.handle_next = patiently
        try:
            for number in range(3):
                await house.send(TEXT + b"%d\r\n" % number)
        finally:
            begin.set()
        await house.until(lambda: len(house.post.sent) == 3)

    run(configured(tmp_path), scene)
    assert sent[:3] == [0, 1, 2]


def test_letters_of_one_network_are_limited_by_the_day_and_retries_are_free(tmp_path: Path) -> None:
    async def scene(house: House) -> None:
        for number in range(2):
            assert (await house.send(TEXT + b"%d\r\n" % number, client="192.0.2.1"))[0] == 250
        assert (await house.send(TEXT + b"0\r\n", client="192.0.2.1"))[0] == 250
        assert (await house.send(TEXT + b"2\r\n", client="192.0.2.1"))[0] == 450
        assert (await house.send(TEXT + b"2\r\n", "bert@example.org", client="192.0.2.77"))[0] == 450
        # Bounces count for themselves; other networks, and what our own mail server does not say the origin of.
        for number in range(2):
            assert (await house.send(TEXT + b"%d\r\n" % number, "", client="192.0.2.1"))[0] == 250
        assert (await house.send(TEXT + b"2\r\n", "", client="192.0.2.1"))[0] == 450
        assert (await house.send(TEXT + b"2\r\n", client="198.51.100.1"))[0] == 250
        for number in range(3, 6):
            assert (await house.send(TEXT + b"%d\r\n" % number))[0] == 250

    run(configured(tmp_path, limits=Limits(letters_per_day=2)), scene)


def test_case_34_heavy_letters_of_one_network_do_not_delay_those_of_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both have sent too many today; who is known is let in, and each network's letters wait for their own alone."""
    many, one = "192.0.2.0/24", "198.51.100.0/24"
    looked_at: list[str] = []
    begun, go_on = threading.Event(), threading.Event()

    class Slow:
        def knows(self, envelope: Envelope, _raw: bytes, _now: datetime) -> bool:
            looked_at.append(envelope.network)
            begun.set()
            go_on.wait(10)
            return envelope.network == one

        def close(self) -> None:
            pass

    monkeypatch.setattr("pbem.desk.strangers.DeskAdmission", lambda *_: Slow())

    async def scene(house: House) -> None:
        for client in ("192.0.2.1", "198.51.100.1"):
            assert (await house.send(TEXT + client.encode(), client=client))[0] == 250
        heavy = [asyncio.create_task(house.send(TEXT + b"%d\r\n" % n, client="192.0.2.1")) for n in range(20)]
        await asyncio.to_thread(begun.wait, 10)
        # Beyond a network's share the next are told to come again, and wait for nothing.
        await house.until(lambda: sum(task.done() for task in heavy) == 20 - IN_DOUBT[0])
        light = asyncio.create_task(house.send(TEXT + b"x\r\n", client="198.51.100.1"))
        await house.until(lambda: house.daemon._in_doubt._here[one] == 1)
        go_on.set()
        assert (await light)[0] == 250
        assert {reply[0] for reply in await asyncio.gather(*heavy)} == {450}
        assert looked_at[:2] == [many, one]
        assert len(looked_at) == IN_DOUBT[0] + 1

    limits = Limits(letters_per_day=1, connections_per_address=50)
    run(configured(tmp_path, limits=limits), scene)


@of_sqlite
def test_a_letter_beyond_the_limit_that_waits_for_a_decision_came_after_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise it would have come in time, and its player would have missed the deadline all the same."""
    config = configured(tmp_path, limits=Limits(letters_per_day=1))
    begun, go_on = threading.Event(), threading.Event()

    def knows(*_: object) -> bool:
        begun.set()
        return go_on.wait(10)

    monkeypatch.setattr("pbem.desk.strangers.DeskAdmission.knows", knows)

    async def scene(house: House) -> None:
        assert (await house.send(client="192.0.2.1"))[0] == 250
        await house.until(lambda: bool(house.post.sent))
        coming = asyncio.create_task(house.send(TEXT + b"2\r\n", client="192.0.2.1"))
        await asyncio.to_thread(begun.wait, 10)
        with Database(config.store) as deciding:
            with deciding.transaction():
                go_on.set()
                await asyncio.sleep(0.5)
                assert not coming.done()
                decided = datetime.now(UTC)
            assert (await coming)[0] == 250
            received = deciding.moment("SELECT max(received) FROM inbox")
        assert received is not None
        assert received >= decided

    run(config, scene)


def test_case_36_a_reserve_of_the_disk_is_kept_for_the_letters_that_are_here(tmp_path: Path) -> None:
    async def scene(house: House) -> None:
        assert await house.send() == (250, b"2.0.0 stored")
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Sqlite, "room", lambda _: 99)
            code, reply = await house.send(TEXT + b"2\r\n")
            assert (code, reply[:5]) == (452, b"4.3.1")
        assert (await house.send(TEXT + b"2\r\n"))[0] == 250

    run(configured(tmp_path, limits=Limits(reserve_bytes=100)), scene)


def exchanged(store: Path) -> None:
    copy = store.with_name("copy")
    copy.write_bytes(store.read_bytes())
    copy.rename(store)


ACCIDENTS: dict[str, Callable[[Path], object]] = {
    "moved": lambda store: store.rename(store.with_name("moved")),
    "deleted": lambda store: store.unlink(),
    "exchanged": exchanged,
    "log deleted": lambda store: store.with_name(f"{store.name}-wal").unlink(),
}


@of_sqlite
@pytest.mark.parametrize("accident", ACCIDENTS)
@pytest.mark.parametrize("letters", [True, False])
def test_case_40_a_store_that_is_taken_away_while_the_server_runs_ends_it(
    tmp_path: Path, accident: str, *, letters: bool
) -> None:
    """A letter that only a nameless file would hold is not answered with 250."""

    async def scene(house: House) -> None:
        assert (await house.send())[0] == 250
        await house.until(lambda: bool(house.post.sent))
        ACCIDENTS[accident](tmp_path / "pbem.sqlite")
        if letters:
            assert (await house.send(TEXT + b"2\r\n"))[0] == 451
        await house.until(house.daemon._stop.is_set)

    with pytest.raises(StartError, match="was moved, exchanged or deleted while the server ran: bring it back"):
        run(configured(tmp_path), scene, longest_wait=60 if letters else 0.1)


@of_sqlite
def test_case_40_a_store_that_cannot_be_looked_at_for_a_moment_is_not_taken_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks: list[Path] = []
    stat = Path.stat

    def failing(path: Path, *, follow_symlinks: bool = True) -> os.stat_result:
        if path.name.startswith("pbem.sqlite"):
            looks.append(path)
            raise OSError(errno.ESTALE, os.strerror(errno.ESTALE), str(path))
        return stat(path, follow_symlinks=follow_symlinks)

    async def scene(house: House) -> None:
        monkeypatch.setattr(Path, "stat", failing)
        await house.until(lambda: len(looks) > 4)
        assert (await house.send())[0] == 250
        monkeypatch.undo()
        assert (await house.send(TEXT + b"2\r\n"))[0] == 250

    run(configured(tmp_path), scene, longest_wait=0.02)


async def troubled(house: House) -> None:
    """A letter whose desk raises an exception first."""
    house.desk.trouble = [ValueError("secret orders")]
    await house.send()
    await house.until(lambda: bool(house.post.sent))


def test_logs_hold_no_word_of_a_letter_nor_of_an_exception(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("pbem.server.desk_work.TROUBLE_WAIT", 0.01)
    configure_logs(LogConfig(level="debug"))
    run(configured(tmp_path), troubled)
    lines = [json.loads(line) for line in capsys.readouterr().err.splitlines()]
    events = [line["event"] for line in lines]
    assert {"store open", "ready", "letter stored", "desk trouble", "letter sent", "stopped"} <= set(events)
    (trouble,) = (line for line in lines if line["event"] == "desk trouble")
    assert trouble["exception"] == "ValueError"
    assert any("handle_next" in frame for frame in trouble["frames"])
    assert not any(word in json.dumps(lines) for word in ("secret", "hello", "anna"))


def test_a_terminal_is_told_in_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("pbem.server.desk_work.TROUBLE_WAIT", 0.01)
    read = list[str]()

    def printed() -> str:
        read.append(capsys.readouterr().err)
        return "".join(read)

    async def scene(house: House) -> None:
        house.desk.trouble = [ValueError("secret orders")]
        await house.send()
        await house.until(lambda: "went out" in printed())

    configure_logs(LogConfig(format="text"))
    run(configured(tmp_path), scene)
    time, lines = r"\d\d:\d\d:\d\d  ", printed().splitlines()
    assert re.fullmatch(f"{time}ERROR: desk trouble, .*exception ValueError.*", lines[0])
    assert re.fullmatch(f"{time}Letter 1 went out.", lines[1])
    assert [line[10:] for line in lines[2:]] == ["Stopping ...", "Stopped."]


def test_an_interrupt_stops_the_server_cleanly(tmp_path: Path) -> None:
    with serving(tmp_path) as (server, port):
        assert deliver(port, TEXT)[0] == 250
        server.send_signal(signal.SIGINT)
        _, errors = server.communicate(timeout=20)
    lines = [json.loads(line) for line in errors.splitlines()]
    (ready,) = (line for line in lines if line["event"] == "ready")
    assert (server.returncode, lines[-1]["event"]) == (0, "stopped")
    assert ready["smtp"] == {"host": "127.0.0.1", "port": port}


def test_a_store_in_a_file_has_one_server_that_does_everything(tmp_path: Path) -> None:
    with pytest.raises(StartError, match="leave --roles out"):
        asyncio.run(House(configured(tmp_path), roles=frozenset({Role.INTAKE})).daemon.run())
