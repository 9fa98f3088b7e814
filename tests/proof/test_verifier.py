"""The command of the second verifier: its lines and its status; test_second_verifier.py judges all vectors."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
VECTORS = ROOT / "tests" / "vectors"


def judge(*files: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "verifier", *map(str, files)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)


def test_each_file_has_a_line_and_the_worst_is_the_status() -> None:
    (sample,) = (ROOT / "docs" / "sample").glob("*.zip")
    partly, lie = VECTORS / "good" / "openpgp.pbem.zip", VECTORS / "bad" / "report.pbem.zip"
    assert judge(sample, partly).returncode == 0
    done = judge(sample, partly, lie)
    assert done.returncode == 1
    holds, leaves_open, wrong = done.stdout.splitlines()
    assert holds == f"{sample}: holds"
    assert leaves_open.startswith(f"{partly}: holds; not judged: the openpgp signature by ")
    assert wrong.startswith(f"{lie}: does not hold: entry 3, reports/game-1-turn-1-seat-2.json: ")


def test_what_cannot_be_read_is_said(tmp_path: Path) -> None:
    (tmp_path / "empty").write_bytes(b"")
    done = judge(tmp_path / "none", tmp_path / "empty")
    assert done.returncode == 2
    assert "none: cannot be read: No such file" in done.stderr
    assert "empty: does not hold: " in done.stdout
