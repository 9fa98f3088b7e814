"""The second verifier as a program of its own: its command, on the vectors."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
VECTORS = ROOT / "tests" / "vectors"
PARTLY = {"openpgp", "smime", "sealed-running", "sealed-silent"}
"""Good bundles of which something is not judged."""
ENTRY = re.compile(r"(?m)^\| `(\S+)` \| `\S+` \| .* \| (\S+) \| .* \|$")


def judge(*files: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "verifier", *map(str, files)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)


def test_good_bundles_hold() -> None:
    files = sorted((VECTORS / "good").glob("*.zip"))
    done = judge(*files)
    assert done.returncode == 0, done.stdout
    lines = done.stdout.splitlines()
    assert [line.partition(": ")[0] for line in lines] == [str(file) for file in files]
    partly = {Path(line.partition(": ")[0]).name for line in lines if ": holds; not judged: " in line}
    assert partly == {f"{name}.pbem.zip" for name in PARTLY}
    assert sum(line.endswith(": holds") for line in lines) == len(files) - len(partly)


def test_the_sample_holds() -> None:
    (file,) = (ROOT / "docs" / "sample").glob("*.zip")
    assert judge(file).stdout == f"{file}: holds\n"


def test_bad_bundles_are_found_out_at_their_entries() -> None:
    entries = dict(ENTRY.findall((VECTORS / "README.md").read_text(encoding="utf-8")))
    files = sorted((VECTORS / "bad").glob("*.zip"))
    assert {file.name.removesuffix(".pbem.zip") for file in files} == set(entries)
    done = judge(*files)
    assert done.returncode == 1
    found = re.findall(r"(?m)^.*/(\S+)\.pbem\.zip: does not hold: entry (\w+), ", done.stdout)
    assert {name: entry.replace("None", "file") for name, entry in found} == entries


def test_what_cannot_be_read_is_said(tmp_path: Path) -> None:
    (tmp_path / "empty").write_bytes(b"")
    done = judge(tmp_path / "none", tmp_path / "empty")
    assert done.returncode == 2
    assert "none: cannot be read: No such file" in done.stderr
    assert "empty: does not hold: " in done.stdout
