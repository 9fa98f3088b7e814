"""The bundle as a file: one canonical way to write it, and every other way refused with `NotABundle` alone."""

from __future__ import annotations

import io
import subprocess
import time
import tracemalloc
import zipfile
from typing import TYPE_CHECKING

import pytest
from msgspec.structs import replace

from pbem.match.transcript import BEFORE, Entry
from pbem.proof.bundle import Bundle, NotABundle, read, write

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

FIRST = Entry(1, BEFORE, "2026-03-01T12:00:00Z", "agreed", {"match": "m1"})
SECOND = Entry(
    2, FIRST.head, "2026-03-01T12:00:00Z", "commitments", {"game": 1, "commitments": {"2": "b" * 64, "1": "a" * 64}}
)
PAPERS = {
    "openings/game-1-seat-1.txt": b"opening one\n",
    "openings/game-1-seat-2.txt": b"opening two\n",
    "letters/game-1-setup-seat-1.eml": b"From: ann\r\n\r\nhello",
    "records/game-1.pbem.toml": b"x = 1\n",
}
SMALL = Bundle((FIRST, SECOND), (bytes(64), bytes(range(64))), PAPERS)
GOOD = write(SMALL)


def zipped(change: Callable[[dict[str, bytes]], object] | None = None, **options: int) -> bytes:
    """The small bundle zipped again by hand, its files changed."""
    with zipfile.ZipFile(io.BytesIO(GOOD)) as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    if change:
        change(files)
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", options.get("compression", zipfile.ZIP_STORED)) as archive:
        for path, content in files.items():
            info = zipfile.ZipInfo(path, (options.get("year", 1980), 1, 1, 0, 0, 0))
            info.create_system = options.get("system", 3)
            info.external_attr = options.get("mode", 0o644) << 16
            archive.writestr(info, content, compress_type=options.get("compression", zipfile.ZIP_STORED))
    return buffer.getvalue()


def refused(content: bytes) -> str:
    with pytest.raises(NotABundle) as caught:
        read(content)
    said = str(caught.value)
    assert said not in {"", "None"}
    return said


def test_what_is_written_reads_back() -> None:
    assert read(GOOD) == SMALL
    assert write(read(GOOD)) == GOOD
    assert zipped() == GOOD


def test_stock_tools_open_it(tmp_path: Path) -> None:
    file = tmp_path / "m1.zip"
    file.write_bytes(GOOD)
    assert zipfile.ZipFile(file).testzip() is None
    done = subprocess.run(["python3", "-m", "zipfile", "-l", str(file)], capture_output=True, text=True, check=True)
    assert "openings/game-1-seat-2.txt" in done.stdout
    with zipfile.ZipFile(file) as archive:
        listed = archive.read("commitments.sha256").decode()
    assert listed == f"{'a' * 64}  openings/game-1-seat-1.txt\n{'b' * 64}  openings/game-1-seat-2.txt\n"


@pytest.mark.parametrize(
    "options",
    [
        {"compression": zipfile.ZIP_DEFLATED},
        {"compression": zipfile.ZIP_BZIP2},
        {"compression": zipfile.ZIP_LZMA},
        {"year": 1981},
        {"system": 0},
        {"mode": 0o755},
    ],
    ids=str,
)
def test_another_way_to_zip_is_refused(options: dict[str, int]) -> None:
    refused(zipped(None, **options))


def test_bytes_around_it_are_refused() -> None:
    for content in (
        b"x" + GOOD,
        GOOD + b"x",
        GOOD + b"\0" * 30,
        GOOD + GOOD,
        b"#!/bin/sh\n" * 20 + GOOD,
        b"",
        GOOD[:-1],
    ):
        refused(content)


def test_comments_are_refused() -> None:
    with zipfile.ZipFile(buffer := io.BytesIO(GOOD), "a") as archive:
        archive.comment = b"hello"
    assert read(GOOD)
    refused(buffer.getvalue())

    info = zipfile.ZipInfo("records/game-9.pbem.toml", (1980, 1, 1, 0, 0, 0))
    info.create_system, info.external_attr, info.comment = 3, 0o644 << 16, b"hello"
    with zipfile.ZipFile(buffer := io.BytesIO(GOOD), "a") as archive:
        archive.writestr(info, b"x")
    refused(buffer.getvalue())


def test_one_name_twice_is_refused() -> None:
    with (
        pytest.warns(UserWarning, match="Duplicate name"),
        zipfile.ZipFile(buffer := io.BytesIO(GOOD), "a") as archive,
    ):
        archive.writestr("openings/game-1-seat-1.txt", b"opening one\n")
    assert "openings/game-1-seat-1.txt" in refused(buffer.getvalue())


@pytest.mark.parametrize(
    "path",
    [
        "../evil.txt",
        "/etc/passwd",
        "letters/../../x.txt",
        "letters/a/b.txt",
        "letters/x.exe",
        "readme.txt",
        "letters/",
        "letters\\x.txt",
        "LETTERS/x.txt",
        "letters/X.txt",
        "letters/x.txt\n",
        "letters/é.txt",
        "x" * 60_000,
        ".",
    ],
    ids=lambda path: path[:20],
)
def test_paths_that_have_no_place_are_refused(path: str) -> None:
    content = write(replace(SMALL, papers={**PAPERS, path: b"x"}))
    refused(content)


@pytest.mark.parametrize("path", ["transcript.jsonl", "heads.txt", "commitments.sha256"])
def test_each_of_the_three_lists_must_be_there_and_right(path: str) -> None:
    assert path in refused(zipped(lambda files: files.pop(path)))
    refused(zipped(lambda files: files.update({path: b""})))
    refused(zipped(lambda files: files.update({path: files[path] + b"x"})))
    refused(zipped(lambda files: files.update({path: files[path] + b"\n"})))
    refused(zipped(lambda files: files.update({path: files[path].replace(b"\n", b"\r\n")})))
    refused(zipped(lambda files: files.update({path: files.pop(path)})))  # in its wrong place
    refused(zipped(lambda files: files.update({path: b"\xff\xfe" + files[path]})))


HOSTILE_LINES = [
    b"",
    b"[]",
    b"null",
    b"{}",
    b"[" * 100_000,
    b'{"body":' * 20_000,
    b'{"body":{"x":' + b"[" * 900 + b"]" * 900 + b'},"prev":"","seq":1,"time":"","type":"x"}',
    b'{"body":{"game":1},"prev":"","seq":1,"time":"","type":"commitments"}',
    b'{"body":{"commitments":[],"game":1},"prev":"","seq":1,"time":"","type":"commitments"}',
    b'{"body":{"commitments":{"x":1},"game":1},"prev":"","seq":1,"time":"","type":"commitments"}',
    b'{"body":{"commitments":{"1":1},"game":"\\ud800"},"prev":"","seq":1,"time":"","type":"commitments"}',
    b'{"body":{},"prev":"","seq":' + b"9" * 5000 + b',"time":"","type":"x"}',
    b'{"body":{},"prev":"","seq":-1,"time":"","type":"x"}',
]


@pytest.mark.parametrize("line", HOSTILE_LINES, ids=range(len(HOSTILE_LINES)))
def test_hostile_transcripts_are_refused(line: bytes) -> None:
    refused(zipped(lambda files: files.update({"transcript.jsonl": line + b"\n"})))


def test_no_nesting_escapes() -> None:
    """At some depth reading passes and writing again does not: the depths around the recursion limit, all of them."""
    for depth in range(650, 1000):
        body = {"x": 1}
        line = b'{"body":{"x":' + b"[" * depth + b"]" * depth + b'},"prev":"","seq":1,"time":"","type":"x"}\n'
        head = Entry(1, "", "", "x", body).head
        heads = f"1 {head} {'0' * 128}\n".encode()

        def change(files: dict[str, bytes], line: bytes = line, heads: bytes = heads) -> None:
            files.update({"transcript.jsonl": line, "heads.txt": heads})

        refused(zipped(change))


def test_every_byte_counts() -> None:
    for at in range(len(GOOD)):
        for change in (1, 0x80):
            changed = bytearray(GOOD)
            changed[at] ^= change
            refused(bytes(changed))


def test_dropped_doubled_and_cut_bytes_are_refused() -> None:
    for at in range(len(GOOD)):
        refused(GOOD[:at] + GOOD[at + 1 :])
        refused(GOOD[:at])
        if at % 7 == 0:
            refused(GOOD[:at] + GOOD[at : at + 1] + GOOD[at:])


def test_a_compressed_bomb_is_refused_before_it_is_unpacked() -> None:
    with zipfile.ZipFile(buffer := io.BytesIO(), "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("letters/x.txt", bytes(60_000_000))
    _cheaply(buffer.getvalue())


def overlapping(count: int, size: int) -> bytes:
    """Many names in the list of files, all of them over the same bytes: each file holds the headers of the next."""
    kernel = bytes(size)
    bodies: list[tuple[str, bytes]] = [(f"letters/n{count}.txt", kernel)]
    for number in range(count - 1, 0, -1):
        inner = _local(*bodies[-1])
        bodies.append((f"letters/n{number}.txt", inner))
    whole = _local(*bodies[-1])
    offset, central = 0, b""
    for name, content in reversed(bodies):
        with zipfile.ZipFile(buffer := io.BytesIO(), "w") as archive:
            archive.writestr(zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0)), content)
            start = archive.fp.tell() if archive.fp else 0
        entry = bytearray(buffer.getvalue()[start : start + 46 + len(name)])
        entry[42:46] = offset.to_bytes(4, "little")
        central += entry
        offset += 30 + len(name)
    end = b"PK\x05\x06" + bytes(4) + count.to_bytes(2, "little") * 2
    return whole + central + end + len(central).to_bytes(4, "little") + len(whole).to_bytes(4, "little") + bytes(2)


def _local(name: str, content: bytes) -> bytes:
    with zipfile.ZipFile(buffer := io.BytesIO(), "w") as archive:
        archive.writestr(zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0)), content)
        end = archive.fp.tell() if archive.fp else 0
    return buffer.getvalue()[:end]


def test_files_that_share_their_bytes_are_refused_before_they_are_read() -> None:
    content = overlapping(200, 500_000)
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        assert len(archive.namelist()) == 200
        assert archive.getinfo("letters/n3.txt").file_size > 500_000
    _cheaply(content)


def _cheaply(content: bytes) -> None:
    tracemalloc.start()
    began = time.monotonic()
    refused(content)
    assert time.monotonic() - began < 5
    assert tracemalloc.get_traced_memory()[1] < 4 * len(content) + 10_000_000
    tracemalloc.stop()


def test_what_is_wrong_is_named() -> None:
    at = GOOD.index(b"opening two")
    changed = bytearray(GOOD)
    changed[at] ^= 1
    assert "openings/game-1-seat-2.txt" in refused(bytes(changed))
    assert "openings/game-1-seat-2.txt was changed" in refused(GOOD.replace(b"opening two", b"opening to"))
    assert "openings/game-1-seat-2.txt was changed" in refused(bytes(changed[: at + 3]))
    listed = bytearray(GOOD)
    listed[-30] ^= 1
    assert "the list of files" in refused(bytes(listed))
