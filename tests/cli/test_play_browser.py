"""`pbem play --browser` as a command: when it serves its page, how it ends, and what it takes from whom."""

from __future__ import annotations

import http.client
import json
import os
import re
import subprocess
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import msgspec
import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    PrivateFormat,
    PublicFormat,
)
from judges.messages import pseudo_language
from machines.post_office import PBEM
from signing import passkeys
from signing.passkeys import Wish

from pbem.cli.play import terminal
from pbem.cli.play.terminal import Terminal
from pbem.i18n import template_folder
from pbem.letters.render import Templates
from pbem.player import PlayerTrouble, page_room
from pbem.player.account_file import Account, places
from pbem.player.page_room import PlayRoom
from pbem.player.page_views import RegisterRequest
from pbem.player.play_table import PlayTable
from pbem.player.signing import CannotSign, SigningKey

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pbem.json_object import JsonObject
    from pbem.player.page_port import PageAnswer

SECRET = "opensesame"


@contextmanager
def started(user: Path, *words: str, **environment: str) -> Iterator[subprocess.Popen[str]]:
    known = {"PATH": os.environ["PATH"], "HOME": str(user), "LC_ALL": "C.UTF-8", "BROWSER": "true", **environment}
    pipe = subprocess.PIPE
    with subprocess.Popen(
        [PBEM, "play", *words], env=known, stdin=subprocess.DEVNULL, stdout=pipe, stderr=subprocess.STDOUT, text=True
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def address_of(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    while not (found := re.search(r"http://\S+", line := process.stdout.readline())):
        assert line
    return found[0]


def entered(address: str) -> tuple[http.client.HTTPConnection, str, dict[str, str]]:
    """A connection of the browser that opens the address, the page's path, and what it sends along."""
    url = urlsplit(address)
    connection = http.client.HTTPConnection(url.netloc, timeout=20)
    connection.request("GET", url.path)
    answer = connection.getresponse()
    cookie = answer.headers["Set-Cookie"]
    answer.read()
    path = cookie.partition("Path=")[2].partition(";")[0]
    headers = {"Cookie": cookie, "Origin": f"http://{url.netloc}", "Content-Type": "application/json"}
    return connection, path, headers


def test_with_a_desktop_and_no_terminal_there_is_a_page_until_stop(tmp_path: Path) -> None:
    with started(tmp_path, DISPLAY=":9") as process:
        connection, path, headers = entered(address_of(process))
        connection.request("GET", path, headers=headers)
        assert "Play now, against a program" in connection.getresponse().read().decode()
        connection.request("POST", f"{path}stop", "{}", headers)
        assert connection.getresponse().status == 200
        assert process.wait(20) == 0


def test_without_a_desktop_there_is_none(tmp_path: Path) -> None:
    with started(tmp_path) as process:
        said, _ = process.communicate(timeout=20)
        assert "You have no account yet" in said


class Unlocked(Terminal):
    """A terminal where the passphrase is typed."""

    def passphrase(self, _prompt: str, /) -> str:
        return SECRET


@pytest.fixture
def table(tmp_path: Path) -> Iterator[PlayTable]:
    """The table of an account whose key has a passphrase, and whose letters go nowhere."""
    folders = places({"HOME": str(tmp_path)})
    key, private = tmp_path / "key", Ed25519PrivateKey.generate()
    locked = private.private_bytes(Encoding.PEM, PrivateFormat.OpenSSH, BestAvailableEncryption(SECRET.encode()))
    key.write_bytes(locked)
    public = private.public_key().public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH)
    key.with_name("key.pub").write_bytes(public)
    for part in ("cur", "new", "tmp"):
        (tmp_path / "mail" / part).mkdir(parents=True)
    folders.save(
        Account(
            name="anna",
            server="play.example",
            server_address="pbem@play.example",
            address="anna@home.example",
            key=str(key),
            mail_in=f"maildir:{tmp_path}/mail",
            mail_out=f"drafts:{tmp_path}/drafts",
        )
    )
    table = PlayTable(folders, "", Unlocked())
    with table.afterwards:
        yield table


def test_a_passphrase_is_asked_for_at_the_start_alone(table: PlayTable) -> None:
    asked: list[str] = []

    def passphrase(prompt: str) -> str:
        asked.append(prompt)
        return SECRET

    table.front = front = Unlocked()
    front.passphrase = passphrase  # type: ignore[method-assign]
    room = PlayRoom(table.folders, "", "en", print)
    room.seat(table)
    assert len(asked) == 1
    assert "SSH SIGNATURE" in table.key.sign(b"text", "pbem@play.example")
    assert len(asked) == 1


def test_a_touch_is_asked_for_on_the_page_at_once(table: PlayTable, capfd: pytest.CaptureFixture[str]) -> None:
    """Not when the device has signed, or has not: the terminal may be out of sight."""
    room = PlayRoom(table.folders, "", "de", print)
    room.seat(table)
    table.front.touch()
    _, latest = room.news.after(0, 1.0)
    assert isinstance(latest, dict)
    assert latest["told"] == ["Berühre jetzt deinen Sicherheitsschlüssel: Dann signiert er."]
    assert "Berühre jetzt" in capfd.readouterr().out


def test_what_is_waited_for_and_what_is_wrong_is_on_the_page_until_it_is_over(
    table: PlayTable, tmp_path: Path
) -> None:
    room = PlayRoom(table.folders, "", "en", print)
    room.seat(table)

    def shown(what: str) -> Any:
        latest: Any = room.news.after(0, 0.0)[1]
        return latest[what]

    with room.waiting("the house"):
        assert shown("waiting") == "the house"
    (tmp_path / "mail").rename(tmp_path / "away")
    room.look()
    assert shown("waiting") == ""
    (wrong,) = shown("troubles")
    assert wrong.startswith(f"{tmp_path}/mail is no Maildir yet")
    (tmp_path / "away").rename(tmp_path / "mail")
    room.look()
    assert shown("troubles") == [wrong], "it looks again after a while"
    room._next.clear()
    assert room.look() <= 1.0
    assert shown("troubles") == []
    assert shown("told") == [wrong]


def acted(room: PlayRoom, *acts: tuple[str, JsonObject]) -> list[JsonObject | None]:
    """The results of pressing these buttons, in order."""
    found: list[PageAnswer | None] = []

    def press() -> None:
        found.extend(room.act(name, asked) for name, asked in acts)
        room.work.stop()

    thread = threading.Thread(target=press)
    thread.start()
    room.work.run(room.look)
    thread.join()
    return [one and json.loads(one.content) for one in found]


ANNA = {"account": "anna@play.example"}
IMPOSSIBLE: dict[str, tuple[str, dict[str, object]]] = {
    "No letter about m1 has come. `pbem play`": (
        "send",
        {**ANNA, "match": "m1", "text": "Gx3", "shown": ["playing", 1, 1, ""]},
    ),
    "There is no account bob@play.example her": ("judge", {"account": "bob@play.example", "match": "m1"}),
    "set": ("say", {**ANNA, "match": "m1", "what": "set", "word": "language de"}),
    **{what: ("say", {**ANNA, "match": "m1", "what": what}) for what in ("resign", "accept", "take-back")},
    "chess is no game that programs play.": ("practise", {"game": "chess"}),
    "anna": ("register", {"account": "anna", "address": "anna@home.example"}),
    "A password does not belong in a URL": (
        "register",
        {**ANNA, "address": "anna@home.example", "mail_in": "imaps://anna:xyzzy@home.example", "password": "xyzzy"},
    ),
}
"""What a page may ask for in vain, by the beginning of what is said."""


def test_what_cannot_be_done_is_said_and_nothing_is_signed(table: PlayTable) -> None:
    room = PlayRoom(table.folders, "", "en", print)
    assert room.seat(table) == ANNA["account"]
    found = acted(room, ("nonsense", ANNA), ("send", {"account": 3}), *IMPOSSIBLE.values())
    assert found[:2] == [None, None]
    said = [str((one or {}).get("error")) for one in found[2:]]
    assert [one.partition(":")[0][:40] for one in said] == [*IMPOSSIBLE]
    assert "accept: nobody was shown m1; nothing was signed. Look again." in said
    assert table.letters.memory.count() == 0
    table.letters.memory.close()
    failed = room.tried(table.letters.memory.count)
    assert failed.startswith("The memory cannot be read or written: Cannot operate on a closed database")


def test_what_cannot_be_done_is_said_in_the_language_of_the_page(table: PlayTable, tmp_path: Path) -> None:
    """In one that nobody speaks: a sentence that is in no catalogue would stand in English."""
    pseudo_language(tmp_path / "templates", "eo")
    room = PlayRoom(table.folders, "", "en", print)
    room._templates = Templates(template_folder(), tmp_path / "templates").of("eo")
    room.seat(table)
    for one in acted(room, *IMPOSSIBLE.values()):
        said = str((one or {}).get("error"))
        assert re.match(r"⟦[^ -~]*", said), said
        facts = r"`[^`]*`|\S+@\S+|--\S+|\bm1\b|\b(?:anna|chess|set|resign|accept|take-back)\b"
        assert not re.search("[A-Za-z]{2,}", re.sub(facts, "", said)), said


def test_what_is_asked_is_signed_once_and_kept(table: PlayTable) -> None:
    room = PlayRoom(table.folders, "", "en", print)
    anna = {"account": room.seat(table)}
    options = "spaceships with bob\nsealed: yes"
    assert acted(room, ("new", {**anna, "what": "new", "word": options})) == [{"sent": True}]
    (sent,) = table.letters.memory.in_state("sent")
    gone = {**anna, "what": "tournament", "word": "spaceships\ncloses: 2026-01-01"}
    (refused,) = acted(room, ("announce", gone))
    assert refused is not None
    assert "entries close on a day to come" in refused["error"]
    closes = (table.now() + timedelta(days=9)).date()
    cup = f"spaceships\nformat: round robin\ncloses: {closes}"
    assert acted(room, ("announce", {**anna, "word": cup})) == [{"sent": True}]
    _, announced = table.letters.memory.in_state("sent")
    assert announced.form.startswith("tournament new spaceships\n")
    assert f"closes: {closes}\n" in announced.form
    assert sent.form.startswith("new spaceships with bob\n")
    assert "sealed: yes\n" in sent.form
    told = room.news.after(0, 1)[1]
    assert isinstance(told, dict)
    assert "new: a draft" in " ".join(told["told"])


@pytest.mark.parametrize(
    ("environment", "language"),
    [
        ({}, "en"),
        ({"LANG": "de_AT.UTF-8"}, "de"),
        ({"LANG": "de_DE", "LC_ALL": "C.UTF-8"}, "en"),
        ({"LANG": "xx_YY"}, "en"),
    ],
)
def test_the_language_is_that_of_the_user(environment: dict[str, str], language: str) -> None:
    assert terminal.language_of(environment) == language


PASSKEY = ec.derive_private_key(1234567890, ec.SECP256R1())
TEXT, NAMESPACE = b"orders m1 turn 1\nGx3\nend\n", "pbem@play.example"
HERE = Wish(origin="http://localhost:40321", host="localhost")


def wanted_by(room: PlayRoom) -> Any:
    """The text that a page would be asked to have signed."""
    latest: Any = room.news.after(0, 0.0)[1]
    return latest.get("wanted")


def asked_to_sign(room: PlayRoom, *answers: JsonObject) -> str:
    """The result of the page's answers to a text to be signed; an answer without a number gets the question's."""
    line = f"{passkeys.public(PASSKEY, 'localhost')} pbem@browser AAAA"
    key = SigningKey(Path("none.pub"), line, str, lambda: None)
    with ThreadPoolExecutor(1) as pool:
        done = pool.submit(room.signed, key, TEXT, NAMESPACE)
        while not (wanted := wanted_by(room)):
            time.sleep(0.01)
        assert wanted["key"] == key.public
        assert (wanted["text"], wanted["server"]) == (TEXT.decode(), "play.example")
        for answer in answers:
            assert room.act("touched", {"number": wanted["number"], **answer})
        return done.result(20)


def test_a_passkey_that_does_not_register_replaces_none(table: PlayTable) -> None:
    """The file of the one that signs for the account says how the browser finds it: without it, nothing signs."""
    room = PlayRoom(table.folders, "", "en", print)
    lines = [f"{passkeys.public(PASSKEY, 'localhost')} pbem@browser {name}" for name in ("AAAA", "BBBB")]
    for line in lines:
        asked = {"account": "zoe@play.example", "address": "zoe@mail.example", "passkey": line, "mail_in": "nowhere"}
        with pytest.raises((PlayerTrouble, ValueError)):
            room._register(msgspec.convert(asked, RegisterRequest))
    found = sorted(path.read_text().strip() for path in table.folders.config.glob("zoe@*.pub"))
    assert found == lines


def test_a_page_signs_with_a_passkey(table: PlayTable, monkeypatch: pytest.MonkeyPatch) -> None:
    room = PlayRoom(table.folders, "", "en", print)
    armor = passkeys.sign(PASSKEY, TEXT, NAMESPACE, HERE, "localhost")
    assert asked_to_sign(room, {"armor": armor}) == armor
    assert asked_to_sign(room, {"number": 1, "error": "late"}, {"armor": armor}) == armor
    other = passkeys.sign(PASSKEY, TEXT + b"x", NAMESPACE, HERE, "localhost")
    for answer, words in (
        ({"armor": other}, "does not hold"),
        ({"armor": "nothing"}, "does not hold"),
        ({"error": "it was cancelled"}, "Nothing was signed: it was cancelled"),
    ):
        with pytest.raises(CannotSign, match=words):
            asked_to_sign(room, answer)
    assert room.act("touched", {"number": "x"}) is None
    monkeypatch.setattr(page_room, "_TOUCH", 0.1)
    with pytest.raises(CannotSign, match="Nobody touched"):
        asked_to_sign(room)
    assert wanted_by(room) is None
