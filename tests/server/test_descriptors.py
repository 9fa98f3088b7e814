"""Descriptors run out, and what needs one meanwhile waits: no letter is lost, none is blamed, nothing ends.

Case 40 of reliability.md.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import signal
import smtplib
import socket
import subprocess
import sys
import time
from contextlib import closing
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest
from in_a_box.referee import Referee
from machines.house import House, configured, run
from machines.lives import Smarthost, children, lives

from pbem.desk.reading import InProcess, ReaderError
from pbem.server.desk_process import OwnProcess, started
from pbem.server.desk_work import open_desk
from pbem.store.inbox import Envelope

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pbem.server.desk_process import Process

LETTER = b"From: anna%d@mail.example\r\nMessage-ID: <%d@mail.example>\r\n\r\nhelp\r\n"
MOST = 64  # descriptors of the daemon

SCRIPT = (
    f"import resource, pbem.cli; resource.setrlimit(resource.RLIMIT_NOFILE, ({MOST}, {MOST}));"
    " pbem.cli.main(['serve', '--ready-file', 'ready'])"
)


def failing(*_: object, **__: object) -> Any:
    """Whatever needs a descriptor when there is none."""
    raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))


def test_case_40_descriptors_run_out_while_the_desk_is_replaced(tmp_path: Path) -> None:
    """Letters are taken meanwhile and handled afterwards; that no desk begins is said in a few lines of JSON."""
    (tmp_path / "pbem.toml").write_text(
        'server = "play.example"\n[smtp]\nlisten = "127.0.0.1:0"\n'
        '[delivery]\nfirst_retry = "1s"\n'
        "[limits]\nconnections_per_address = 200\n"
    )
    ready = tmp_path / "ready"
    with Smarthost().open() as smarthost, contextlib.ExitStack() as open_ones:
        with (tmp_path / "pbem.toml").open("a") as config:
            config.write(f"[smarthost]\nport = {smarthost.port}\n")
        server = subprocess.Popen([sys.executable, "-c", SCRIPT], cwd=tmp_path, stderr=subprocess.PIPE, text=True)
        try:
            while not ready.exists() and server.poll() is None:
                time.sleep(0.02)
            places = json.loads(ready.read_text())
            port = places["smtp"]["port"]
            post = open_ones.enter_context(smtplib.SMTP("127.0.0.1", port, timeout=30))
            for _ in range(90):
                open_ones.enter_context(socket.create_connection(("127.0.0.1", port)))
            time.sleep(0.5)
            for desk in children(server.pid):
                os.kill(desk, signal.SIGKILL)
            for number in range(3):
                post.sendmail(f"anna{number}@mail.example", "pbem@play.example", LETTER % (number, number))
                time.sleep(1)
            assert server.poll() is None
            assert not children(server.pid)
            open_ones.close()
            end = time.monotonic() + 40
            while len(smarthost.taken) < 3:
                assert time.monotonic() < end
                time.sleep(0.05)
        finally:
            server.terminate()
            told = server.communicate(timeout=30)[1]
    lines = [json.loads(line) for line in told.splitlines()]
    assert [line["trouble"] for line in lines if line.get("words") == "desk cannot begin"] == ["EMFILE"]
    assert len([line for line in lines if line["event"] == "desk ended"]) == 1
    intake = [line for line in lines if line["event"] == "complaint" and line["words"] != "desk cannot begin"]
    assert 1 <= [line["trouble"] for line in intake].count("EMFILE") <= 3, lines
    assert len(lines) < 20


def test_case_40_what_was_begun_of_a_desk_is_ended_where_a_descriptor_was_missing(tmp_path: Path) -> None:
    """After its process was started, when it was about to be told what to work on; the next attempt is whole."""
    processes: list[Process] = []

    def begun(line: socket.socket) -> Process:
        processes.append(started(line))
        return processes[-1]

    async def scene(house: House) -> None:
        place: Any = house.daemon._desk
        place._process.kill()
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(os, "dup", failing)
            await house.until(lambda: len(processes) > 2)
        assert (await house.send(LETTER % (1, 1)))[0] == 250
        await house.until(lambda: len(house.post.sent) == 1)
        assert [lives(process.pid) for process in processes].count(True) == 1

    run(configured(tmp_path), scene, desk=open_desk, place=partial(OwnProcess, start=begun), reader=InProcess)


def scarce() -> OSError:
    return OSError(errno.ENFILE, os.strerror(errno.ENFILE))


def without_reader() -> ReaderError:
    error = ReaderError("the reader cannot be started")
    error.__cause__ = scarce()
    return error


@pytest.mark.parametrize(("trouble", "letters"), [(scarce, 3), (without_reader, 1)])
def test_case_40_no_letter_is_blamed_for_a_want_of_descriptors(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, trouble: Callable[[], Exception], letters: int
) -> None:
    """It may be a time zone, a template, or a second reader that needs one: each letter is worked on later."""

    def fail(*_: object) -> str:
        raise trouble()

    with closing(Referee(tmp_path)) as referee:
        for number in range(letters):
            envelope = Envelope(f"anna{number}@mail.example", ("pbem@play.example",))
            referee.inbox.put(envelope, LETTER % (number, number), referee.now)
        with monkeypatch.context() as patch:
            patch.setattr("pbem.desk.authenticate.Authentication.caller_of", fail)
            for _ in range(5):
                with pytest.raises(type(trouble())):
                    referee.running.handle_next(referee.now)
        assert referee.running.handle_next(referee.now) == letters
        assert referee.inbox.count("done") == letters
        assert not referee.database.scalar("SELECT max(attempts) FROM inbox")


def test_case_40_that_systemd_cannot_be_told_of_the_end_spoils_no_stop(tmp_path: Path) -> None:
    """There is no descriptor to tell it by, say; a bell that is gone does as well."""
    bell = tmp_path / "bell"

    async def scene(_house: House) -> None:
        bell.unlink()

    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as systemd:
        systemd.bind(str(bell))
        run(configured(tmp_path), scene, environment={"NOTIFY_SOCKET": str(bell)})
        assert systemd.recv(100) == b"READY=1"
