"""Where the tests' files are: in memory, as long as there is enough, and not for longer than a run."""

from __future__ import annotations

import shutil
from pathlib import Path
from types import SimpleNamespace

import conftest
import pytest


@pytest.fixture
def room(monkeypatch: pytest.MonkeyPatch) -> dict[str, int]:
    told = {"file system": conftest.ROOM, "memory": conftest.ROOM}
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=told["file system"]))
    monkeypatch.setattr(conftest, "_available", lambda: told["memory"])
    return told


@pytest.mark.parametrize("short", ["file system", "memory"])
def test_they_are_elsewhere_where_there_is_little(tmp_path: Path, room: dict[str, int], short: str) -> None:
    room[short] -= 1
    environment: dict[str, str] = {}
    assert conftest.files_in_memory(tmp_path, environment) is None
    assert not environment
    assert not list(tmp_path.iterdir())


@pytest.mark.usefixtures("room")
def test_those_of_a_run_that_was_killed_are_removed_and_those_of_others_are_not(tmp_path: Path) -> None:
    left, foreign = tmp_path / f"{conftest.FOLDER}left", tmp_path / "somebody-elses"
    for folder in (left, foreign):
        (folder / "pytest-of-ann").mkdir(parents=True)
    first: dict[str, str] = {}
    remove = conftest.files_in_memory(tmp_path, first)
    assert remove is not None
    assert set(tmp_path.iterdir()) == {foreign, Path(first["TMPDIR"])}
    second: dict[str, str] = {}
    remove_too = conftest.files_in_memory(tmp_path, second)
    assert remove_too is not None
    assert set(tmp_path.iterdir()) == {foreign, Path(first["TMPDIR"]), Path(second["TMPDIR"])}
    # Workers have the folder of the run that started them.
    assert conftest.files_in_memory(tmp_path, first) is None
    remove()
    remove_too()
    assert list(tmp_path.iterdir()) == [foreign]
