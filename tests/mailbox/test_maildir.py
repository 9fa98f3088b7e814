"""A mailbox in a Maildir, the envelope that a letter shows there, and passwords."""

from __future__ import annotations

import contextlib
import errno
import os
import socket
import threading
import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest

from pbem.mailbox import MailboxUnreachable, PasswordError, Withheld, password, token
from pbem.mailbox.maildir import Maildir, put
from pbem.server.fetching import recipients, sender

if TYPE_CHECKING:
    from pathlib import Path

LETTER = b"From: a@b.example\n\nhello\n"


def test_letters_come_with_the_line_ends_of_the_wire_and_are_renamed_when_done_with(tmp_path: Path) -> None:
    box = Maildir(tmp_path, most=1000)
    put(tmp_path, "2.x", b"second\n")
    put(tmp_path, "1.x", LETTER)
    os.utime(tmp_path / "new" / "1.x", (1, 1))
    (tmp_path / "cur" / "3.x:2,S").write_bytes(b"a\r\nb\n")
    (tmp_path / "cur" / "4.x:2,ST").write_bytes(b"trashed")
    (tmp_path / ".Junk" / "new").mkdir(parents=True)
    (tmp_path / ".Junk" / "new" / "5.x").write_bytes(b"spam\n")
    found = list(box.letters())
    assert [one.raw for one in found] == [LETTER.replace(b"\n", b"\r\n"), b"second\r\n", b"a\r\nb\n", b"spam\r\n"]
    for one in found:
        box.done(one.handle)
    assert not list(box.letters())
    assert sorted(path.name for path in (tmp_path / ".pbem.done" / "cur").iterdir()) == [
        f"{number}.x:2,S" for number in (1, 2, 3, 5)
    ]
    box.done(found[0].handle)  # again


@pytest.mark.parametrize("year", [2000, 2100])
def test_what_lay_there_is_left_alone_once_there_is_a_mark_of_it(tmp_path: Path, year: int) -> None:
    """The clock that dates the files decides, not that of a database elsewhere, which is decades wrong."""
    now = datetime.now(UTC)
    put(tmp_path, "1", LETTER)
    (tmp_path / "cur" / "2:2,S").write_bytes(LETTER)
    (tmp_path / ".Junk" / "cur").mkdir(parents=True)
    (tmp_path / ".Junk" / "cur" / "3:2,S").write_bytes(LETTER)
    (tmp_path / "tmp").rmdir()
    for path in tmp_path.rglob("*"):
        if path.is_file():
            os.utime(path, (now.timestamp() - 1,) * 2)
    box = Maildir(tmp_path, most=1000)
    left = box.mark(datetime(year, 3, 1, 12, tzinfo=UTC))
    assert left.letters == 3
    box.leave(left.mark)
    assert not list(box.letters())
    start = time.monotonic()
    box.wait(0.2)
    assert time.monotonic() - start > 0.1, "what is left alone is nothing that came"
    put(tmp_path, "4", b"new\n")
    assert [one.raw for one in box.letters()] == [b"new\r\n"]
    assert [one.raw for one in box.letters(lambda handle: handle.name == "4")] == []


def test_of_a_letter_that_is_too_long_only_so_much_is_read(tmp_path: Path) -> None:
    put(tmp_path, "1", b"x" * 100)
    assert [len(one.raw) for one in Maildir(tmp_path, most=10).letters()] == [11]


def test_a_folder_that_is_none(tmp_path: Path) -> None:
    with pytest.raises(MailboxUnreachable, match="is no Maildir"):
        list(Maildir(tmp_path / "nowhere", most=10).letters())


def test_it_waits_until_something_comes_or_it_is_interrupted(tmp_path: Path) -> None:
    put(tmp_path, "1", LETTER)
    box = Maildir(tmp_path, most=1000)
    box.done(next(box.letters()).handle)
    for call in (lambda: put(tmp_path, "2", LETTER), box.interrupt):
        timer = threading.Timer(0.05, call)
        timer.start()
        box.wait(600)
        timer.join()


@pytest.mark.parametrize(
    ("header", "found"),
    [
        (b"Return-Path: <a@b.example>\r\n", "a@b.example"),
        (b"Return-Path:\r\n <a@b.example>\r\n", "a@b.example"),
        (b"Return-Path: <>\r\nReturn-Path: <a@b.example>\r\n", ""),
        (b"return-path: < >\n", ""),
        (b"Return-Path: nonsense\r\n", ""),
        (b"X: y\r\n\r\nReturn-Path: <a@b.example>\r\n", ""),
        (b'From: "x@y.example" <a@b.example>\r\n', "a@b.example"),
        (b"From: a@b.example (A)\r\nReturn-Path: <c@d.example>\r\n", "c@d.example"),
        (b"From: a@b.example\r\nReturn-Path: <>\r\n", ""),
        (b"From: a@b.example\r\n", "a@b.example"),
        (b"", ""),
    ],
)
def test_the_sender_is_in_the_topmost_return_path(header: bytes, found: str) -> None:
    assert sender(header + b"\r\nbody") == found


def test_recipients_are_those_of_the_delivery_first() -> None:
    raw = (
        b"To: Pbem <pbem@play.example>,\r\n\tother@example.org\r\nDelivered-To: pbem+m1.tok@play.example\r\n"
        b"X-Original-To: x@play.example\r\nCC: c@example.org\r\nBcc: d@example.org\r\n\r\nTo: e@example.org\r\n"
    )
    wanted = ["pbem+m1.tok@play.example", "x@play.example", "pbem@play.example", "other@example.org", "c@example.org"]
    assert list(recipients(raw)) == wanted
    assert recipients(b"") == ()
    assert len(recipients(b"".join(b"To: a%d@b.example\r\n" % n for n in range(9999)))) == 50


def test_a_password_is_in_a_file_of_ones_own_or_printed(tmp_path: Path) -> None:
    file = tmp_path / "password"
    file.write_text("open sesame\r\nmore\n", "utf-8")
    file.chmod(0o600)
    assert password(str(file), "") == "open sesame"
    assert password("", "echo 'open  sesame'") == "open  sesame"
    assert password("", "") == ""


def test_what_is_no_password_is_said_without_showing_any(tmp_path: Path) -> None:
    file = tmp_path / "password"
    file.write_text("open sesame", "utf-8")
    file.chmod(0o644)
    (tmp_path / "latin").write_bytes("s\xe9same\n".encode("latin-1"))
    (tmp_path / "latin").chmod(0o600)
    for named, command, why in (
        (str(file), "", "can be read by others: chmod 600"),
        (str(tmp_path / "nothing"), "", "No such file"),
        (str(tmp_path / "latin"), "", "no password in its first line"),
        ("", "false", "ended with status 1"),
        ("", str(tmp_path / "no-such-command"), "FileNotFoundError"),  # in no PATH: not all of it may be open to us
        ("", "true", "no password in its first line"),
        ("", "'", "ValueError"),
    ):
        with pytest.raises(PasswordError, match=why) as error:
            password(named, command)
        assert "sesame" not in str(error.value)


def test_a_token_is_what_a_command_prints() -> None:
    assert token("echo ya29.first") == "ya29.first"
    with pytest.raises(PasswordError, match="no token in its first line"):
        token("true")


def _others(new: Path, outside: Path) -> None:
    """Files in a Maildir that are no letters."""
    outside.write_bytes(b"the key of the store")
    (new / "0.link").symlink_to(outside)
    (new / "0.dangling").symlink_to(outside.with_name("nothing"))
    (new / "0.round").symlink_to(new / "0.round")
    (new / "0.folder").mkdir()
    os.mkfifo(new / "0.pipe")
    listening = socket.socket(socket.AF_UNIX)
    with contextlib.closing(listening), contextlib.chdir(new):
        listening.bind("0.socket")


def test_what_is_no_file_is_no_letter_and_stops_none(tmp_path: Path) -> None:
    """A link would bring any file of ours into an answer; a pipe would never end; one name must not stop all mail."""
    path = tmp_path / "Maildir"
    put(path, "1", LETTER)
    _others(path / "new", tmp_path / "outside")
    box = Maildir(path, most=1000)
    for one in box.letters():
        assert one.raw == LETTER.replace(b"\n", b"\r\n")
        box.done(one.handle)
    assert [file.name for file in (path / ".pbem.done" / "cur").iterdir()] == ["1:2,S"]
    assert sorted(file.name for file in (path / "new").iterdir()) == [
        "0.dangling",
        "0.folder",
        "0.link",
        "0.pipe",
        "0.round",
        "0.socket",
    ]
    began = time.monotonic()
    box.wait(0.05)
    assert time.monotonic() - began >= 0.05, "woken for nothing"


@pytest.mark.parametrize(
    "name", ["a\nb", "a\x1b[2J", "\udcff\udcfe", " ", ";rm -rf", "é:2,S", "x:2,:2,S", "n" * 255, "n" * 250 + ":2,S"]
)
def test_any_name_is_a_letters(tmp_path: Path, name: str) -> None:
    put(tmp_path, "2", LETTER)
    (tmp_path / "cur" / name).write_bytes(b"1" + LETTER)
    box = Maildir(tmp_path, most=1000)
    found = list(box.letters())
    assert len(found) == 2
    for one in found:
        box.done(one.handle)
    assert not list(box.letters())
    assert len(list((tmp_path / ".pbem.done" / "cur").iterdir())) == 2


@pytest.mark.parametrize(
    ("lies", "given"),
    [
        (b"A: b\n\nc\n", b"A: b\r\n\r\nc\r\n"),
        (b"A: b\n\nc\r\nd\n", b"A: b\r\n\r\nc\r\r\nd\r\n"),
        (b"A: b\r\n\r\nc\nd\r\n", b"A: b\r\n\r\nc\nd\r\n"),
        (b"A", b"A"),
    ],
)
def test_how_lines_end_is_seen_at_the_first(tmp_path: Path, lies: bytes, given: bytes) -> None:
    """One CRLF that its writer hid in the body would leave all other lines without one."""
    put(tmp_path, "1", lies)
    assert [one.raw for one in Maildir(tmp_path, most=1000).letters()] == [given]


def test_a_file_that_cannot_be_read_keeps_back_no_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(tmp_path, "1", LETTER)
    put(tmp_path, "2", LETTER)
    opened = os.open

    def refusing(path: Path, *more: int) -> int:
        if path.name == "1":
            raise PermissionError(errno.EACCES, "Permission denied")
        return opened(path, *more)

    monkeypatch.setattr(os, "open", refusing)
    found = Maildir(tmp_path, most=1000).letters()
    assert next(found).handle.name == "2"
    with pytest.raises(Withheld, match="1': Permission denied") as withheld:
        next(found)
    assert [handle.name for handle in withheld.value.handles] == ["1"], "all others were read: time does not stand"
