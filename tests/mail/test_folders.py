"""Letters in files and folders: each is found once, in its place, and no longer than asked for."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from pbem.mail.folders import letters

if TYPE_CHECKING:
    from pathlib import Path

MOST = 100
ONE, OTHER = b"From: anna@mail.example\n\nhelp\n", b"From: bob@mail.example\n\nFrom: x\nFrom here on\n"
BOX = b"From anna Sat Nov 21\n" + ONE + b"\nFrom bob Sat Nov 21\n" + OTHER.replace(b"\nFrom ", b"\n>From ")


def found(path: Path) -> list[tuple[str, bytes]]:
    """The letters, each with its place below a folder."""
    return [(os.path.relpath(place, path), raw) for place, raw in letters(path, MOST)]


def test_each_letter_of_a_folder_has_its_place(tmp_path: Path) -> None:
    for name in ("a", "maildir/cur", "maildir/new", "maildir/tmp", "maildir/.Archive/cur", "half/cur"):
        (tmp_path / name).mkdir(parents=True)
    for name, content in {
        "a/1.eml": ONE,
        "a/2.eml": b"",
        "a/box": BOX,
        "half/cur/1": ONE,
        "maildir/cur/1": ONE,
        "maildir/new/2": OTHER,
        "maildir/new/long": b"x" * 2 * MOST,
        "maildir/tmp/3": OTHER,
        "maildir/.Archive/cur/4": ONE,
        "z.eml": b"x" * 2 * MOST,
    }.items():
        (tmp_path / name).write_bytes(content)
    assert found(tmp_path) == [
        ("a/1.eml", ONE),
        ("a/box, letter 1", ONE),
        ("a/box, letter 2", OTHER),
        ("half/cur/1", ONE),
        ("maildir/.Archive/cur/4", ONE),
        ("maildir/cur/1", ONE),
        ("maildir/new/2", OTHER),
        ("maildir/new/long", b"x" * (MOST + 1)),
        ("z.eml", b"x" * (MOST + 1)),
    ]


def test_what_is_no_letter_is_left_out_and_no_folder_is_walked_twice(tmp_path: Path) -> None:
    """A pipe would be waited for without end, and two links to the folder they lie in are 2^40 ways to a letter."""
    folder = tmp_path / "kept"
    folder.mkdir()
    (folder / "letter").write_bytes(b"Subject: x\n\nx\n")
    (folder / "one").symlink_to(folder)
    (folder / "two").symlink_to(folder)
    (folder / "lost").symlink_to(folder / "nowhere")
    (folder / "ring").symlink_to(folder / "ring")
    os.mkfifo(folder / "pipe")
    assert [raw for _, raw in letters(folder, 100)] == [b"Subject: x\n\nx\n"]


def test_what_is_neither_a_file_nor_a_folder_is_named(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for name in ("pipe", "missing"):
        with pytest.raises(OSError, match="neither a file nor a folder") as refused:
            list(letters(tmp_path / name, MOST))
        assert refused.value.filename == str(tmp_path / name)
