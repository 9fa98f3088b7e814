"""The desk's process: it ends with its daemon, another follows one that dies, and nobody's letter suffers by it.

Case 32 of reliability.md, and case 9 where the desk dies alone.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from datetime import UTC, datetime
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from machines.deaths import End
from machines.house import House, configured, deliver, run
from machines.lives import Server, Smarthost, children

from pbem.desk.reading import InProcess
from pbem.server import desk_process, desk_work
from pbem.server.daemon import StartError
from pbem.server.desk_main import received
from pbem.server.desk_messages import FILES, READY, STOP
from pbem.server.desk_opening import Supplies, open_desk
from pbem.server.desk_process import OwnProcess, started
from pbem.server.desk_work import Work
from pbem.server.examination import queues
from pbem.store.database import Database
from pbem.store.owners import at_work
from pbem.store.vault import Vault

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

LETTER = b"From: anna%d@mail.example\r\nMessage-ID: <%d@mail.example>\r\n\r\nhelp\r\n"


@pytest.fixture
def smarthost() -> Iterator[Smarthost]:
    with Smarthost().open() as smarthost:
        yield smarthost


def until(condition: Callable[[], Any], seconds: float = 40) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


def state(process: int) -> str:
    """A letter, as `ps` has it; Z for one that is over."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):  # gone before it was opened, or while it was read
        return "Z"


def lives(process: int) -> bool:
    return state(process) != "Z"


@pytest.mark.parametrize("point", ["letter leased", "effects written", "effects committed"])
def test_case_09_desks_that_die_one_after_the_other(tmp_path: Path, smarthost: Smarthost, point: str) -> None:
    """The daemon goes on taking letters; each letter has its effect once, and none is set aside."""
    server = Server(tmp_path, smarthost.port, '[metrics]\nlisten = "127.0.0.1:0"\n')
    server.start(End(point, 3, alone=True))
    try:
        for number in range(5):
            assert server.send(LETTER % (number, number), f"anna{number}@mail.example").startswith("250")
            # The one that was in hand when a desk died for the second time rests for a minute.
            until(lambda count=number: len(smarthost.taken) > count)  # type: ignore[misc]  # a default in a lambda
        assert server.alive
        metrics = json.loads((tmp_path / "ready.json").read_text())["metrics"]["port"]
        with urllib.request.urlopen(f"http://127.0.0.1:{metrics}/metrics") as answer:
            assert "\npbem_desk_deaths 0.0\n" not in answer.read().decode()
        server.stop()
        with server.store() as (_, inbox, outbox):
            assert (inbox.count("done"), inbox.count(), outbox.count("delivered")) == (5, 5, 5)
    finally:
        server.kill()


def test_case_32_a_desk_that_stands_still_delays_no_250(tmp_path: Path, smarthost: Smarthost) -> None:
    server = Server(tmp_path, smarthost.port)
    server.start()
    try:
        assert server.send(LETTER % (0, 0)).startswith("250")
        until(lambda: smarthost.taken)
        (desk,) = children(server.pid)
        os.kill(desk, signal.SIGSTOP)
        for number in range(1, 20):
            assert server.send(LETTER % (number, number), f"anna{number}@mail.example").startswith("250")
        assert len(smarthost.taken) == 1
        os.kill(desk, signal.SIGCONT)
        until(lambda: len(smarthost.taken) == 20)
        server.stop()
    finally:
        server.kill()


def test_case_32_a_stopped_reader_delays_others_by_its_own_deadline_alone(
    tmp_path: Path, smarthost: Smarthost
) -> None:
    server = Server(tmp_path, smarthost.port, '[limits]\nreading = "2s"\n')
    server.start(worker=True)
    try:
        assert server.send(LETTER % (0, 0)).startswith("250")
        until(lambda: smarthost.taken)
        (desk,) = children(server.pid)
        (reader,) = children(desk)
        os.kill(reader, signal.SIGSTOP)
        began = time.monotonic()
        for number in range(1, 10):
            assert server.send(LETTER % (number, number), f"anna{number}@mail.example").startswith("250")
        until(lambda: len(smarthost.taken) == 10)
        assert not lives(reader)
        assert lives(desk)
        # One deadline, and what a loaded machine takes to start another reader: not one for each letter.
        assert time.monotonic() - began < 2 * 9
        server.stop()
    finally:
        server.kill()


class Run:
    """`pbem serve` as it is started by an operator."""

    def __init__(self, folder: Path) -> None:
        config, ready = folder / "pbem.toml", folder / "ready.json"
        config.write_text('server = "play.example"\n[smtp]\nlisten = "127.0.0.1:0"\n[smarthost]\nport = 1\n')
        ready.unlink(missing_ok=True)
        script = "from pbem.cli.serve import serve; serve()"
        command = [sys.executable, "-c", script, "--config", str(config), "--ready-file", str(ready)]
        self.process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        until(lambda: ready.exists() or self.process.poll() is not None)
        assert ready.exists(), self.process.communicate()[1]
        self.port = json.loads(ready.read_text())["smtp"]["port"]
        (self.desk,) = children(self.process.pid)
        (self.reader,) = children(self.desk)

    def over(self) -> bool:
        return not any(map(lives, [self.desk, self.reader]))


def test_the_desk_ends_with_its_daemon_and_the_next_one_begins_at_once(tmp_path: Path) -> None:
    first = Run(tmp_path)
    assert deliver(first.port, LETTER % (1, 1))[0] == 250
    first.process.kill()
    first.process.communicate()
    second = Run(tmp_path)
    until(first.over)  # its lock is free a moment before it and its reader are gone
    assert deliver(second.port, LETTER % (2, 2))[0] == 250
    # As systemd does it, and as it is at a terminal: the signal is for all.
    for process in (second.reader, second.desk, second.process.pid):
        os.kill(process, signal.SIGTERM)
    _, told = second.process.communicate(timeout=60)
    assert second.process.returncode == 0
    assert second.over()
    assert "desk ended" not in told


def test_a_desk_that_lives_keeps_others_from_the_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pbem.server.daemon.LAST_MOMENTS", 0.3)
    first = Run(tmp_path)
    os.kill(first.desk, signal.SIGSTOP)
    until(lambda: state(first.desk) == "T")
    first.process.kill()
    first.process.wait()

    async def nothing(_house: House) -> None:
        pass

    with pytest.raises(
        StartError, match=f"what another pbem left behind.*process {first.process.pid}, has ended"
    ) as told:
        run(configured(tmp_path), nothing)
    # Those that it names, ended as it says, let the next one in.
    named = [int(process) for process in str(told.value).partition("kill -9 ")[2].rstrip("`").split()]
    assert named == [first.desk]
    with Database(tmp_path / "pbem.sqlite", migrate=False) as database:
        assert at_work(database, datetime.now(UTC)) is None
        (daemon, *_) = queues(database, Vault(bytes(32), os.urandom), datetime.now(UTC))
    assert (daemon.well, daemon.found) == (
        False,
        f"does not run, and has left behind what still holds the store: process {first.desk}",
    )
    os.kill(named[0], signal.SIGKILL)
    first.process.communicate()
    until(first.over)
    run(configured(tmp_path), nothing)


def failing(_line: socket.socket) -> Any:
    return subprocess.Popen(["false"])


def test_a_desk_that_cannot_begin_is_told_at_the_start(tmp_path: Path) -> None:
    async def nothing(_house: House) -> None:
        pass

    with pytest.raises(StartError, match="the desk's process ended as soon as it began, with status 1"):
        run(configured(tmp_path), nothing, desk=open_desk, place=partial(OwnProcess, start=failing))


def test_a_desk_that_begins_anew_while_the_server_stops_is_told_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """Although there was no way yet to say it: else it would work on until it is killed."""
    theirs: list[socket.socket] = []

    def begun(line: socket.socket) -> Any:
        theirs.append(line.dup())
        theirs[0].sendall(READY)
        return SimpleNamespace(pid=0, kill=lambda: None, wait=lambda _: 0)

    async def scene(connect: Any = asyncio.open_unix_connection) -> None:
        nothing: Any = None
        place = OwnProcess(Supplies(nothing), nothing, start=begun)

        async def stopped(**more: Any) -> Any:
            place.stop()
            return await connect(**more)

        monkeypatch.setattr(asyncio, "open_unix_connection", stopped)
        await place.open([])
        said = b""
        with contextlib.suppress(BlockingIOError):
            while True:
                said += theirs[0].recv(65536, socket.MSG_DONTWAIT)
        assert said.endswith(STOP)
        await place.close()

    asyncio.run(scene())
    theirs[0].close()


@pytest.mark.parametrize("said", [b"", b"f", b"f\0\0\1\0half"])
def test_a_desk_whose_daemon_ends_while_it_hands_over_ends_too(said: bytes) -> None:
    ours, theirs = socket.socketpair()
    with theirs:
        with ours:
            ours.sendall(said)
        with pytest.raises(SystemExit, match="1"):
            received(theirs)


def test_a_desk_that_cannot_begin_when_its_daemon_is_gone_ends_without_a_word(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    ours, theirs = socket.socketpair()
    with theirs:
        desk = started(theirs)
        with ours, Connection(os.dup(ours.fileno())) as supplies:
            ours.sendall(FILES)
            supplies.send(Supplies(configured(tmp_path)))
    assert desk.wait(60) == 1
    assert capfd.readouterr().err == ""


def test_a_desk_begins_without_what_only_some_letters_need() -> None:
    code = "import sys, pbem.server.desk_main, pbem.desk.wiring; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True).stdout.split()
    rare = {"babel", "dkim", "dns", "email_validator", "flufl.bounce", "icalendar", "openskill", "sqlite_utils"}
    assert not rare & set(loaded)


def test_a_server_begins_without_what_only_some_need() -> None:
    """The DNS before the first question, figures where nobody is to get them, languages' own names."""
    code = "import sys, pbem.cli.serve; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True).stdout.split()
    assert "pbem.server.daemon" in loaded
    assert not {"babel", "dns", "prometheus_client"} & set(loaded)


def test_signs_of_life_are_told_to_both_sides(tmp_path: Path) -> None:
    """A letter wakes the desk, and its answer the post: neither waits for the minute at which they look again."""

    async def scene(house: House) -> None:
        for number in range(3):
            raw = LETTER % (number, number)
            assert (await house.send(raw, f"anna{number}@mail.example"))[0] == 250
            await asyncio.wait_for(house.until(lambda count=number: len(house.post.sent) > count), 15)  # type: ignore[misc]  # a default in a lambda

    run(configured(tmp_path), scene, desk=open_desk, place=OwnProcess, reader=InProcess)


def test_a_desk_that_stands_still_is_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It answers nothing any more, and is ended; what came meanwhile waits no minute for the next one."""
    monkeypatch.setattr(desk_process, "ASKED_AGAIN", 0.5)

    async def scene(house: House) -> None:
        place: Any = house.daemon._desk
        first = place._process.pid
        os.kill(first, signal.SIGSTOP)
        for number in range(2):
            await house.send(LETTER % (number, number), f"anna{number}@mail.example")
        await asyncio.wait_for(house.until(lambda: len(house.post.sent) == 2 and not lives(first)), 15)
        assert place.deaths == 1

    run(configured(tmp_path), scene, desk=open_desk, place=OwnProcess, reader=InProcess)


def test_a_desk_that_may_not_decide_handles_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another server decides; once that is gone, this one sees to letters and to the clock."""
    called: list[str] = []

    class Desk:
        def may_decide(self) -> bool:
            called.append("asked")
            return len(called) > 2

        def handle_next(self, _now: object) -> int:
            called.append("letters")
            return 0

        def tick(self, _now: object) -> None:
            called.append("clock")
            work.stop()

    monkeypatch.setattr(desk_work, "STANDBY", 0.01)
    with Database(tmp_path / "store.sqlite") as database:
        work = Work(Desk(), database, Supplies(configured(tmp_path)), lambda: None)
        work()
    assert called == ["asked", "asked", "asked", "letters", "clock"]


def test_the_collector_does_not_look_at_what_a_desks_process_has_loaded() -> None:
    code = """
import gc
from types import SimpleNamespace
from pbem.config.server import LogConfig
from pbem.server import desk_main
desk_main.received = lambda line: SimpleNamespace(config=SimpleNamespace(log=LogConfig()))
desk_main.serve = lambda *_: int(len(gc.get_objects()) > gc.get_freeze_count() / 10)
desk_main.main()
"""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        assert subprocess.run([sys.executable, "-c", code], stdin=theirs.fileno(), check=False).returncode == 0
