"""Cases 37 to 40 of reliability.md: what an operator loses, exchanges or damages, and never in silence."""

from __future__ import annotations

import asyncio
import contextlib
import io
import json
import logging
import os
import shutil
import socket
import sqlite3
import subprocess
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import structlog
from click.testing import CliRunner
from in_a_box.referee import Referee
from in_a_box.stores import file_of, of_sqlite
from machines.house import TEXT, House, configured, move_in, nothing_happens, run
from msgspec.structs import replace

from pbem.cli.group import group
from pbem.config.mail import Dkim, ListenerConfig
from pbem.config.values import Listen
from pbem.identity import ssh
from pbem.server import examination
from pbem.server import logs as of
from pbem.server.opening import StartError
from pbem.store import own_keys
from pbem.store.database import Database
from pbem.store.errors import DamagedError, FullError, LockedError, StoreError
from pbem.store.operator import forgotten
from pbem.store.restore import restore
from pbem.store.sqlite import Lock

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from pbem.config.server import Config
    from pbem.server.examination import Diagnosis

COMMANDS = (
    ["status"],
    ["doctor", "--no-mail"],
    ["match", "list"],
    ["match", "show", "m1"],
    ["match", "pause", "m1", "--reason", "x"],
    ["inbox", "list"],
    ["outbox", "show", "1"],
    ["inbox", "retry", "1"],
    ["backup", "copy.pbem"],
    ["publish", "pages"],
    ["serve"],
)


@pytest.fixture(autouse=True)
def _logs() -> Iterator[None]:
    structlog.configure(logger_factory=structlog.PrintLoggerFactory(io.StringIO()))
    yield
    structlog.reset_defaults()


def everything(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() if path.is_file() else b"" for path in sorted(folder.rglob("*"))}


# 37: keys.


@pytest.mark.parametrize("name", ["signing.key", "store.key"])
@pytest.mark.parametrize("accident", ["lost", "exchanged", "cut"])
def test_case_37_a_key_is_lost_or_exchanged(tmp_path: Path, name: str, accident: str) -> None:
    config = configured(tmp_path)
    run(config, nothing_happens)
    key = tmp_path / "keys" / name
    good = key.read_text()
    if accident == "lost":
        key.unlink()
    else:
        key.write_text("11" * 32 if accident == "exchanged" else good[:20])
    before = everything(tmp_path)
    with pytest.raises(StartError, match=name) as refusal:
        run(config, nothing_happens)
    assert accident == "cut" or "docs/operating.md" in str(refusal.value)
    assert everything(tmp_path) == before
    key.touch(0o600)
    key.write_text(good)
    run(config, nothing_happens)


def test_case_37_another_name_while_a_match_runs(tmp_path: Path) -> None:
    """Nobody's signature would count any more, and the clocks would go on."""
    referee = Referee(tmp_path)
    referee.begun()
    referee.close()
    config = replace(configured(tmp_path), store=tmp_path / "store.sqlite")
    move_in(config)
    renamed = replace(config, server="other.example")
    run(config, nothing_happens)
    before = everything(tmp_path)
    with pytest.raises(StartError, match=r'm1 is a match of play\.example, .* write server = "play\.example" again'):
        run(renamed, nothing_happens)
    assert everything(tmp_path) == before
    with Database(config.store) as database:
        keys = own_keys.load(config.store_key, config.signing_key, os.urandom)
        assert not all(one.well for one in examination.keys(database, keys, "other.example"))
        database.execute("UPDATE entries SET entry = X'00' WHERE seq = 1")
    run(renamed, nothing_happens)


def test_case_37_the_store_is_lost(tmp_path: Path) -> None:
    """A disk that is not mounted, or a slip in the configuration: no new server begins in its place."""
    config = configured(tmp_path)
    run(config, nothing_happens)
    for path in tmp_path.glob("pbem.sqlite*"):
        path.unlink()
    before = everything(tmp_path)
    with pytest.raises(StartError, match="is its disk mounted"):
        run(config, nothing_happens)
    assert everything(tmp_path) == before
    file_of(config).touch(0o600)
    with pytest.raises(StartError, match="is empty, and was not"):
        run(config, nothing_happens)
    assert file_of(config).stat().st_size == 0


async def a_letter(house: House) -> None:
    assert (await house.send(f"Message-ID: <{os.urandom(8).hex()}@x.example>\r\n".encode() + TEXT))[0] == 250


@of_sqlite
@pytest.mark.parametrize("lost", [False, True])
def test_case_30_a_backup_is_restored_twice(tmp_path: Path, lost: bool) -> None:
    """A number given between the two means one thing for ever, even if that store is lost."""
    config = configured(tmp_path)
    store, backup = file_of(config), tmp_path / "backup"
    run(config, nothing_happens)
    shutil.copyfile(store, backup)
    keys = own_keys.load(config.store_key, config.signing_key, os.urandom)
    given = [0]
    for generation in (2, 3, 4):
        with Lock(store):
            assert restore(backup, store, keys, "operator", datetime.now(UTC)).generation == generation
        with Database(store) as database, database.transaction():
            row = {"phase": "declined", "terms": '{"game":"spaceships"}', "head": "", "created": ""}
            given.append(database.insert("matches", "number", **row))
            skipped = forgotten(database)["matches"]
        assert skipped == [1, given[-1] - 1]
        assert given[-1] > given[-2]
        run(config, nothing_happens)
        if lost:
            store.write_bytes(b"")


@of_sqlite
def test_case_37_a_backup_is_copied_over_the_store(tmp_path: Path) -> None:
    """It would sign other heads than players were mailed: only a restore makes it a store to go on from."""
    config = configured(tmp_path)
    store, backup = file_of(config), tmp_path / "backup"
    run(config, a_letter)
    shutil.copyfile(store, backup)
    run(config, a_letter)
    run(config, nothing_happens)
    newest = store.read_bytes()
    shutil.copyfile(backup, store)
    before = everything(tmp_path)
    with pytest.raises(StartError, match=r"pbem\.sqlite is older than the store that was here.*`pbem restore`"):
        run(config, nothing_happens)
    assert everything(tmp_path) == before
    keys = own_keys.load(config.store_key, config.signing_key, os.urandom)
    with Database(store) as database:
        assert "older than the store" in next(examination.store(database, keys.vault)).found
    store.write_bytes(newest)
    run(config, nothing_happens)
    with Lock(store):
        restore(backup, store, keys, "operator", datetime.now(UTC))
    run(config, a_letter)
    # How far it had come is lost with a file that cannot be read; a server that begins anew has come nowhere.
    numbers = store.with_name("pbem.sqlite.numbers")
    for text in ("", "[1]", '{"inbox": "x"}', "\0"):
        numbers.write_text(text, "ascii")
        run(config, nothing_happens)
        assert json.loads(numbers.read_text("ascii"))["inbox"] > 1
    for path in (store, config.store_key, config.signing_key):
        path.unlink()
    run(config, nothing_happens)
    run(config, nothing_happens)


@of_sqlite
def test_case_37_how_far_another_store_had_come_is_not_expected_of_one_that_begins(tmp_path: Path) -> None:
    """The first start of a new server may break off before it has noted anything itself."""
    config = configured(tmp_path)
    run(config, a_letter)
    for path in (file_of(config), config.store_key, config.signing_key):
        path.unlink()
    with Database(file_of(config)) as database:
        own_keys.note(database, own_keys.make(config.store_key, config.signing_key, os.urandom))
    run(config, nothing_happens)


@of_sqlite
def test_what_a_server_notes_while_it_is_examined_is_not_held_against_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = tmp_path / "pbem.sqlite"
    with Database(store) as database, Database(store) as server:
        last_numbers = database.engine.last_numbers

        def slowly() -> dict[str, int]:
            found = last_numbers()
            with server.transaction():
                server.engine.number_from("inbox", 7)
            server.engine.note_high_water()
            return found

        monkeypatch.setattr(database.engine, "last_numbers", slowly)
        database.engine.check_high_water()
        monkeypatch.undo()
        database.engine.check_high_water()
        assert json.loads(store.with_name("pbem.sqlite.numbers").read_text("ascii")) == {"inbox": 7}


@of_sqlite
def test_case_37_how_far_a_store_has_come_is_noted_beside_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not beside a link to it, which may be on another disk: from there nothing takes its place at once."""
    replaced = Path.replace

    def on_one_disk(draft: Path, place: Path) -> Path:
        assert draft.parent == Path(place).parent
        return replaced(draft, place)

    config = configured(tmp_path / "disk")
    link = tmp_path / "pbem.sqlite"
    file_of(config).parent.mkdir()
    link.symlink_to(file_of(config))
    run(config, a_letter)
    noted = file_of(config).with_name("pbem.sqlite.numbers")
    noted.unlink()
    monkeypatch.setattr(Path, "replace", on_one_disk)
    run(replace(config, store=link), nothing_happens)
    assert noted.exists()


def test_case_37_a_first_start_that_broke_off_goes_on(tmp_path: Path) -> None:
    config = configured(tmp_path)
    with Database(file_of(config)):
        pass
    own_keys.make(config.store_key, tmp_path / "keys" / "other.key", os.urandom)
    run(config, nothing_happens)
    with Database(file_of(config)) as database:
        assert own_keys.begun(database)


WRONG: dict[str, tuple[Callable[[Path, int], dict[str, object]], str | None]] = {
    "place taken": (lambda taken, _: {"lmtp": ListenerConfig(listen=Listen(path=taken))}, "in use"),
    "port taken": (
        lambda _, port: {"smtp": ListenerConfig(listen=Listen("127.0.0.1", port))},
        r"cannot listen at 127\.0\.0\.1:\d",
    ),
    "certificate missing": (lambda *_: {"smtp": ListenerConfig(Listen("127.0.0.1", 0), "no.pem", "no.pem")}, None),
    "nowhere to listen": (lambda *_: {"smtp": ListenerConfig()}, "no way in"),
    "no socket from systemd": (lambda *_: {"smtp": ListenerConfig(Listen(systemd=True))}, None),
    "no DKIM key": (lambda *_: {"dkim": Dkim(selector="x", key_file="no.pem")}, None),
}


@pytest.mark.parametrize(("wrong", "says"), WRONG.values(), ids=WRONG)
def test_case_37_a_wrong_start_writes_nothing(
    tmp_path: Path, wrong: Callable[[Path, int], dict[str, object]], says: str | None
) -> None:
    folder, taken = tmp_path / "new", tmp_path / "taken.sock"
    folder.mkdir()
    with socket.socket(socket.AF_UNIX) as other, socket.create_server(("127.0.0.1", 0)) as another:
        other.bind(str(taken))
        other.listen()
        with pytest.raises(StartError, match=says):
            run(configured(folder, **wrong(taken, another.getsockname()[1])), nothing_happens)
    assert not everything(folder)


# 39: one store, one daemon.


def other_names(store: Path) -> Iterator[Path]:
    folder = store.parent / "elsewhere"
    folder.mkdir()
    link = folder / "link.sqlite"
    link.symlink_to(store)
    yield link
    far = store.parent / "far"
    far.symlink_to(folder, target_is_directory=True)
    yield far / "link.sqlite"
    yield store.parent / "elsewhere" / ".." / store.name


def test_case_39_a_second_daemon_through_another_name(tmp_path: Path) -> None:
    config = configured(tmp_path)

    async def scene(_house: House) -> None:
        for name in other_names(file_of(config)):
            with pytest.raises(LockedError, match=f"process {os.getpid()}"):
                Lock(name)
            assert Lock.holder(name) == os.getpid()

    run(config, scene)


def test_case_39_a_second_daemon_through_a_hard_link(tmp_path: Path) -> None:
    """Two names, two logs: neither a second daemon nor the first one works on such a store."""
    config = configured(tmp_path)
    other = tmp_path / "other.sqlite"

    async def scene(_house: House) -> None:
        os.link(file_of(config), other)
        with pytest.raises(LockedError):
            Lock(other)
        assert not (tmp_path / "other.sqlite.lock").exists()

    run(config, scene)
    for name in (other, file_of(config)):
        with pytest.raises(StoreError, match="second name"):
            Database(name)
    other.unlink()
    run(config, nothing_happens)


@of_sqlite
def test_case_40_a_folder_or_a_pipe_is_no_store(tmp_path: Path) -> None:
    """It is not told of as a file with two names, of which one is to be removed."""
    run(configured(tmp_path), nothing_happens)
    file_of(configured(tmp_path)).unlink()
    os.mkfifo(tmp_path / "pipe")
    for store in (tmp_path, tmp_path / "pipe"):
        with pytest.raises(StartError, match=f"{store} is no file"):
            run(replace(configured(tmp_path), store=store), nothing_happens)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root mounts")
def test_case_39_a_second_daemon_through_a_bind_mount(tmp_path: Path) -> None:
    config = configured(tmp_path)
    other = tmp_path / "other.sqlite"

    other.touch()
    run(config, nothing_happens)
    if subprocess.run(["mount", "--bind", file_of(config), other], capture_output=True, check=False).returncode:
        pytest.skip("no mounts here")
    try:

        async def scene(_house: House) -> None:
            with pytest.raises(LockedError):
                Lock(other)

        run(config, scene)
    finally:
        subprocess.run(["umount", other], check=True)


# 40: damage.


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a server with a match under way, every table filled that a short life fills, and its keys."""
    folder = tmp_path_factory.mktemp("filled")
    structlog.configure(logger_factory=structlog.PrintLoggerFactory(io.StringIO()))
    referee = Referee(folder)
    ann, bob = referee.begun()
    referee.turn((ann, "Gx3 bGx1Gx3"), (bob, ""))
    referee.turn((ann, "Ox4"))
    referee.send(bob, "games\n" + "long words " * 800, sign=False)
    eve = referee.person("eve")
    referee.send(eve, f"register eve\n{ssh.public(eve.key)} eve@home\n", sign=False)
    referee.database.execute("VACUUM")
    referee.close()
    (folder / "store.sqlite").rename(folder / "pbem.sqlite")
    (folder / "pbem.toml").write_text('server = "play.example"\n[smtp]\nlisten = "127.0.0.1:0"\n')
    move_in(configured(folder), bytes(range(32)))
    structlog.reset_defaults()
    return folder


@pytest.fixture
def server(tmp_path: Path, filled: Path) -> Path:
    shutil.copytree(filled, tmp_path / "server")
    return tmp_path / "server"


def sentences(folder: Path, command: list[str]) -> str:
    """The message of a command that cannot do its work."""
    done = CliRunner().invoke(group, [*command, "--config", str(folder / "pbem.toml")])
    assert done.exit_code == 4, (command, done.output)
    assert isinstance(done.exception, SystemExit), (command, done.exception)
    assert "Traceback" not in done.output
    return done.output


FILES: dict[str, Callable[[bytes], bytes]] = {
    "cut": lambda whole: whole[:5000],
    "half": lambda whole: whole[: len(whole) // 2],
    "text": lambda _: b"what is this?\n" * 100,
    "empty": lambda _: b"",
    "header": lambda whole: b"\xff" * 100 + whole[100:],
}


@pytest.mark.parametrize("accident", [*FILES, "foreign"])
def test_case_40_a_cut_or_foreign_file(server: Path, accident: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(server)
    store = server / "pbem.sqlite"
    if accident == "foreign":
        store.unlink()
        with contextlib.closing(sqlite3.connect(store)) as other:
            other.executescript("CREATE TABLE places (x); PRAGMA user_version = 3")
    else:
        store.write_bytes(FILES[accident](store.read_bytes()))
    before = store.read_bytes()
    for command in COMMANDS:
        if accident != "half" or command[0] == "doctor":
            told = sentences(server, command)
            assert told.count("\n") == 1 or command[0] == "doctor", told
    assert store.read_bytes() == before


def test_case_40_a_read_only_store(server: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = os.access
    monkeypatch.setattr(
        os,
        "access",
        lambda path, mode: not (mode & os.W_OK and Path(path).name == "pbem.sqlite") and real(path, mode),
    )
    monkeypatch.chdir(server)
    for command in COMMANDS:
        assert "cannot be written" in sentences(server, command)


def test_case_40_what_the_server_cannot_write_is_said(tmp_path: Path) -> None:
    with Database(tmp_path / "a.db") as database:
        database.execute("PRAGMA query_only = 1")
        with pytest.raises(FullError, match="readonly"), database.transaction():
            database.set_meta("a", "b")


def faults(config: Config) -> list[str]:
    """The doctor's faults, without those of mail."""
    try:
        with Database(file_of(config), migrate=False) as database:
            keys = own_keys.load(config.store_key, config.signing_key, os.urandom)
            looks: tuple[Callable[[], Iterable[Diagnosis]], ...] = (
                lambda: examination.store(database, keys.vault),
                lambda: examination.keys(database, keys, config.server),
                lambda: examination.transcripts(database, keys.vault, config, keys.public),
            )
            for look in looks:
                if found := [finding.found for finding in examination.examined("x", look()) if not finding.well]:
                    return found
    except (DamagedError, sqlite3.DatabaseError) as error:
        return [str(error)]
    return []


def test_case_40_the_doctor_finds_each_damaged_page(server: Path) -> None:
    config = configured(server)
    assert not faults(config)
    whole = file_of(config).read_bytes()
    size = int.from_bytes(whole[16:18])
    missed = []
    for page in range(len(whole) // size):
        at = page * size
        flipped = bytes(octet ^ 0xFF for octet in whole[at : at + size])
        file_of(config).write_bytes(whole[:at] + flipped + whole[at + size :])
        for ending in ("-wal", "-shm"):
            file_of(config).with_name(file_of(config).name + ending).unlink(missing_ok=True)
        if not faults(config):
            missed.append(page + 1)
    assert not missed


def test_case_40_the_doctor_finds_what_hides_between_sound_pages(server: Path) -> None:
    """A few bits in what was sealed, in a size, a time, a key or an entry: SQLite calls each of them sound."""
    config = configured(server)
    whole = file_of(config).read_bytes()
    changes = {
        "inbox": "UPDATE inbox SET raw = CAST(substr(raw, 1, 40) || x'00' || substr(raw, 42) AS BLOB)",
        "its size": "UPDATE outbox SET size = size + 1 WHERE id = 1",
        "is no time": "UPDATE inbox SET received = replace(received, 'T', 'P') WHERE id = 1",
        "a key of ann": "UPDATE keys SET public = replace(public, 'A', 'B') WHERE player = 'ann'",
        "cannot be read": "UPDATE inbox SET recipients = '[' WHERE id = 1",
        "": "UPDATE entries SET signature = zeroblob(64) WHERE seq = 3",
        "papers": "UPDATE papers SET sealed = zeroblob(length(sealed))",
    }
    for said, change in changes.items():
        file_of(config).write_bytes(whole)
        with Database(file_of(config)) as database:
            assert database.execute(change).rowcount
            assert not database.engine.damage()
        assert any(said in fault for fault in faults(config)), (change, faults(config))


def test_case_40_complaints_are_rare_and_quote_nothing() -> None:
    now, loop = [0.0], asyncio.new_event_loop()
    with contextlib.closing(loop), structlog.testing.capture_logs() as lines:
        complaints = of.Complaints(lambda: now[0])
        record = logging.makeLogRecord({"name": "library", "msg": "no use for %s", "args": ("hush",)})
        for minute in range(3):
            now[0] = minute * 60.0
            for number in range(100):
                complaints(loop, {"message": f"Exception in callback read(b'hush {number}')"})
                of.ComplaintListener(complaints).handle(record)
    assert len(lines) == 6
    assert {line.get("more") for line in lines} == {None, 99}
    assert "hush" not in str(lines)
