"""Inbox, outbox and vault: what is stored, once, sealed, and what becomes of it."""

from __future__ import annotations

import errno
import os
import threading
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st
from in_a_box.boxes import Inbox, Outbox
from in_a_box.stores import POSTGRESQL, place

from pbem.store import own_keys
from pbem.store.database import Database
from pbem.store.disk import Disk
from pbem.store.inbox import ATTEMPTS, REST, Envelope
from pbem.store.owners import LEASE, Owners
from pbem.store.vault import KeyFileError, Sealed, Vault, create_key, load_key, load_or_create_key

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
ENVELOPE = Envelope("anna@example.org", ("pbem@play.example",))
SECRET = b"setup m17 Gx3 end"


@pytest.fixture
def vault() -> Vault:
    return Vault(bytes(32), os.urandom)


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    with Database(place(tmp_path / "store.db")) as opened:
        yield opened


@pytest.fixture
def inbox(database: Database, vault: Vault) -> Inbox:
    return Inbox(database, vault)


@pytest.fixture
def outbox(database: Database, vault: Vault) -> Outbox:
    return Outbox(database, vault)


def put(database: Database, outbox: Outbox, recipient: str = "anna@example.org", raw: bytes = SECRET) -> int:
    with database.transaction():
        outbox.put(recipient, "<1@play.example>", raw, NOW)
    return outbox.number(recipient, "<1@play.example>")


def test_a_suspect_comes_alone_after_the_others_and_rests_once_it_killed(
    database: Database, inbox: Inbox, vault: Vault
) -> None:
    for number in range(3):
        inbox.put(ENVELOPE, bytes([number]), NOW)
    assert [row.id for row in inbox.lease_some(2, NOW)] == [1, 2]
    inbox = Inbox(database, vault)  # the server died: the first that it takes up is not what may kill it again
    inbox.release_all()
    assert [(row.id, row.suspect) for row in inbox.lease_some(3, NOW)] == [(3, False)]
    with database.transaction():
        inbox.done(3, "ok")
    (row,) = inbox.lease_some(3, NOW)
    assert (row.id, row.attempts, row.suspect) == (1, 0, True)
    inbox.begin_alone(1, NOW)
    inbox.release_all()
    assert [row.id for row in inbox.lease_some(3, NOW)] == [2]
    inbox.begin_alone(2, NOW)
    assert inbox.lease_some(3, NOW + REST - timedelta(seconds=1)) == []
    (row,) = inbox.lease_some(3, NOW + REST)
    assert (row.id, row.attempts) == (1, 1)


def test_what_does_not_open_strands_and_keeps_no_other_in_hand(database: Database, inbox: Inbox) -> None:
    bad, good = (inbox.put(Envelope(name, ("pbem@play.example",)), b"x", NOW) for name in ("a@x", "b@x"))
    database.execute("UPDATE inbox SET raw = ? WHERE id = ?", (b"\0", bad))
    assert [row.id for row in inbox.lease_some(8, NOW)] == [good]
    for _ in range(ATTEMPTS - 1):
        assert inbox.lease_some(8, NOW) == []
    assert [stranded.id for stranded in inbox.stranded()] == [bad]


def test_a_letter_is_done_once(database: Database, inbox: Inbox) -> None:
    number = inbox.put(ENVELOPE, SECRET, NOW)
    inbox.lease(NOW)
    with database.transaction():
        inbox.done(number, "orders taken")
        with pytest.raises(RuntimeError):
            inbox.done(number, "again")
    with pytest.raises(RuntimeError, match="transaction"):
        inbox.done(number, "outside")
    assert inbox.outcome(number) == ("done", "orders taken")


def test_an_outgoing_letter_lies_compressed_and_leaves_octet_by_octet(database: Database, outbox: Outbox) -> None:
    raw = SECRET * 1000
    number = put(database, outbox, raw=raw)
    assert database.scalar("SELECT length(raw) FROM outbox") < len(raw) / 10
    row = outbox.lease(NOW)
    assert row is not None
    assert row.raw == outbox.raw(number) == raw


@given(st.binary(max_size=200), st.text(max_size=20))
def test_the_vault_opens_what_it_sealed(plain: bytes, context: str) -> None:
    vault = Vault(bytes(32), os.urandom)
    sealed = vault.seal(plain, context)
    assert vault.open(sealed, context) == plain
    with pytest.raises(Sealed):
        vault.open(sealed, context + "x")
    with pytest.raises(Sealed):
        vault.open(sealed[:-1] + bytes([sealed[-1] ^ 1]), context)
    with pytest.raises(Sealed):
        Vault(b"k" * 32, os.urandom).open(sealed, context)


@pytest.mark.parametrize("damaged", [b"", b"\x01", b"\x02" + bytes(50), b"\x01" + bytes(5)])
def test_the_vault_refuses_what_it_never_made(vault: Vault, damaged: bytes) -> None:
    with pytest.raises(Sealed):
        vault.open(damaged, "")


def test_a_key_file_is_made_once_and_private(tmp_path: Path) -> None:
    path = tmp_path / "keys" / "store.key"
    key = load_or_create_key(path, os.urandom)
    assert load_or_create_key(path, os.urandom) == load_key(path) == key
    assert path.stat().st_mode & 0o777 == 0o600
    assert [entry.name for entry in path.parent.iterdir()] == ["store.key"]
    with pytest.raises(FileExistsError):
        create_key(path, os.urandom)
    assert [entry.name for entry in path.parent.iterdir()] == ["store.key"]


def test_keys_that_cannot_be_written_are_said_to_be_so(tmp_path: Path) -> None:
    """The server then tells its operator why it cannot start, as for a key that is missing."""

    class Full(Disk):
        def sync(self, path: Path) -> None:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))

    (tmp_path / "keys").mkdir()
    with pytest.raises(KeyFileError, match=r"store\.key cannot be written: No space left"):
        own_keys.make(tmp_path / "keys" / "store.key", tmp_path / "keys" / "signing.key", os.urandom, Full())
    assert not [*(tmp_path / "keys").iterdir()]


def test_bad_key_files_are_named(tmp_path: Path) -> None:
    path = tmp_path / "k"
    with pytest.raises(KeyFileError, match="is missing"):
        load_key(path)
    path.write_text("00" * 31)
    path.chmod(0o600)
    with pytest.raises(KeyFileError, match="32 bytes"):
        load_key(path)
    path.write_text("xyz")
    with pytest.raises(KeyFileError, match="not a key file"):
        load_key(path)
    path.chmod(0o640)
    with pytest.raises(KeyFileError, match="read by others"):
        load_key(path)


def test_a_letter_is_received_once_nobody_else_writes(database: Database, inbox: Inbox) -> None:
    """A decision that did not see it was made before it came: it cannot have been in time for that."""
    came: list[str] = []

    def now() -> datetime:
        came.append("received")
        return NOW

    with Database(database.place) as other:
        with other.transaction():
            kept = threading.Thread(target=inbox.put_all, args=([(ENVELOPE, SECRET)], now))
            kept.start()
            if POSTGRESQL:
                other.engine.lock("inbox")  # as a decision that finds nobody silent
            kept.join(0.2)
            came.append("decided")
        kept.join()
    assert came == ["decided", "received"] or POSTGRESQL
    assert inbox.count() == 1


def test_a_server_that_died_while_the_clock_was_ahead_is_dead(database: Database, vault: Vault) -> None:
    """A server that was at work in that hour finds it dead."""
    living, sendings = Owners(database), Outbox(database, vault, "dead.")
    put(database, sendings)
    sendings.lease(NOW)
    ahead = NOW + timedelta(days=365)
    with database.transaction():
        living.renew("living.", (), ahead)
        Owners(database).renew("dead.", (), ahead)

    def goes_on(now: datetime) -> int:
        with database.transaction():
            living.renew("living.", (), now)
            return living.release(now)

    assert [goes_on(NOW), goes_on(NOW + LEASE / 2), goes_on(NOW + LEASE)] == [0, 0, 1]
    assert living.alive(NOW + LEASE) == ["living."]
