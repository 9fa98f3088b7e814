"""`pbem play try`: from nothing to the first board by one command, to the first report by two."""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import re
import shlex
import socket
import subprocess
import threading
import time
import tomllib
from typing import TYPE_CHECKING, Any

import msgspec
import pytest
from click.testing import CliRunner
from machines.post_office import PBEM, serving
from world.listening import free_port

from pbem.cli.play.overview import play
from pbem.examples import example_folder
from pbem.games import GAMES, rules
from pbem.player import trial_server as trial_server_module
from pbem.player.account_file import Account, Places
from pbem.player.trial_server import SERVER, running

if TYPE_CHECKING:
    from contextlib import AbstractContextManager
    from pathlib import Path


@pytest.fixture
def user(tmp_path: Path) -> Path:
    """The home of somebody who has nothing yet, but whose server would listen at a port that is free."""
    folder = tmp_path / ".local" / "share" / "pbem"
    folder.mkdir(parents=True)
    port = free_port()
    for name, example in (("pbem.toml", "home.toml"), ("house.toml", "house.toml")):
        text = (example_folder() / "init" / example).read_text("utf-8")
        folder.joinpath(name).write_text(text.replace("127.0.0.1:2525", f"127.0.0.1:{port}"))
    return tmp_path


def trial_server(user: Path, **options: Any) -> AbstractContextManager[tuple[subprocess.Popen[str], object]]:
    """The server for trying, started by hand."""
    return serving(user / "ready", env={"PATH": os.environ["PATH"], "HOME": str(user)}, cwd=user, **options)


def port_of(user: Path) -> int:
    config = tomllib.loads((user / ".local/share/pbem/pbem.toml").read_text("utf-8"))
    return int(config["smtp"]["listen"].rpartition(":")[2])


def pbem(user: Path, *words: str) -> subprocess.CompletedProcess[str]:
    environment = {"PATH": os.environ["PATH"], "HOME": str(user), "LC_ALL": "C.UTF-8"}
    return subprocess.run(
        [PBEM, *words], env=environment, cwd=user, capture_output=True, text=True, timeout=120, check=False
    )


def in_a_terminal(user: Path, *words: str, **more: str) -> str:
    """The output of a command in a terminal."""
    environment = {"PATH": os.environ["PATH"], "HOME": str(user), "LC_ALL": "C.UTF-8"} | more
    ours, theirs = pty.openpty()
    with subprocess.Popen([PBEM, *words], env=environment, cwd=user, stdin=theirs, stdout=theirs, stderr=theirs):
        os.close(theirs)
        output = b""
        with contextlib.suppress(OSError):  # the end of a terminal is an error (Linux)
            while read := os.read(ours, 65536):
                output += read
    os.close(ours)
    return output.decode()


@pytest.mark.parametrize(
    "game", ["spaceships", *(pytest.param(game, marks=pytest.mark.long) for game in GAMES if game != "spaceships")]
)
def test_one_command_to_the_board_and_another_to_the_report(user: Path, game: str) -> None:
    first = pbem(user, "play", "try", game)
    assert first.returncode == 0, first.stderr
    assert "turn 1: your move" in first.stdout
    assert not re.search("recovery code|sent by|Came:", first.stdout), "mail that never leaves this machine"
    example = re.findall(r"(?m)^  pbem play m1 (.*)    \(--full explains it\)$", first.stdout)
    second = pbem(user, "play", "m1", *shlex.split(example[0]), "--yes")
    assert second.returncode == 0, second.stderr
    assert re.search(r"m1: turn [23]: your move\n.*\.\n", second.stdout), second.stdout
    shown = second.stdout[second.stdout.index(", m1: turn") :].splitlines()
    assert len(shown) < 24
    assert max(map(len, shown)) <= 76
    # To look again, no server is started.
    log = user / ".local/share/pbem/server.log"
    before = log.read_bytes()
    assert in_a_terminal(user, "play", "m1").count("\x1b[") > 20
    assert log.read_bytes() == before
    plain = in_a_terminal(user, "play", "--wait", "0", "ask", "list", NO_COLOR="1")
    assert "\x1b[" not in plain
    waiting = "Waiting for the server on this machine (Ctrl-C: go on without)"
    assert f"{waiting}\r{' ' * len(waiting)}\r" in plain, "no rest of it stays behind"
    # The same game is shown again, and nothing was left running.
    again = pbem(user, "play", "try", game)
    assert "new:" not in again.stdout
    assert re.search("m1: turn [23]: your move", again.stdout), again.stdout
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", port_of(user)))


def test_without_the_servers_libraries_nothing_is_left_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trial_server_module, "find_spec", lambda _: None)
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME"):
        monkeypatch.delenv(name, raising=False)
    done = CliRunner().invoke(play, ["try"])
    assert "install pbem with them, as pbem[server]" in done.output
    assert not list(tmp_path.rglob("*.*"))


def test_an_account_at_home_is_not_in_the_way_of_another(tmp_path: Path) -> None:
    places = Places(tmp_path, tmp_path)
    guest = Account(
        name="guest",
        server=SERVER,
        server_address=f"pbem@{SERVER}",
        address="guest@home.localhost",
        key="",
        mail_in="maildir:mail",
        mail_out="sendmail:",
    )
    places.save(guest)
    assert places.load() == guest
    ann = msgspec.structs.replace(guest, name="ann", server="play.example")
    places.save(ann)
    assert places.load() == ann


def test_a_server_that_runs_is_used_and_goes_on(user: Path) -> None:
    with trial_server(user, stdout=subprocess.PIPE) as (server, _):
        assert server.stdout is not None
        while "pbem play try" not in (line := server.stdout.readline()):
            assert line, "it ended without a word of how to play"
        assert pbem(user, "play", "try").returncode == 0
        assert server.poll() is None


def test_a_port_that_somebody_else_has_gets_none_of_the_letters(tmp_path: Path) -> None:
    """Another user's trial server on this machine would have read and swallowed them."""
    with socket.socket() as other:
        other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            other.bind(("127.0.0.1", 2525))
        except OSError:
            pass  # somebody has it already
        else:
            other.listen()
        done = pbem(tmp_path, "play", "try")
        assert done.returncode == 0, done.stderr
        assert "turn 1: your move" in done.stdout
    assert port_of(tmp_path) != 2525


@pytest.mark.parametrize(
    ("written", "instead"),
    [
        (SERVER, "play.example"),
        ("pbem", "\xff"),
        ("127.0.0.1:", "127.0.0.1:x"),
    ],
)
def test_another_server_of_this_user_is_left_alone(user: Path, written: str, instead: str) -> None:
    config = user / ".local/share/pbem/pbem.toml"
    config.write_text(config.read_text("utf-8").replace(written, instead), "latin-1")
    done = pbem(user, "play", "try")
    assert done.returncode == 4
    assert "is not the configuration of a trial server" in done.stderr
    assert not (user / ".config/pbem/guest@pbem.localhost.toml").exists()


def test_a_server_that_ends_with_a_command_that_was_killed_is_not_waited_for(
    user: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(user))
    monkeypatch.delenv("XDG_DATA_HOME", raising=False)
    with (user / ".local/share/pbem/pbem.sqlite.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        threading.Timer(0.5, lambda: fcntl.flock(lock, fcntl.LOCK_UN)).start()
        with running(), socket.create_connection(("127.0.0.1", port_of(user)), timeout=10):
            pass


def test_a_game_of_three_finds_a_program_for_each_further_seat(user: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(user))
    monkeypatch.delenv("XDG_DATA_HOME", raising=False)
    monkeypatch.setattr(type(rules("spaceships")), "seats", (3, 4))
    names = trial_server_module.offer("spaceships")
    assert names == ["house", "house-2"]
    with running():
        until = time.monotonic() + 60
        while not all(map(trial_server_module.is_there, names)):
            assert time.monotonic() < until, (user / ".local/share/pbem/server.log").read_text()
            time.sleep(0.1)
    assert {"house@home.localhost", "house-2@home.localhost"} <= {
        mailbox.name for mailbox in (user / ".local/share/pbem/mail").iterdir()
    }


def test_a_server_that_does_not_start_says_why(user: Path) -> None:
    config = user / ".local/share/pbem/pbem.toml"
    config.write_text(config.read_text("utf-8") + "[limits]\nnonsense = 1\n")
    done = pbem(user, "play", "try")
    assert done.returncode == 4
    assert "The trial server does not start: Error: " in done.stderr


def test_the_doctor_finds_a_healthy_trial_server_well(user: Path) -> None:
    """Its letters do not come round: they are filed."""
    with trial_server(user):
        examined = pbem(user, "doctor")
    assert examined.returncode == 0, examined.stdout
    assert "ok     mail       a letter to pbem+canary@pbem.localhost was filed in " in examined.stdout
