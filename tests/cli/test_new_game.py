"""`pbem new-game` writes a package that passes its own tests, installed as any other is."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from pbem.cli.group import group
from pbem.examples import example_game

if TYPE_CHECKING:
    from pathlib import Path


def written(folder: Path, name: str, status: int = 0) -> str:
    done = CliRunner().invoke(group, ["new-game", str(folder), name])
    assert done.exit_code == status, done.output
    return done.output


def test_the_package_has_another_name_everywhere(tmp_path: Path) -> None:
    new = tmp_path / "new"
    assert "pbem check-game tic-tac-toe" in written(new, "tic-tac-toe")
    files = {path.relative_to(new).as_posix() for path in new.rglob("*") if path.is_file()}
    assert {"pbem_tic_tac_toe/__init__.py", "pbem_tic_tac_toe/templates/tic-tac-toe/events.txt"} <= files
    ours = [path for path in example_game().rglob("*") if path.is_file() and "__pycache__" not in path.parts]
    assert len(files) == len(ours)
    text = "".join((new / file).read_text("utf-8") for file in files)
    assert "arbles" not in text
    assert 'title = "Tic Tac Toe"' in text
    assert 'tic-tac-toe = "pbem_tic_tac_toe"' in text


@pytest.mark.parametrize("name", ["spaceships", "letters", "Chess", "a b"])
def test_a_name_that_no_game_can_have_is_refused(name: str, tmp_path: Path) -> None:
    assert "Invalid value for NAME" in written(tmp_path / "new", name, status=2)
    assert not (tmp_path / "new").exists()


def test_nothing_is_written_over(tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("")
    assert "is not empty" in written(tmp_path, "chess", status=2)


def test_its_tests_pass_where_it_is_installed(tmp_path: Path) -> None:
    written(tmp_path / "new", "stones")
    site = tmp_path / "site"
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-index"]
    pip += ["--no-build-isolation", "--no-deps", "--target", str(site), str(tmp_path / "new")]
    subprocess.run(pip, check=True, cwd=tmp_path)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(site), *sys.path])}
    tests = [sys.executable, "-P", "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests"]
    done = subprocess.run(tests, cwd=tmp_path / "new", env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    assert " passed" in done.stdout
