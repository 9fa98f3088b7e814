"""README.md is true: its commands, run as they stand there, in a folder like a fresh checkout.

A few things stand in for the world. `pipx` is a script that only lets pip prepare what would be installed, since
that takes no network. `sendmail` hands letters to the post office of the demo, behind which a real server runs. The
provider's mailbox of *Run a server* does not exist: the server starts without it. `make` runs in a fresh clone by
`.ci/clone`, and not here.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from machines.post_office import PATIENCE, SERVER, PostOffice, served

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text("utf-8")
PLAY, SERVE, CHECK = "Play", "Run a server", "Check a match"
CLONED = {"See it": ["make demo"], "Contribute": ["make test", "make datc"]}
STORY = "One game, in words"

PIPX = """\
#!/bin/sh
test "$1" = install || exit 2
exec {python} -m pip install --dry-run --no-deps --no-build-isolation --no-index "$2"
"""
SENDMAIL = """\
#!{python}
import smtplib, sys
at, (_, sender, _, recipient) = sys.argv.index("-i"), sys.argv[2:]
smtplib.SMTP("127.0.0.1", {port}).sendmail(sender, [recipient], sys.stdin.buffer.read())
"""
COMMAND = """\
#!{python}
from pbem.player import mail_out
mail_out._SENDMAIL = {sendmail!r}
from pbem.cli import main
main()
"""


def commands() -> dict[str, list[str]]:
    """The commands of each section that has any, without the remarks behind them."""
    found: dict[str, list[str]] = {}
    for section in re.split(r"(?m)^## ", README)[1:]:
        title, _, text = section.partition("\n")
        lines = re.findall(r"(?m)^    (\S.*)$", text)
        if lines:
            found[title] = [re.split(r" +# ", line)[0] for line in lines]
    return found


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A folder with what a checkout has, and a home and the stand-ins beside it."""
    folder = tmp_path / "checkout"
    folder.mkdir()
    for name in ("LICENSE", "README.md", "config", "docs", "examples", "pbem", "pyproject.toml", "templates"):
        (folder / name).symlink_to(ROOT / name)
    (tmp_path / "home").mkdir()
    (tmp_path / "bin").mkdir()
    stand_in(tmp_path, "pipx", PIPX)
    stand_in(tmp_path, "pbem", COMMAND, sendmail=str(tmp_path / "bin" / "sendmail"))
    return folder


def stand_in(folder: Path, name: str, text: str, **facts: object) -> None:
    path = folder / "bin" / name
    path.write_text(text.format(python=sys.executable, **facts))
    path.chmod(0o755)


def environment(checkout: Path, home: str = "home") -> Mapping[str, str]:
    path = f"{checkout.parent / 'bin'}{os.pathsep}{os.environ['PATH']}"
    return os.environ | {
        "PATH": path,
        "HOME": str(checkout.parent / home),
        "XDG_CONFIG_HOME": "",
        "XDG_DATA_HOME": "",
        "XDG_STATE_HOME": "",
    }


def run(checkout: Path, command: str, typed: str = "", home: str = "home") -> str:
    """Run a line of the README; returns its output."""
    done = subprocess.run(
        ["bash", "-c", command],
        cwd=checkout,
        env=environment(checkout, home),
        input=typed,
        capture_output=True,
        text=True,
        timeout=3 * PATIENCE,
        check=False,
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
    return done.stdout + done.stderr


def install(checkout: Path, command: str) -> None:
    told = run(checkout, command)
    assert "Would install pbem-" in told
    assert "does not provide the extra" not in told


def test_no_section_has_a_command_that_is_run_nowhere() -> None:
    assert set(commands()) == {PLAY, SERVE, CHECK, STORY, *CLONED}
    assert {title: commands()[title] for title in CLONED} == CLONED
    assert [len(commands()[title]) for title in (PLAY, SERVE, CHECK)] == [4, 2, 2]


def test_a_clone_runs_what_the_readme_says_of_make() -> None:
    (targets,) = re.findall(r"for target in (.*); do", (ROOT / ".ci" / "clone").read_text())
    assert {f"make {target}" for target in targets.split()} == {line for lines in CLONED.values() for line in lines}


def test_check_a_match(checkout: Path) -> None:
    verify, publish = commands()[CHECK]
    assert run(checkout, verify).endswith("Everything holds.\n")
    run(checkout, publish)
    assert (checkout / "m1.html").read_text("utf-8").startswith("<!DOCTYPE html>")


def test_run_a_server(checkout: Path) -> None:
    init, serve = commands()[SERVE]
    told = run(checkout, init, "mailbox\ngames@mail.example\nann@home.example\n")
    assert "password" in told
    password = checkout / "games" / "password"
    password.write_text("a secret\n")
    password.chmod(0o600)
    log = checkout / "log"
    with log.open("wb") as written:
        process = subprocess.Popen(
            ["bash", "-c", f"exec {serve}"], cwd=checkout, env=environment(checkout), stdout=written, stderr=written
        )
    try:
        end = time.monotonic() + PATIENCE
        while '"ready"' not in log.read_text() and process.poll() is None and time.monotonic() < end:
            time.sleep(0.1)
        assert '"ready"' in log.read_text(), log.read_text()
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE) == 0
    finally:
        process.kill()
        process.wait()


@contextmanager
def reached(folder: Path) -> Iterator[None]:
    """A real server of the name that the README has, and a `sendmail` that reaches it."""
    office = PostOffice(folder)
    with office.opened():
        for name in ("anna", "bob"):
            office.box(f"{name}@home.example")
        office.box(f"operator@{SERVER}")
        stand_in(folder, "sendmail", SENDMAIL, port=office.port)
        with served(office, folder / "server"):
            yield


def own(folder: Path, home: str, name: str) -> None:
    """A home with a key and a Maildir, as the README asks for."""
    (folder / home / ".ssh").mkdir(parents=True)
    (folder / home / "Maildir").symlink_to(folder / name)
    key = folder / home / ".ssh" / "id_ed25519"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(key)], check=True)


@pytest.mark.skipif(not shutil.which("ssh-keygen"), reason="needs ssh-keygen, for the players' keys")
def test_play(checkout: Path) -> None:
    pipx, attempt, register, new = commands()[PLAY]
    install(checkout, pipx)
    assert "turn 1: your move" in run(checkout, attempt, home="triers-home")
    folder = checkout.parent
    (folder / "server").mkdir()
    own(folder, "home", "anna")
    own(folder, "bobs-home", "bob")
    with reached(folder):
        run(checkout, register.replace("anna@", "bob@"), home="bobs-home")  # somebody to play with
        assert f"You are anna on {SERVER}" in run(checkout, register)
        told = run(checkout, new, "y\n")
        assert "new spaceships with bob" in told
        assert "others have not agreed yet" in told
        assert "m1" in run(checkout, "pbem play")
