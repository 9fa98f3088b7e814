"""The desk's process: it ends with its daemon, another follows one that dies, and nobody's letter suffers by it.

Case 32 of reliability.md, and case 9 where the desk dies alone.
"""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import time
from contextlib import ExitStack
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest
from machines.deaths import End
from machines.house import House, configured, deliver, nothing_happens, run, serving
from machines.lives import children, lives, served, state
from machines.waiting import until

from pbem.desk.reading import InProcess
from pbem.server import desk_process
from pbem.server.desk_process import OwnProcess
from pbem.server.desk_work import open_desk
from pbem.server.examination import queues
from pbem.server.opening import StartError
from pbem.store.database import Database
from pbem.store.owners import at_work
from pbem.store.vault import Vault

if TYPE_CHECKING:
    import socket
    from collections.abc import Iterator
    from pathlib import Path

LETTER = b"From: anna%d@mail.example\r\nMessage-ID: <%d@mail.example>\r\n\r\nhelp\r\n"


def test_case_09_desks_that_die_one_after_the_other(tmp_path: Path) -> None:
    """The daemon goes on taking letters; each letter has its effect once, and none is set aside."""
    with served(tmp_path) as (server, smarthost):
        server.start(End("effects committed", 3, alone=True))
        for number in range(5):
            assert server.send(LETTER % (number, number), f"anna{number}@mail.example").startswith("250")
            # The one that was in hand when a desk died for the second time rests for a minute.
            until(lambda count=number: len(smarthost.taken) > count)  # type: ignore[misc]  # a default in a lambda
        assert server.alive
        server.stop()
        with server.store() as (_, inbox, outbox):
            assert (inbox.count("done"), inbox.count(), outbox.count("delivered")) == (5, 5, 5)


def test_case_07_only_the_reader_has_a_lower_priority(tmp_path: Path) -> None:
    """The desk holds the store's lock: with less of a busy processor, it would keep letters waiting until 451."""
    with served(tmp_path) as (server, smarthost):
        server.start(worker=True)
        assert server.send(LETTER % (0, 0)).startswith("250")
        until(lambda: smarthost.taken)
        (desk,) = children(server.pid)
        (reader,) = children(desk)
        own, *others = (os.getpriority(os.PRIO_PROCESS, process) for process in (server.pid, desk, reader))
        assert others == [own, min(own + 10, 19)]
        server.stop()


def test_case_32_a_stopped_reader_delays_others_by_its_own_deadline_alone(tmp_path: Path) -> None:
    with served(tmp_path, more='[limits]\nreading = "2s"\n') as (server, smarthost):
        server.start(worker=True)
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


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


class Run:
    """`pbem serve` as it is started by an operator, with its desk and its reader."""

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        self.process, self.port = stack.enter_context(serving(folder))
        (self.desk,) = children(self.process.pid)
        (self.reader,) = children(self.desk)

    def over(self) -> bool:
        return not any(map(lives, [self.desk, self.reader]))


def test_the_desk_ends_with_its_daemon_and_the_next_one_begins_at_once(tmp_path: Path, stack: ExitStack) -> None:
    first = Run(tmp_path, stack)
    assert deliver(first.port, LETTER % (1, 1))[0] == 250
    first.process.kill()
    first.process.communicate()
    second = Run(tmp_path, stack)
    until(first.over)  # its lock is free a moment before it and its reader are gone
    assert deliver(second.port, LETTER % (2, 2))[0] == 250
    # As systemd does it, and as it is at a terminal: the signal is for all.
    for process in (second.reader, second.desk, second.process.pid):
        os.kill(process, signal.SIGTERM)
    _, told = second.process.communicate(timeout=60)
    assert second.process.returncode == 0
    assert second.over()
    assert "desk ended" not in told


def test_a_desk_that_lives_keeps_others_from_the_store(
    tmp_path: Path, stack: ExitStack, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pbem.server.opening.LAST_MOMENTS", 0.3)
    first = Run(tmp_path, stack)
    os.kill(first.desk, signal.SIGSTOP)
    until(lambda: state(first.desk) == "T")
    first.process.kill()
    first.process.wait()

    with pytest.raises(
        StartError, match=f"what another pbem left behind.*process {first.process.pid}, has ended"
    ) as told:
        run(configured(tmp_path), nothing_happens)
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
    run(configured(tmp_path), nothing_happens)


def failing(_line: socket.socket) -> Any:
    return subprocess.Popen(["false"])


def test_a_desk_that_cannot_begin_is_told_at_the_start(tmp_path: Path) -> None:
    with pytest.raises(StartError, match="the desk's process ended as soon as it began, with status 1"):
        run(configured(tmp_path), nothing_happens, desk=open_desk, place=partial(OwnProcess, start=failing))


def test_a_desk_that_stands_still_is_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It answers nothing any more, and is ended; what came meanwhile waits no minute for the next one."""
    monkeypatch.setattr(desk_process, "ASKED_AGAIN", 0.5)

    async def scene(house: House) -> None:
        place: Any = house.daemon._desk
        first = place._process.pid
        os.kill(first, signal.SIGSTOP)
        for number in range(2):
            await house.send(LETTER % (number, number), f"anna{number}@mail.example")
        await asyncio.wait_for(house.until(lambda: len(house.post.sent) == 2 and not lives(first)), 40)

    run(configured(tmp_path), scene, desk=open_desk, place=OwnProcess, reader=InProcess)
