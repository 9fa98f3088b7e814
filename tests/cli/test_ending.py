"""However a command ends: a status of its own for what could not be done, one line, and no traceback."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from pbem.cli.command_table import COMMANDS
from pbem.cli.ending import Status, exiting
from pbem.cli.group import group

PROJECT = Path(__file__).parents[2]
BUNDLE = PROJECT / "docs" / "sample" / "m1-game-1.pbem.zip"
RECORD = PROJECT / "tests" / "data" / "examples" / "spaceships" / "beam-names-its-ship.pbem.toml"
NO_SPACE = "No space left on device"


def pbem(words: str, *, program: str = "", stdout: int = subprocess.PIPE) -> subprocess.CompletedProcess[str]:
    """Run a line of a shell, in which `pbem` is the command."""
    command = ["-m", program] if program else ["-c", "from pbem.cli import main; main()"]
    script = f'pbem() {{ "${{COMMAND[@]}}" "$@"; }}; COMMAND=("$@"); {words}'
    return subprocess.run(
        ["bash", "-c", script, "bash", sys.executable, *command],
        stdout=stdout,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
        cwd=PROJECT,
    )


@pytest.mark.parametrize(
    "words",
    ["--help", f"verify {BUNDLE}", f"publish {BUNDLE}"],
)
def test_a_full_disk_is_no_verdict(words: str) -> None:
    done = pbem(f"pbem {words} > /dev/full")
    assert (done.returncode, done.stderr) == (4, f"Error: {NO_SPACE}\n")


@pytest.mark.parametrize("words", ["--help", f"verify {BUNDLE}"])
def test_a_closed_pipe_is_no_verdict_and_says_nothing(words: str) -> None:
    """`| head -n 1`, where `head` is gone before anything is written."""
    reading, writing = os.pipe()
    os.close(reading)
    done = pbem(f"pbem {words}", stdout=writing)
    os.close(writing)
    assert (done.returncode, done.stderr) == (4, "")


def test_the_second_verifier_does_not_take_a_full_disk_for_a_verdict() -> None:
    done = pbem(f"pbem {BUNDLE} > /dev/full", program="verifier")
    assert (done.returncode, done.stderr) == (4, f"not done: {NO_SPACE}\n")


def test_a_bundle_that_cannot_be_read_is_named() -> None:
    done = pbem("pbem verify /proc/self/mem")
    assert (done.returncode, done.stderr) == (2, "Error: /proc/self/mem cannot be read: Input/output error\n")


def test_a_terminal_that_knows_ascii_alone_is_no_reason_to_fail() -> None:
    done = pbem(f"PYTHONUTF8=0 PYTHONCOERCECLOCALE=0 LC_ALL=C pbem replay {RECORD} $'\\xc3\\xa4.toml'")
    assert (done.returncode, done.stderr) == (2, "")


def test_who_has_no_home_gets_a_line(monkeypatch: pytest.MonkeyPatch) -> None:
    """The user of a container may not be in /etc/passwd."""
    monkeypatch.delenv("HOME", raising=False)
    real = os.path.expanduser
    monkeypatch.setattr(os.path, "expanduser", lambda path: real(path) if os.environ.get("HOME") else path)
    with exiting():
        assert Path("~/.ssh").expanduser() == Path("/.ssh")


def test_an_unpacked_bundle_and_one_packed_again_are_no_verdict(tmp_path: Path) -> None:
    """Safari unpacks what it saves; Finder packs a folder, and compresses."""
    with zipfile.ZipFile(BUNDLE) as bundle:
        bundle.extractall(tmp_path / "m1")
        names = bundle.namelist()
    again = {
        "folder.zip": [("m1/", b""), *((f"m1/{name}", (tmp_path / "m1" / name).read_bytes()) for name in names)],
        "sorted.zip": [(name, (tmp_path / "m1" / name).read_bytes()) for name in sorted(names)],
        "small.zip": [(name, (tmp_path / "m1" / name).read_bytes()) for name in names],
    }
    for file, members in again.items():
        with zipfile.ZipFile(tmp_path / file, "w", zipfile.ZIP_DEFLATED) as packed:
            for name, content in members:
                packed.writestr(name, content)
    for place, said in (("m1", "this is a folder"), *((file, "packed again") for file in again)):
        done = CliRunner().invoke(group, ["verify", str(tmp_path / place)])
        assert (done.exit_code, done.stdout) == (2, "")
        assert done.stderr.count("\n") == 1
        assert said in done.stderr
        assert "as it came with the letter" in done.stderr


@pytest.mark.parametrize(
    "raised", [OSError(5, "Input/output error"), MemoryError(), KeyboardInterrupt(), KeyError("x")]
)
def test_whatever_is_raised_is_no_verdict(monkeypatch: pytest.MonkeyPatch, raised: BaseException) -> None:
    """A fault of the program has its traceback, and no status of a verdict either."""

    def fail() -> None:
        raise raised

    monkeypatch.setitem(COMMANDS, "fail", (__name__, "Fails."))
    monkeypatch.setattr(sys.modules[__name__], "fail", click.Command("fail", callback=fail), raising=False)
    done = CliRunner().invoke(group, ["fail"])
    assert done.exit_code == 4
    assert ("Traceback" in done.stderr) == isinstance(raised, KeyError)


def test_the_statuses_are_documented_and_in_the_manual() -> None:
    documented = (PROJECT / "docs" / "verification.md").read_text("utf-8")
    manual = (PROJECT / "docs" / "pbem.1").read_text("utf-8").replace(r"\-", "-").partition(".SH EXIT STATUS")[2]
    meanings = re.findall(r"^\.TP\n\\fB(\d)\\fP\n(.*)\.$", manual, re.MULTILINE)
    assert [int(status) for status, _ in meanings] == list(Status)
    for status, meaning in meanings:
        assert f"\n| {status} | {meaning[0].lower()}{meaning[1:]}" in documented
