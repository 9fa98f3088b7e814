"""The disk that forgets: synced data stays, unsynced data may be lost, and dead processes write nothing."""

from __future__ import annotations

import sqlite3
from contextlib import closing, contextmanager
from random import Random
from typing import TYPE_CHECKING

import pytest

from simulation.disk import SECTOR, Disk

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from simulation.disk import Process

SEEDS = range(20)
ROWS = "SELECT word FROM words ORDER BY word"


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


@contextmanager
def of_seed(folder: Path, seed: int) -> Iterator[tuple[Disk, Path]]:
    """A disk of its own, and the name of a database on it."""
    inner = folder / f"{seed}"
    inner.mkdir()
    with closing(Disk(inner, Random(seed))) as disk:
        yield disk, inner / "a.db"


def cut(folder: Path, seed: int) -> None:
    """Let a disk whose content is all durable lose power at once."""
    with closing(Disk(folder, Random(seed))) as disk:
        disk.power_cut()


def opened(process: Process, path: Path, synchronous: str = "FULL") -> sqlite3.Connection:
    connection = process.connect(path, wait=0)
    assert connection.execute("PRAGMA journal_mode = WAL").fetchone()[0] == "wal"
    connection.execute(f"PRAGMA synchronous = {synchronous}")
    connection.execute("CREATE TABLE IF NOT EXISTS words (word TEXT)")
    return connection


def put(connection: sqlite3.Connection, word: str) -> None:
    connection.execute("INSERT INTO words VALUES (?)", (word,))


def words(connection: sqlite3.Connection) -> list[str]:
    return [row[0] for row in connection.execute(ROWS)]


def test_what_is_there_is_durable(folder: Path) -> None:
    (folder / "inner").mkdir()
    (folder / "inner" / "file").write_bytes(b"word")
    (folder / "inner" / "file").chmod(0o600)
    for seed in SEEDS:
        cut(folder, seed)
        assert (folder / "inner" / "file").read_bytes() == b"word"
        assert (folder / "inner" / "file").stat().st_mode & 0o777 == 0o600


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


def test_two_names_of_a_file_stay_so(disk: Disk, folder: Path) -> None:
    (folder / "one").write_bytes(b"word")
    (folder / "two").hardlink_to(folder / "one")
    disk.kill()
    assert (folder / "two").stat().st_nlink == 2
    assert (folder / "two").read_bytes() == b"word"


def test_who_is_killed_loses_nothing_until_the_power_fails(folder: Path) -> None:
    seen = set()
    for seed in SEEDS:
        with closing(Disk(folder, Random(seed))) as disk:
            (folder / "file").write_bytes(b"word")
            disk.kill()
            assert (folder / "file").read_bytes() == b"word"
            disk.power_cut()
            seen.add((folder / "file").exists())
            (folder / "file").unlink(missing_ok=True)
    assert seen == {True, False}


def test_what_is_done_after_the_failure_has_no_effect(disk: Disk, folder: Path) -> None:
    (folder / "kept").write_bytes(b"word")
    for path in (folder / "kept", folder):
        disk.process().sync(path)
    connection = opened(disk.process(), folder / "a.db")
    connection.execute("BEGIN")
    put(connection, "open")
    disk.fail(power=False)
    (folder / "kept").unlink()
    (folder / "late").touch()
    with pytest.raises(sqlite3.OperationalError, match="disk I/O"):
        connection.execute("COMMIT")
    connection.close()
    disk.restart()
    assert {path.name for path in folder.iterdir()} == {"kept", "a.db", "a.db-wal", "a.db-shm"}
    with closing(opened(disk.process(), folder / "a.db")) as connection:
        assert words(connection) == []


def test_a_process_dies_alone_and_lets_go_of_its_locks(disk: Disk, folder: Path) -> None:
    one, other = disk.process(), disk.process()
    dying, living = (opened(process, folder / "a.db") for process in (one, other))
    put(dying, "kept")
    dying.execute("BEGIN IMMEDIATE")
    put(dying, "open")
    reading = dying.execute(ROWS)  # somebody holds it still
    reading.fetchone()
    with pytest.raises(sqlite3.OperationalError, match="locked"):
        living.execute("BEGIN IMMEDIATE")
    one.kill()
    put(living, "later")
    assert words(living) == ["kept", "later"]
    living.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    with pytest.raises(sqlite3.OperationalError, match="unable to open"):
        one.connect(folder / "a.db", wait=0)


def test_a_sync_that_fails_is_said_and_may_have_lost_what_it_was_to_keep(folder: Path) -> None:
    found = set()
    for seed in SEEDS:
        with of_seed(folder, seed) as (disk, path):
            connection = opened(process := disk.process(), path)
            process.sync(path.parent)
            disk.faults.sync = 1.0
            with pytest.raises(OSError, match=r"Input/output"):
                process.sync(path)
            with pytest.raises(sqlite3.OperationalError, match="disk I/O"):
                put(connection, "failed")
            assert words(connection) == []
            disk.faults.sync = 0.0
            if seed % 2:
                put(connection, "later")
            disk.power_cut()
            with closing(opened(disk.process(), path)) as connection:
                found.add((seed % 2, *words(connection)))
    assert found == {(0,), (0, "failed"), (1, "later")}


def test_a_full_disk_is_said_and_nothing_is_half_there(folder: Path) -> None:
    for seed in SEEDS:
        with of_seed(folder, seed) as (disk, path):
            connection = opened(disk.process(), path)
            disk.faults.full = 0.2
            said = []
            for number in range(20):
                try:
                    put(connection, f"{number:03}")
                except sqlite3.OperationalError as error:
                    assert "full" in str(error)  # noqa: PT017 - not every write fails
                else:
                    said.append(f"{number:03}")
            disk.faults.full = 0.0
            assert words(connection) == said
            disk.power_cut()
            with closing(opened(disk.process(), path)) as connection:
                assert set(words(connection)) >= set(said)
