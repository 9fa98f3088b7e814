"""The operator's commands, on a real store with a running match: beside a real daemon, and without one."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import resource
import secrets
import shutil
import socket
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import pytest
from click.testing import CliRunner
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    PrivateFormat,
    load_pem_private_key,
)
from in_a_box.referee import ANN, SERVER, START, Referee, placed
from machines import certificate
from machines.post_office import serving
from world.listening import free_port

from pbem.cli.group import group
from pbem.proof.verification import verify
from pbem.server.server_clock import Machine
from pbem.store import noted_time, own_keys
from pbem.store.database import Database, to_db
from pbem.store.inbox import ATTEMPTS, Envelope, Inbox
from pbem.store.noted_time import ClockReading, Noted
from pbem.store.operator import Instructions
from pbem.store.players import Players
from pbem.store.questions import Lookups
from pbem.store.sqlite import Lock, Sqlite
from pbem.store.vault import Vault
from pbem.verifier_key import LOG, VerifierKey

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Iterator

    from click.testing import Result

CONFIG = """
server = "play.example"
operator = "operator@play.example"
store = "{store}"
[smtp]
listen = "127.0.0.1:{listen}"
[smarthost]
port = {port}
[limits]
letters_kept = "10000d"
"""
# The store is of the referee's year, and the daemon lives in ours.


def give_keys(folder: Path) -> None:
    """The keys of a server whose store a referee filled."""
    keys = folder / "keys"
    keys.mkdir(mode=0o700)
    for name, content in (("store.key", bytes(32)), ("signing.key", bytes(range(32)))):
        (keys / name).write_text(content.hex() + "\n")
        (keys / name).chmod(0o600)


class House:
    """The folder of a server whose store was filled by a referee; the daemon is its own smarthost."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.port = self.listen = free_port()
        self.config = folder / "pbem.toml"
        self.store = folder / "store.sqlite"
        self.take(str(self.store))
        give_keys(folder)

    def take(self, store: str) -> None:
        """Have this store from now on."""
        self.config.write_text(CONFIG.format(store=store, port=self.port, listen=self.listen))

    def run(self, *words: str, status: int = 0) -> str:
        """A command in this process; what it printed."""
        command, *arguments = words
        groups = {"inbox", "outbox", "match", "tournament", "clock"}
        line = [command, arguments.pop(0)] if command in groups else [command]
        done: Result = CliRunner().invoke(group, [*line, *arguments, "--config", str(self.config)])
        assert done.exit_code == status, done.output
        assert done.exception is None or isinstance(done.exception, SystemExit)
        return done.output

    def found(self, *words: str) -> Any:
        return json.loads(self.run(*words, "--json"))

    @contextlib.contextmanager
    def daemon(self) -> Iterator[subprocess.Popen[str]]:
        words = ("--config", str(self.config))
        with (
            (self.folder / "log").open("wb") as log,
            serving(self.folder / "ready.json", *words, stderr=log) as (server, _),
        ):
            yield server
        self.log = (self.folder / "log").read_text()


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with match m1 under way, and a letter of each trouble."""
    folder = tmp_path_factory.mktemp("played")
    referee = Referee(folder)
    ann, bob = referee.begun()
    referee.turn((ann, "Gx3 bGx1Gx3"), (bob, ""))
    referee.turn((ann, "Ox4"))
    referee.send(ann, f"tournament new spaceships\n{placed(ann)}closes: 2026-03-10\nend\n")
    with referee.database.transaction():
        Players(referee.database).note_unreachable("bob", to_db(START), 1)
        aside = referee.inbox.put
    aside(Envelope("eve@mail.example", ("pbem@play.example",)), b"Subject: hush\r\n\r\nsecret words\r\n", START)
    with referee.database.transaction():
        number = referee.database.scalar("SELECT max(id) FROM inbox")
        referee.database.write("UPDATE inbox SET attempts = ? WHERE id = ?", (ATTEMPTS, number))
        assert referee.inbox.set_aside(number, "ref1")
        letter = ("gone@mail.example", "<9@play.example>")
        referee.outbox.put(*letter, b"Subject: x\r\n\r\nsecret report\r\n", START)
        number = referee.outbox.number(*letter)
    referee.outbox.lease(START)
    referee.outbox.failed(number, "550 5.1.1 gone", START, None)
    with referee.database.transaction():
        referee.outbox.told(number)
    referee.close()
    return folder


@pytest.fixture
def house(tmp_path: Path, played: Path) -> House:
    shutil.copy(played / "store.sqlite", tmp_path)
    return House(tmp_path)


def test_status_says_how_the_server_stands(house: House) -> None:
    text = house.run("status")
    assert text.count("  aside: three attempts failed") == 1
    assert "  aside: three attempts failed" in house.run("inbox", "list")
    assert "play.example, generation 1" in text
    assert "does not run" in text
    assert "1 aside" in text
    assert "unreachable  bob, since Sun 1 Mar 2026, 12:00 UTC" in text
    assert "1 playing" in text
    assert "turn 2 waits for bob since Sun 1 Mar 2026, 12:00 UTC, until Sun 8 Mar 2026, 12:00 UTC\n" in text
    assert "  t1         open: 0 entered; matches begun: 0\n" in text
    found = house.found("status")
    assert found["waiting"][0]["until"].startswith("2026-03-08T12:00")
    assert [t["tournament"] for t in found["tournaments"]] == ["t1"]
    assert (found["outbox"]["failed"], found["players"], found["daemon"]) == (1, 2, None)


def test_no_command_shows_a_secret_unasked(house: House) -> None:
    number = str(house.found("inbox", "list")[0]["id"])
    failed = str(house.found("outbox", "list")[0]["id"])
    shown = [
        house.run(*words, *more)
        for words in (
            ("status",),
            ("inbox", "list", "--all"),
            ("inbox", "show", number),
            ("outbox", "list", "--all"),
            ("outbox", "show", failed),
            ("match", "list"),
            ("match", "show", "m1"),
        )
        for more in ((), ("--json",))
    ]
    for text in shown:
        assert not any(word in text for word in ("secret", "hush", "Ox4", "Ov1", "bGx1Gx3", *ANN.split("\n")))
    assert "550 5.1.1 gone" in house.run("outbox", "show", failed)
    assert "waits for   bob" in house.run("match", "show", "m1")


def test_a_strangers_letter_commands_no_terminal(house: House) -> None:
    hostile = "Subject: \x1b]0;owned\x07 \u202e\x9b2J\r\n\r\nh\u00e9\tllo\rx\r\n".encode() + b"\xff\x08\r\n"
    with Database(house.store) as database:
        number = Inbox(database, Vault(bytes(32))).put(Envelope("eve\x1b[2J@mail.example", ("x",)), hostile, START)
    text = house.run("inbox", "show", str(number), "--secrets")
    assert "Look only if you must" in text
    assert [char for char in text if not char.isprintable() and char not in "\n\t"] == []
    assert "Subject: \\x1b]0;owned\\x07 \\u202e\\x9b2J\n\nh\u00e9\tllo\\rx\n\\xff\\x08\n" in text
    command = ["inbox", "show", str(number), "--secrets", "--json", "--config", str(house.config)]
    raw = json.loads(CliRunner().invoke(group, command).stdout)["raw"]
    assert raw.encode("latin-1") == hostile


def test_a_letter_is_tried_again_or_dropped(house: House) -> None:
    number = str(house.found("inbox", "list")[0]["id"])
    failed = str(house.found("outbox", "list")[0]["id"])
    house.run("inbox", "retry", number)
    found = house.found("inbox", "show", number)
    assert (found["state"], found["recipients"]) == ("waiting", ["pbem@play.example"])
    house.run("inbox", "drop", number, "--yes")
    assert house.found("inbox", "show", number)["outcome"] == "dropped by the operator"
    house.run("outbox", "retry", failed)
    assert house.found("outbox", "show", failed)["state"] == "waiting"
    house.run("outbox", "drop", failed, "--yes")
    assert house.run("outbox", "list") == "Nothing waits in the outbox.\n"
    assert "a letter has its effect once" in house.run("inbox", "retry", "1", status=4)
    assert "not sent a second time" in house.run("outbox", "drop", "1", "--yes", status=4)
    assert "there is no letter 999" in house.run("inbox", "show", "999", status=4)
    assert "is not in the range" in house.run("outbox", "show", "9" * 20, status=2)


def test_commands_go_by_the_clock_of_the_store(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    """The operator's machine is years ahead of the database: a letter would be tried again only then."""
    long_ago = datetime(2026, 11, 21, 12, tzinfo=UTC)
    monkeypatch.setattr(Sqlite, "time", lambda _, _here: long_ago)
    failed = str(house.found("outbox", "list")[0]["id"])
    house.run("outbox", "retry", failed)
    assert house.found("outbox", "show", failed)["due"][:16] == to_db(long_ago)[:16]
    house.run("match", "pause", "m1", "--reason", "we move")
    with Database(house.store) as database:
        given = database.text("SELECT given FROM instructions ORDER BY id DESC LIMIT 1")
    assert given is not None
    assert given[:16] == to_db(long_ago)[:16]


def test_without_a_daemon_the_desk_is_opened_for_a_moment(house: House) -> None:
    assert "m1 is paused." in house.run("match", "pause", "m1", "--reason", "a trip")
    assert house.found("match", "list")[0]["paused"]
    assert "reason a trip" in house.run("match", "show", "1")
    assert "the match is paused" in house.run("match", "pause", "m1", "--reason", "again", status=4)
    assert "there is no match m7" in house.run("match", "end", "m7", "--reason", "x", "--yes", status=4)
    assert "m1 is closed." in house.run("match", "end", "m1", "--reason", "enough", "--yes")
    for words in (("rule", "t7", "close"), ("pause", "7")):
        assert "there is no tournament t7" in house.run("tournament", *words, "--reason", "x", status=4)
    house.run("doctor", "--no-mail", status=1)
    with Lock(house.store):
        pass


def test_a_bundle_is_written_for_whom_it_is_too_long_to_be_mailed(house: House) -> None:
    file = house.folder / "m1.pbem.zip"
    assert "has the proof of m1" in house.run("match", "bundle", "m1", str(file))
    assert all(check.holds for check in verify(file.read_bytes()))
    assert not any(secret in file.read_bytes() for secret in (b"Gx3", b"secret")), "the game runs"
    house.run("match", "bundle", "m2", str(file), status=4)


@pytest.mark.parametrize(
    "words",
    [
        ("match", "pause", "seventeen", "--reason", "x"),
        ("match", "pause", "m1"),
        ("match", "pause", "m1", "--reason", " "),
        ("tournament", "pause", "m1", "--reason", "x"),
        ("tournament", "rule", "t1", "close", "--reason", " "),
    ],
)
def test_what_is_no_match_or_no_reason_is_a_usage_error(house: House, words: tuple[str, ...]) -> None:
    house.run(*words, status=2)


def test_beside_a_running_daemon(house: House) -> None:
    with house.daemon() as server:
        begun = time.monotonic()
        assert "m1 is paused." in house.run("match", "pause", "m1", "--reason", "a trip")
        assert time.monotonic() - begun < 50, "the daemon was not woken"
        found = house.found("status")
        assert (found["daemon"], list(found["paused"])) == (server.pid, ["m1"])
        backup = house.folder / "copy.backup"
        text = house.run("backup", str(backup))
        assert "store.key" in text
        assert backup.stat().st_mode & 0o777 == 0o600
        assert "File exists" in house.run("backup", str(backup), status=4)
        assert "in use by another pbem" in house.run("restore", str(backup), "--yes", status=4)
        text = house.run("doctor", status=1)
        assert "came back in" in text
        assert "m1         playing" in text
        assert "Not all is well." in text  # a letter was set aside, a player is out of reach
        assert "FAULT  mail" not in text
    assert not any(word in house.log for word in ("secret", "hush", "Ox4", "mail.example", "a trip"))


def test_a_restored_server_pauses_and_says_so(house: House) -> None:
    backup = house.folder / "copy.backup"
    house.run("backup", str(backup))
    with Database(house.store) as database:
        numbers = database.scalar("SELECT max(id) FROM inbox")
    (house.folder / "junk").write_bytes(b"no backup" * 1000)
    assert "no sound backup" in house.run("restore", str(house.folder / "junk"), status=4), "before anybody is asked"
    before = house.store.read_bytes()
    assert "is sound" in house.run("restore", str(backup), status=4)
    assert house.store.read_bytes() == before, "nobody agreed"
    text = house.run("restore", str(backup), "--yes")
    assert "generation 2" in text
    assert (house.folder / "store.sqlite.before-generation-2").exists()
    assert house.store.stat().st_mode & 0o777 == 0o600
    assert sorted(path.name for path in house.folder.iterdir() if "restored" in path.name) == []
    with house.daemon():
        pass
    found = house.found("status")
    assert (found["generation"], list(found["paused"])) == (2, ["m1"])
    with Database(house.store) as database:
        assert database.scalar("SELECT seq FROM sqlite_sequence WHERE name = 'inbox'") >= numbers + 1000
        assert database.scalar("SELECT answer FROM instructions") == "generation 2; paused: m1"
    reason = "--reason", "both agree"
    assert "Name a match, or give --all." in house.run("match", "resume", *reason, status=2)
    assert "Name a match, or give --all." in house.run("match", "resume", "m1", "--all", *reason, status=2)
    assert "m1 is playing." in house.run("match", "resume", "--all", *reason)
    assert "No match stands still" in house.run("match", "resume", "--all", *reason)
    house.run("match", "pause", "m1", *reason)
    assert "No match stands still" in house.run("match", "resume", "--all", *reason), "somebody paused it by hand"


def test_a_backup_of_another_server_is_refused(house: House) -> None:
    backup = house.folder / "copy.backup"
    with house.daemon():
        pass
    house.run("backup", str(backup))
    before = house.store.read_bytes()
    (house.folder / "keys" / "store.key").write_text("11" * 32)
    assert "store.key is not the key of this store" in house.run("restore", str(backup), "--yes", status=4)
    assert house.store.read_bytes() == before
    assert "does not open" in house.run("inbox", "show", "1", "--secrets", status=4)


def test_the_doctor_finds_what_was_changed_by_hand(house: House) -> None:
    with Database(house.store) as database:
        database.execute(
            "UPDATE entries SET entry = CAST(replace(CAST(entry AS TEXT), '\"turn\":1', '\"turn\":9') AS BLOB)"
            " WHERE seq = 3"
        )
    text = house.run("doctor", "--no-mail", status=1)
    assert "FAULT  m1" in text


def test_the_operator_accepts_a_clock_that_leapt(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pbem.server.operators_store.THIS_MACHINE", Machine(is_synchronised=lambda: False))
    before = datetime.now(UTC) - timedelta(days=3)
    with Database(house.store) as database, database.transaction():
        noted_time.note(database, Noted(before, ClockReading(before, "an earlier boot", 1.0)))
    found = house.found("status")["clock"]
    assert found.startswith("it shows ")
    said = house.run("status")
    assert "leapt ahead by 3 days, 0:00:" in said
    assert f"{before:%Y-%m-%d %H:%M} UTC was noted last" in said
    assert "FAULT  clock      it shows" in house.run("doctor", "--no-mail", status=1)
    assert "leapt ahead" in house.run("match", "pause", "m1", "--reason", "so", status=4)
    assert "Is the time that it shows right?" in house.run("clock", "accept", status=4), "nobody says yes"
    assert "goes on when it starts" in house.run("clock", "accept", "--yes")
    assert house.found("status")["clock"] is None
    assert "did not leap" in house.run("clock", "accept", "--yes")
    house.run("match", "pause", "m1", "--reason", "so")


@pytest.mark.parametrize(("set_by", "status"), [(0, 0), (2, 4)])
def test_the_operator_may_think_about_it(
    house: House, monkeypatch: pytest.MonkeyPatch, set_by: int, status: int
) -> None:
    """Unless the clock is set meanwhile; what was noted is of an earlier boot."""
    wall, seconds = datetime.now(UTC), 100.0
    monkeypatch.setattr(
        "pbem.server.operators_store.THIS_MACHINE", Machine(lambda: wall, lambda: ("boot", seconds), lambda: False)
    )

    def think(*_: object, **__: object) -> None:
        nonlocal wall, seconds
        wall, seconds = wall + timedelta(minutes=5 + set_by), seconds + 300

    monkeypatch.setattr(click, "confirm", think)
    before = wall - timedelta(days=3)
    with Database(house.store) as database, database.transaction():
        noted_time.note(database, Noted(before, ClockReading(before, "an earlier boot", 1.0)))
    house.run("clock", "accept", status=status)


def test_the_doctor_says_of_each_thing_how_it_stands(house: House) -> None:
    text = house.run("doctor", "--no-mail", status=1)
    for line in (
        "ok     store      sound, and all seals open\n",
        "ok     clock      2",
        "FAULT  daemon     does not run\n",
        "ok     inbox      0 waiting\n",
        "FAULT  players    letters to bob do not arrive since 2026-03-01T12:00\n",
    ):
        assert f"\n{line}" in text
    assert "MiB are free; it should have 192\n" in text
    with Database(house.store) as database:
        keys = house.folder / "keys"
        found = own_keys.load(keys / "store.key", keys / "signing.key", secrets.token_bytes)
        own_keys.note(database, found)  # as the daemon does when it starts
    (house.folder / "keys" / "signing.key").write_text(bytes(32).hex() + "\n")
    assert "\nFAULT  keys " in house.run("doctor", "--no-mail", status=1)


def test_the_doctor_prints_the_key_of_the_log_for_witnesses(house: House) -> None:
    text = house.run("doctor", "--no-mail", status=1)
    own = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
    assert f" is {VerifierKey(SERVER, LOG, own.public_key().public_bytes_raw())}\n" in text


def test_the_doctor_says_what_became_of_the_letter(house: House) -> None:
    house.config.write_text(
        house.config.read_text().replace(f"[smarthost]\nport = {house.port}", "[smarthost]\nport = 1")
    )
    with house.daemon():
        text = house.run("doctor", "--deadline", "1.5", status=1)
    assert "FAULT  mail" in text
    assert "could not be sent: " in text
    assert not [
        row for row in house.found("outbox", "list") if row["state"] == "waiting" and "canary" in row["recipient"]
    ]


def test_the_doctor_says_that_the_smarthost_is_silent(house: House) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        house.config.write_text(
            house.config.read_text().replace(f"[smarthost]\nport = {house.port}", f"[smarthost]\nport = {port}")
        )
        with house.daemon():
            text = house.run("doctor", "--deadline", "2.5", status=1)
            silent.close()  # nobody waits for its answer any more
    assert "could not be sent: the smarthost has not answered\n" in text


def test_the_doctor_says_that_no_name_server_answers(house: House) -> None:
    """A query that was made is due again later: the letter waits for it."""
    assert "FAULT  dns" not in house.run("doctor", "--no-mail", status=1)
    with Database(house.store) as database, database.transaction():
        number = database.scalar("SELECT min(id) FROM inbox")
        Lookups(database).ask(number, ["s._domainkey.mail.example"], 4, datetime.now(UTC) + timedelta(minutes=5))
    told = house.run("doctor", "--no-mail", status=1)
    assert "\nFAULT  dns        no answer from this machine's name server, or those of a sender's domain; " in told


def test_nothing_is_made_where_there_is_no_store(tmp_path: Path) -> None:
    house = House(tmp_path)
    assert "there is no store" in house.run("status", status=4)
    assert not house.store.exists()
    (tmp_path / "keys" / "store.key").unlink()
    assert f"\nok     keys       {tmp_path}/keys/store.key will be made" in house.run("check-config", status=1)
    house.config.write_text(f'keys = "pbem.toml"\n{house.config.read_text()}')
    assert f"\nFAULT  keys       {house.config} cannot be written by this user" in house.run("check-config", status=1)


def test_check_config_names_all_faults_at_once(tmp_path: Path) -> None:
    house = House(tmp_path)
    looped = f"[smarthost]\nport = {house.port}"
    assert f"smarthost: 127.0.0.1:{house.port} is where smtp listens" in house.run("check-config", status=1)
    house.config.write_text(house.config.read_text().replace(looped, "[smarthost]\nport = 1"))
    assert "All is well." in house.run("check-config")
    house.config.write_text('delimiter = "?"\noperator = "me"\nservr = "x"\n[smarthost]\ntls = "yes"\n')
    text = house.run("check-config", status=1)
    for words in (
        "server is missing",
        "servr is no key of this file; did you mean server?",
        "smarthost.tls = 'yes': one of none, starttls, implicit is possible",
        "one of +, -, =, _",
        "no address",
    ):
        assert words in text


def test_check_config_reads_the_file_of_the_house(tmp_path: Path) -> None:
    house = House(tmp_path)
    text = house.config.read_text().replace(f"[smarthost]\nport = {house.port}", "[smarthost]\nport = 1")
    house.config.write_text(text + '\n[house]\nconfig = "opponent.toml"\n')
    example = (Path(__file__).parents[2] / "config" / "opponent.example.toml").read_text()
    (tmp_path / "opponent.toml").write_text(example)
    plays = f"opponent.toml is for house, house@{SERVER}, {SERVER}"
    assert f"{plays}\n" in house.run("check-config")
    for wrong, wanted in (('name = "robby"', "robby, house@"), ('address = "a@b.example"', "house, a@b.example, ")):
        house.config.write_text(f'{text}\n[house]\nconfig = "opponent.toml"\n{wrong}\n')
        assert f"FAULT  house      {tmp_path}/{plays}, not for {wanted}" in house.run("check-config", status=1)
    (tmp_path / "opponent.toml").write_text(
        example.replace('server = "play.example"', 'server = "elsewhere.example"')
    )
    house.config.write_text(text + '\n[house]\nconfig = "opponent.toml"\n')
    assert ", elsewhere.example, not for house, " in house.run("check-config", status=1)
    (tmp_path / "opponent.toml").write_text(example.replace("level = 2", "level = 9", 1))
    said = house.run("check-config", status=1)
    assert "games.spaceships.level: a whole number of at most 3 is expected" in said


def test_check_config_looks_at_what_the_file_speaks_of(tmp_path: Path) -> None:
    house = House(tmp_path)
    (tmp_path / "keys" / "store.key").chmod(0o644)
    house.config.write_text(
        f'server = "{SERVER}"\nstore = "/proc/pbem/store"\n'
        '[smtp]\nlisten = ""\ncertificate = "missing.crt"\ncertificate_key = "missing.key"\n'
        '[lmtp]\nlisten = "unix:nowhere/lmtp"\n'
        '[smarthost]\nuser = "x"\npassword_file = "missing"\nhost = "no.such.host.invalid"\n'
        '[dkim]\nselector = "a"\nkey_file = "missing.pem"\n'
    )
    text = house.run("check-config", status=1)
    for words in (
        "may be read by others",
        "no folder",
        "missing: No such file",
        "no.such.host.invalid",
        "missing.pem",
        "missing.key: No such file",
        "FAULT  operator ",
    ):
        assert f"{words}" in text
    assert "nobody is told" in text


def test_an_instruction_that_nobody_obeys_yet_is_not_lost(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pbem.server.operators_store.PATIENCE", 0.2)
    with Lock(house.store):
        text = house.run("match", "pause", "m1", "--reason", "x", status=4)
        assert "has not obeyed yet" in text
    with Database(house.store) as database:
        assert len(Instructions(database).waiting()) == 1
    assert os.getpid()  # SIGCONT to ourselves did no harm


def test_tournaments_are_listed(tmp_path: Path) -> None:
    house, referee = House(tmp_path), Referee(tmp_path)
    ann = referee.registered("ann")
    assert house.run("tournament", "list") == "There are no tournaments.\n"
    referee.send(ann, f"tournament new spaceships\n{placed(ann)}closes: 2026-03-05\nfleet: cost:3\nsettle: 0\nend\n")
    assert "Announced." in ann.text, ann.text
    referee.close()
    assert "t1          spaceships  round robin  open" in house.run("tournament", "list")
    house.run("tournament", "pause", "t1", "--reason", "x")
    house.run("tournament", "rule", "t1", "close", "--reason", "nobody came")
    assert (
        house.run("tournament", "list") == "All tournaments (1) have ended: `pbem tournament list --all` has them.\n"
    )
    (row,) = house.found("tournament", "list", "--all")
    assert (row["tournament"], row["phase"], row["entrants"]) == ("t1", "ended", 0)


def test_a_user_without_a_name_gives_instructions_as_well(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a container, the user may be a number alone."""

    def nobody() -> str:
        raise KeyError("getpwuid(): uid not found: 12345")

    monkeypatch.setattr("getpass.getuser", nobody)
    assert "m1 is paused." in house.run("match", "pause", "m1", "--reason", "a trip")


def test_check_config_tries_each_certificate_with_its_key(tmp_path: Path) -> None:
    """A key of another certificate, or one that asks for a passphrase, is no reason to find out at the start."""
    house = House(tmp_path)
    chain, key = certificate.make(tmp_path)
    text = house.config.read_text().replace(f"port = {house.port}", "port = 1")
    house.config.write_text(f'{text}[lmtp]\ncertificate = "{chain}"\ncertificate_key = "{key}"\n')
    assert f"ok     lmtp       {chain} and {key} belong together\n" in house.run("check-config")
    secret = load_pem_private_key(Path(key).read_bytes(), None)
    locked = secret.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(b"x"))
    (tmp_path / "other").mkdir()
    other = Path(certificate.make(tmp_path / "other")[1]).read_bytes()
    for wrong in (locked, other):
        Path(key).write_bytes(wrong)
        assert f"FAULT  lmtp       {chain} and {key}: [" in house.run("check-config", status=1)


def test_a_backup_fits_on_a_disk_without_links(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    """As those are that are carried away."""

    def refused(_file: Path, place: Path) -> None:
        raise PermissionError(errno.EPERM, os.strerror(errno.EPERM), str(place))

    monkeypatch.setattr("os.link", refused)
    backup = house.folder / "copy.backup"
    house.run("backup", str(backup))
    content = backup.read_bytes()
    assert "File exists" in house.run("backup", str(backup), status=4)
    assert backup.read_bytes() == content
    assert [path.name for path in house.folder.iterdir() if "copy" in path.name] == ["copy.backup"]


def test_a_backup_names_each_file_to_keep_beside_it_once(house: House) -> None:
    mailbox = '[mailbox]\nimap = "imap.example"\npassword_file = "password"\n[house]\nconfig = "house.toml"\n'
    for sending, passwords in (("password", ["password"]), ("other", ["password", "other"])):
        house.take(str(house.store))
        text = house.config.read_text().replace("[smarthost]", f'[smarthost]\npassword_file = "{sending}"')
        house.config.write_text(text + mailbox)
        said = house.run("backup", str(house.folder / f"{sending}.backup"))
        named = [Path(line.strip()).relative_to(house.folder) for line in said.splitlines() if line.startswith("  ")]
        expected = ["pbem.toml", "keys/store.key", "keys/signing.key", *passwords, "house.toml"]
        assert list(map(str, named)) == expected


@contextlib.contextmanager
def small_files() -> Iterator[None]:
    """As on a full disk, no file grows beyond 64 KiB."""
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 16, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)


def test_the_disk_that_is_full_is_named_not_the_backup(house: House) -> None:
    house.run("backup", str(house.folder / "copy.backup"))
    before = house.store.read_bytes()
    with small_files():
        said = house.run("restore", str(house.folder / "copy.backup"), "--yes", status=4)
    assert said == f"Error: {house.folder}/.store.sqlite.restored: File too large\n"
    assert house.store.read_bytes() == before


def test_what_root_makes_at_a_restore_is_the_servers_own(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its lock as well, on a machine where no server ran before."""
    house.run("backup", str(house.folder / "copy.backup"))
    house.store.unlink()
    (house.folder / "store.sqlite.lock").unlink(missing_ok=True)
    given: list[str] = []
    monkeypatch.setattr("os.geteuid", lambda: 0)
    monkeypatch.setattr("os.chown", lambda path, *_, **how: given.append(f"{path.name} {how}"))
    house.run("restore", str(house.folder / "copy.backup"), "--yes")
    names = "store.sqlite.lock", ".store.sqlite.restored", ".store.sqlite.generation"
    assert {f"{name} {{'follow_symlinks': False}}" for name in names} <= {*given}


def test_a_store_that_did_not_fit_can_be_moved_again(house: House) -> None:
    moved = house.folder / "moved.sqlite"
    with small_files():
        house.run("move-store", str(house.store), str(moved), status=4)
    assert [path.name for path in house.folder.glob("moved.sqlite*")] == ["moved.sqlite.lock"]
    assert " rows were copied" in house.run("move-store", str(house.store), str(moved))


def test_no_link_in_the_folder_of_the_server_leads_root_to_another_file(house: House) -> None:
    """The server's user may make one in the place of the lock."""
    house.run("backup", str(house.folder / "copy.backup"))
    other = house.folder / "shadow"
    other.write_text("kept")
    (house.folder / "store.sqlite.lock").unlink(missing_ok=True)
    (house.folder / "store.sqlite.lock").symlink_to(other)
    told = house.run("restore", str(house.folder / "copy.backup"), "--yes", status=4)
    assert "Too many levels of symbolic links" in told
    assert other.read_text() == "kept"


def test_a_store_that_somebody_moved_there_first_is_left_alone(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    moved = house.folder / "moved.sqlite"
    house.run("move-store", str(house.store), str(moved))
    before = moved.read_bytes()
    monkeypatch.setattr("pbem.store.restore.is_there", lambda place: place == house.store)
    assert "is not empty" in house.run("move-store", str(house.store), str(moved), status=4)
    assert moved.read_bytes() == before
