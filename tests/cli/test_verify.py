"""`pbem verify`: a line for each check, status 1 at the first that fails, and no need of a network."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner
from referee import Referee, attachment

from pbem.cli.verify import verify
from pbem.match import bundle

if TYPE_CHECKING:
    from pathlib import Path

KEY = "03a107bff3ce10be1d70dd18e74bc09967e4d6309ba50d5f1ddc8664125531b8"

OFFLINE = """
import os, sys

def refuse(event, _):
    if event.startswith("socket."):
        raise OSError(f"no network: {event}")

sys.addaudithook(refuse)
os.environ.clear()
from pbem.cli import main
sys.exit(main())
"""


@pytest.fixture(scope="module")
def proof(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("proof")
    referee = Referee(folder)
    ann, bob = referee.begun("fleet: cost:3\nsettle: 0", ("MD Rv1 Rv2 Rv3", "LG1 Rv1\nLG2 Rv3\nLG3 Bz5"))
    for cell in ("Rv1", "Rv3", "Bz5"):
        referee.turn((ann, cell), (bob, ""))
    file = folder / "m1.pbem.zip"
    file.write_bytes(attachment(ann.find("what was secret"), ".zip"))
    referee.close()
    return file


def run(*arguments: str) -> tuple[int, list[str]]:
    result = CliRunner().invoke(verify, list(arguments))
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result.exit_code, result.output.splitlines()


def forged(proof: Path, tmp_path: Path, path: str, old: bytes, new: bytes) -> Path:
    """The bundle written again with a paper changed."""
    found = bundle.read(proof.read_bytes())
    assert old in found.papers[path]
    papers = {**found.papers, path: found.papers[path].replace(old, new)}
    file = tmp_path / "forged.zip"
    file.write_bytes(bundle.write(bundle.Bundle(found.entries, found.signatures, papers)))
    return file


def test_a_line_for_each_check(proof: Path) -> None:
    status, lines = run(str(proof))
    assert status == 0
    assert all(line.startswith("ok  ") for line in lines[:-1])
    assert [line.split()[1] for line in lines[:3]] == ["bundle", "chain", "server"]
    assert [line.split()[2] for line in lines[3:-2]] == [str(seq) for seq in range(1, 9)]
    assert "ann won, scores [3, 0], agreed length" in lines[-2]
    assert lines[-1] == "Everything holds."


@pytest.mark.parametrize(
    ("path", "old", "new"),
    [
        ("letters/game-1-turn-2-seat-1.eml", b"Rv3", b"Rv4"),
        ("openings/game-1-seat-2.txt", b"Bz5", b"Bz4"),
        ("receipts/game-1-turn-1-seat-1.txt", b"rev 1", b"rev 2"),
        ("reports/game-1-turn-3-seat-2.json", b"hit", b"miss"),
        ("records/game-1.pbem.toml", b"ann", b"bob"),
    ],
)
def test_the_failing_line_names_entry_and_file(
    proof: Path, tmp_path: Path, path: str, old: bytes, new: bytes
) -> None:
    status, lines = run(str(forged(proof, tmp_path, path, old, new)))
    assert status == 1
    assert lines[-1].startswith("FAIL  ")
    assert "entry " in lines[-1]
    assert path in lines[-1]
    assert [line[:4] for line in lines[:-1]] == ["ok  "] * (len(lines) - 1)


def test_the_servers_key(proof: Path) -> None:
    status, lines = run(str(proof), "--server-key", KEY)
    assert status == 0
    assert "the key that you gave" in lines[2]
    for wrong in ("00" * 32, KEY[:-2] + "b9", "nonsense", ""):
        status, lines = run(str(proof), "--server-key", wrong)
        assert status == 1
        assert lines[-1].startswith("FAIL")
        assert f"the server's key is {KEY}" in lines[-1]


@pytest.mark.parametrize("content", [b"", b"hello\n", b"PK\x05\x06" + bytes(18), bytes(1000)])
def test_what_is_no_bundle(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "x.zip"
    file.write_bytes(content)
    status, lines = run(str(file))
    assert status == 1
    assert len(lines) == 1
    assert lines[0].startswith("FAIL  bundle")


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    status, _ = run(str(tmp_path / "none.zip"))
    assert status == 2
    assert run()[0] == 2
    assert run(str(tmp_path))[0] == 2


def offline(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", OFFLINE, "verify", *arguments], capture_output=True, text=True, check=False, timeout=60
    )


def test_the_command_needs_no_server_and_no_network(proof: Path, tmp_path: Path) -> None:
    done = offline(str(proof), "--server-key", KEY)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.endswith("Everything holds.\n")
    file = forged(proof, tmp_path, "reports/game-1-turn-3.json", b"hit", b"miss")
    done = offline(str(file))
    assert (done.returncode, done.stderr) == (1, "")
    assert "FAIL" in done.stdout.splitlines()[-1]
    assert "reports/game-1-turn-3.json" in done.stdout.splitlines()[-1]
