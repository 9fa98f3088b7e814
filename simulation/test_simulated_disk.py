"""The disk that forgets: synced data stays, and unsynced data and names may be lost."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from random import Random
from typing import TYPE_CHECKING

import pytest

from simulation.disk import SECTOR, Disk

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from simulation.disk import Process

SEEDS = range(20)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """An empty, durable folder for each disk."""
    folder = tmp_path / "disk"
    folder.mkdir()
    return folder


@pytest.fixture
def disk(folder: Path) -> Iterator[Disk]:
    with closing(Disk(folder, Random(1))) as disk:
        yield disk


def test_what_was_synced_stays_and_what_was_not_may_go(disk: Disk, folder: Path) -> None:
    """In every way: lost, kept, torn between two sectors, extended but not written."""
    synced, path = b"s" * 3 * SECTOR, folder / "file"
    seen = set()
    path.write_bytes(synced)
    process = disk.process()
    process.sync(path)
    process.sync(folder)
    for _ in range(150):
        path.write_bytes(synced + b"u" * 3 * SECTOR)
        disk.power_cut()
        found = path.read_bytes()
        assert found[: len(synced)] == synced
        assert len(found) % SECTOR == 0
        seen.add(found[len(synced) :: SECTOR])
        path.write_bytes(synced)
        disk.process().sync(path)
    assert {b"", b"uuu", b"uu\0", b"\0\0u"} <= seen


@pytest.mark.parametrize("of", ["made", "removed"])
def test_a_name_may_go_or_come_back_until_its_folder_is_synced(disk: Disk, folder: Path, of: str) -> None:
    seen = set()
    path = folder / "name"
    for _ in SEEDS:
        path.write_bytes(b"word")
        disk.process().sync(path)
        if of == "removed":
            disk.process().sync(folder)
            path.unlink()
        disk.power_cut()
        seen.add(path.exists() and path.read_bytes())
        path.unlink(missing_ok=True)
        disk.process().sync(folder)
        disk.power_cut()
        assert not path.exists()
    assert seen == {False, b"word"}


def test_a_file_that_takes_anothers_place_is_the_one_or_the_other(disk: Disk, folder: Path) -> None:
    seen = set()
    draft, place = folder / "draft", folder / "place"
    for _ in SEEDS:
        place.write_bytes(b"old")
        draft.write_bytes(b"new")
        for path in (place, draft, folder):
            disk.process().sync(path)
        draft.replace(place)
        disk.power_cut()
        seen.add(place.read_bytes())
    assert seen == {b"old", b"new"}


def test_what_is_in_a_folder_goes_with_its_name(disk: Disk, folder: Path) -> None:
    inner = folder / "inner"
    seen = set()
    for _ in SEEDS:
        inner.mkdir(exist_ok=True)
        (inner / "file").write_bytes(b"word")
        for path in (inner / "file", inner):
            disk.process().sync(path)
        disk.power_cut()
        seen.add(inner.exists())
        assert not inner.exists() or (inner / "file").read_bytes() == b"word"
        if inner.exists():
            (inner / "file").unlink()
            inner.rmdir()
        disk.process().sync(folder)
    assert seen == {True, False}


def test_a_sync_that_fails_is_said_and_may_have_lost_what_it_was_to_keep(tmp_path: Path) -> None:
    found = set()
    for seed in SEEDS:
        folder = tmp_path / f"{seed}"
        folder.mkdir()
        with closing(Disk(folder, Random(seed))) as disk:
            connection = opened(process := disk.process(), folder / "a.db")
            process.sync(folder)
            disk.faults.sync = 1.0
            with pytest.raises(OSError, match=r"Input/output"):
                process.sync(folder / "a.db")
            with pytest.raises(sqlite3.OperationalError, match="disk I/O"):
                put(connection, "failed")
            assert words(connection) == []
            disk.faults.sync = 0.0
            if seed % 2:
                put(connection, "later")
            disk.power_cut()
            with closing(opened(disk.process(), folder / "a.db")) as connection:
                found.add((seed % 2, *words(connection)))
    assert found == {(0,), (0, "failed"), (1, "later")}


def opened(process: Process, path: Path) -> sqlite3.Connection:
    connection = process.connect(path, wait=0)
    assert connection.execute("PRAGMA journal_mode = WAL").fetchone()[0] == "wal"
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("CREATE TABLE IF NOT EXISTS words (word TEXT)")
    return connection


def put(connection: sqlite3.Connection, word: str) -> None:
    connection.execute("INSERT INTO words VALUES (?)", (word,))


def words(connection: sqlite3.Connection) -> list[str]:
    return [row[0] for row in connection.execute("SELECT word FROM words ORDER BY word")]
