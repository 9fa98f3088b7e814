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
from house import House, configured, deliver, run
from lives import End, Server, Smarthost, children

from pbem.desk.reading import InProcess
from pbem.server import desk_process
from pbem.server.daemon import StartError
from pbem.server.desk_main import received
from pbem.server.desk_messages import BEGINS, FILES, READY, RESTS, STOP, WOKEN, WORKED
from pbem.server.desk_opening import Supplies, open_desk, opened
from pbem.server.desk_place import Resting, Told
from pbem.server.desk_process import OwnProcess, started
from pbem.server.desk_work import Work
from pbem.server.desks import Desks
from pbem.server.roles import Role
from pbem.store.database import Database
from pbem.store.sqlite import Lock
from pbem.store.write_turn import WriteTurn

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
        config.write_text(
            'server = "play.example"\ndesks = 2\n[smtp]\nlisten = "127.0.0.1:0"\n[smarthost]\nport = 1\n'
        )
        ready.unlink(missing_ok=True)
        script = "from pbem.cli.serve import serve; serve()"
        command = [sys.executable, "-c", script, "--config", str(config), "--ready-file", str(ready)]
        self.process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        until(lambda: ready.exists() or self.process.poll() is not None)
        assert ready.exists(), self.process.communicate()[1]
        self.port = json.loads(ready.read_text())["smtp"]["port"]
        self.desks = children(self.process.pid)
        self.readers = [reader for desk in self.desks for reader in children(desk)]
        assert (len(self.desks), len(self.readers)) == (2, 2)

    def over(self) -> bool:
        return not any(map(lives, [*self.desks, *self.readers]))


def test_the_desk_ends_with_its_daemon_and_the_next_one_begins_at_once(tmp_path: Path) -> None:
    first = Run(tmp_path)
    assert deliver(first.port, LETTER % (1, 1))[0] == 250
    first.process.kill()
    first.process.communicate()
    second = Run(tmp_path)
    until(first.over)  # its lock is free a moment before it and its reader are gone
    assert deliver(second.port, LETTER % (2, 2))[0] == 250
    # As systemd does it, and as it is at a terminal: the signal is for all.
    for process in (*second.readers, *second.desks, second.process.pid):
        os.kill(process, signal.SIGTERM)
    _, told = second.process.communicate(timeout=60)
    assert second.process.returncode == 0
    assert second.over()
    assert "desk ended" not in told


def test_a_desk_that_lives_keeps_others_from_the_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pbem.server.daemon.LAST_MOMENTS", 0.3)
    first = Run(tmp_path)
    os.kill(first.desks[1], signal.SIGSTOP)
    until(lambda: state(first.desks[1]) == "T")
    first.process.kill()
    first.process.wait()

    async def nothing(_house: House) -> None:
        pass

    until(lambda: not lives(first.desks[0]))
    with pytest.raises(
        StartError, match=f"what another pbem left behind.*process {first.process.pid}, has ended"
    ) as told:
        run(configured(tmp_path), nothing)
    # Those that it names, ended as it says, let the next one in.
    named = [int(process) for process in str(told.value).partition("kill -9 ")[2].rstrip("`").split()]
    assert named == [first.desks[1]] == [Lock.holder(tmp_path / "pbem.sqlite")]
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
        with WriteTurn() as turn:
            await place.open(turn, [])
            said = b""
            with contextlib.suppress(BlockingIOError):
                while True:
                    said += theirs[0].recv(65536, socket.MSG_DONTWAIT)
            assert said.endswith(STOP)
            await place.close()

    asyncio.run(scene())
    theirs[0].close()


def test_a_desk_counts_as_resting_only_if_it_will_not_work_on_what_it_was_woken_for() -> None:
    """It looks by itself now and then: what it says of that may cross the word that wakes it."""
    theirs: list[socket.socket] = []
    said: list[str] = []

    def begun(line: socket.socket) -> Any:
        theirs.append(line.dup())
        theirs[0].sendall(READY)
        return SimpleNamespace(pid=0, kill=theirs[0].close, wait=lambda _: 0)

    async def scene() -> None:
        nothing: Any = None

        async def died(_owner: str) -> None: ...

        told = Told(lambda: said.append("worked"), lambda: said.append("rests"), lambda: said.append("other"), died)
        place = OwnProcess(Supplies(nothing), told, start=begun)

        async def hear(words: bytes) -> bool:
            """Whether it counts as resting once this was heard, and that it wrote something."""
            said.clear()
            theirs[0].sendall(words + WORKED)
            while "worked" not in said:  # noqa: ASYNC110 - another process says it
                await asyncio.sleep(0.001)
            said.remove("worked")
            return place.resting

        with WriteTurn() as turn:
            await place.open(turn, [])
            work = asyncio.create_task(place.work())
            assert not await hear(BEGINS)
            assert await hear(RESTS)
            assert said == ["rests"]
            assert not await hear(BEGINS), "it works, though nobody woke it"
            assert await hear(RESTS)
            place.wake()
            assert not await hear(BEGINS + RESTS), "it said so before it heard that it was woken"
            assert said == ["other"], "what it was woken for may wait behind what it does"
            assert not await hear(WOKEN)
            assert said == []
            assert await hear(RESTS)
            place.stop()
            await place.close()
            work.cancel()

    asyncio.run(scene())


def test_another_desk_is_woken_where_one_has_begun_by_itself() -> None:
    """Nobody's letter waits behind a long look of one that seemed to rest, while another rests."""
    woken: list[int] = []
    restings: list[Resting] = []

    class Place:
        deaths = 0

        def __init__(self, told: Told) -> None:
            self.number = len(restings)
            self._resting = Resting(told)
            restings.append(self._resting)

        @property
        def resting(self) -> bool:
            return bool(self._resting)

        def wake(self) -> None:
            self._resting.wake()
            woken.append(self.number)

    nothing: Any = None
    desks = Desks(3, lambda _, told: Place(told), Supplies(nothing), nothing, nothing)  # type: ignore[arg-type]  # no more than is woken
    for one in restings:
        one.rests()
    restings[0].begins(woken=False)
    desks.wake()
    assert woken == [1]
    restings[1].begins(woken=False)
    assert woken == [1, 2], "the second had begun before it heard of it"
    restings[0].rests()
    assert woken == [1, 2]
    restings[2].begins(woken=True)
    restings[2].rests()
    desks.wake()
    assert woken == [1, 2, 0]


def test_a_desk_says_of_each_look_whether_it_was_woken_for_it(tmp_path: Path) -> None:
    said: list[str] = []

    class Desk:
        looks = 0

        def handle_next(self, _now: object) -> int:
            self.looks += 1
            if self.looks == 2:
                work.wake()  # something comes while it looks by itself
            return 0

        def held_up(self) -> bool:
            return False

        def tick(self, _now: object) -> None:
            """Nothing is timed."""

    def rests() -> None:
        said.append("rests")
        if len(said) == 6:
            work.stop()

    with Database(tmp_path / "store.sqlite") as database:
        work = Work(
            Desk(),
            database,
            lambda: datetime.now(UTC),
            lambda: None,
            rests,
            lambda woken: said.append("woken" if woken else "begins"),
            longest_wait=0.01,
        )
        work()
    assert said == ["begins", "rests", "begins", "rests", "woken", "rests"]


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
    with theirs, WriteTurn() as turn:
        desk = started(theirs)
        with ours, Connection(os.dup(ours.fileno())) as supplies:
            socket.send_fds(ours, [FILES], turn.ends)
            supplies.send(Supplies(configured(tmp_path)))
    assert desk.wait(60) == 1
    assert capfd.readouterr().err == ""


def test_a_desk_begins_without_what_only_some_letters_need() -> None:
    code = "import sys, pbem.server.desk_main, pbem.desk.wiring; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True).stdout.split()
    rare = {"babel", "dkim", "dns", "email_validator", "flufl.bounce", "icalendar", "openskill", "sqlite_utils"}
    assert not rare & set(loaded)


def test_signs_of_life_are_told_to_both_sides(tmp_path: Path) -> None:
    """A letter wakes the desk, and its answer the post: neither waits for the minute at which they look again."""

    async def scene(house: House) -> None:
        for number in range(3):
            raw = LETTER % (number, number)
            assert (await house.send(raw, f"anna{number}@mail.example"))[0] == 250
            await asyncio.wait_for(house.until(lambda count=number: len(house.post.sent) > count), 15)  # type: ignore[misc]  # a default in a lambda

    run(configured(tmp_path), scene, desk=open_desk, place=OwnProcess, reader=InProcess)


def test_what_a_desk_that_stands_still_was_woken_for_is_soon_anothers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It answers nothing any more, and is ended; nobody waits for the minute at which the others look again."""
    monkeypatch.setattr(desk_process, "ASKED_AGAIN", 0.5)

    async def scene(house: House) -> None:
        await asyncio.wait_for(house.until(lambda: all(place.resting for place in house.daemon._desks._places)), 10)
        first = house.daemon._desks._places[0]._process.pid  # type: ignore[attr-defined]  # the test's own place
        os.kill(first, signal.SIGSTOP)
        for number in range(2):
            await house.send(LETTER % (number, number), f"anna{number}@mail.example")
        await asyncio.wait_for(house.until(lambda: len(house.post.sent) == 2 and not lives(first)), 15)
        await asyncio.wait_for(house.until(lambda: house.daemon._desks.deaths == 1), 15)

    config = configured(tmp_path, desks=2)
    run(config, scene, desk=open_desk, place=OwnProcess, reader=InProcess)


@pytest.mark.parametrize("role", [Role.DESK, Role.CLOCK])
def test_a_desk_does_what_its_roles_are(tmp_path: Path, role: Role) -> None:
    """One whose server has the clock alone leaves letters to others; one that has letters alone, the clock."""
    called: list[Role] = []

    class Desk:
        def handle_next(self, _now: object) -> int:
            called.append(Role.DESK)
            return 0

        def held_up(self) -> bool:
            return False

        def tick(self, _now: object) -> None:
            called.append(Role.CLOCK)

    async def nothing(_house: House) -> None:
        """The store and its keys are made, and no more."""

    config = configured(tmp_path)
    run(config, nothing)
    supplies = Supplies(config, open_desk=lambda *_: Desk(), reader=InProcess, roles=frozenset({role}))
    with WriteTurn() as turn, opened(supplies, turn, lambda: None, lambda: work.stop()) as work:  # noqa: PLW0108 - it is made here
        work()
    assert called == [role]


def test_the_collector_does_not_look_at_what_a_desks_process_has_loaded() -> None:
    code = """
import gc
from types import SimpleNamespace
from pbem.config.server import Log
from pbem.server import desk_main
desk_main.received = lambda line: (SimpleNamespace(config=SimpleNamespace(log=Log())), None)
desk_main.serve = lambda *_: int(len(gc.get_objects()) > gc.get_freeze_count() / 10)
desk_main.main()
"""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        assert subprocess.run([sys.executable, "-c", code], stdin=theirs.fileno(), check=False).returncode == 0
