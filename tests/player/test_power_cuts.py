"""A power cut on a player's machine, or a witness's: what was kept when a call returned is there after it.

The disk forgets all that POSIX lets it forget: `simulation.disk`.
"""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing, suppress
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from msgspec.structs import replace

from pbem import durable
from pbem.cli.programs import alone
from pbem.player import checkpoint_witness, mail_out, memory, signing
from pbem.player.account_file import Account, Places
from pbem.player.checkpoint_witness import Witness, WitnessSettings
from pbem.player.known import AccountKnown, OpenMatches
from pbem.player.memory import Memory, SentForm
from pbem.player.secret_vault import Secrets, SecretVault
from pbem.tlog.checkpoint import Checkpoint, CosignRequest
from pbem.tlog.note import Note, signed
from pbem.tlog.tree import leaf_hash
from pbem.verifier_key import LOG, VerifierKey
from simulation.disk import Disk

if TYPE_CHECKING:
    from collections.abc import Iterator

SEEDS = range(6)
NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
MINE = Secrets(server="play.example", match="m17", game=2, seat=1, player="anna", seed="ab" * 32, setup="MD Rv1")
WORDS = "lusab babad gutih tugad mudof sakat"
ANNA = Account("anna", "play.example", "anna@mail.example", "pbem@play.example", "key", "maildir:/x", "sendmail:")


class Machine:
    """A machine whose disk forgets, with all that pbem asks of it."""

    def __init__(self, folder: Path, seed: int) -> None:
        folder.mkdir()
        self.folder = folder
        self.disk = Disk(folder, Random(seed))
        self._process = self.disk.process()

    def connect(self, path: Path, timeout: float = 5.0, *, isolation_level: None) -> sqlite3.Connection:
        assert isolation_level is None
        return self._process.connect(path, wait=timeout)

    def fsync(self, file: int) -> None:
        self._process.sync(Path(f"/proc/self/fd/{file}").readlink())

    def power_cut(self) -> None:
        self.disk.power_cut()
        self._process = self.disk.process()

    def close(self) -> None:
        self.disk.close()


@pytest.fixture(params=SEEDS)
def machine(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Machine]:
    with closing(Machine(tmp_path / "disk", request.param)) as found:
        for room in (memory, checkpoint_witness):
            monkeypatch.setattr(room, "sqlite3", SimpleNamespace(**{**vars(sqlite3), "connect": found.connect}))
        monkeypatch.setattr(os, "fsync", found.fsync)
        yield found


def test_what_was_remembered_stays(machine: Machine) -> None:
    """In a folder that was made for it, and in one that was there, where the journal may come back."""
    path = machine.folder / "state" / "pbem" / "anna@play.example.sqlite"
    for number in range(4):
        with closing(Memory(path)) as kept:
            for before in range(number):
                assert kept.known(OpenMatches, before).items == [{"number": before}]
            with kept.transaction():
                kept.keep(OpenMatches([{"number": number}]), number)
        machine.power_cut()


@pytest.mark.parametrize("last", range(4))
def test_what_is_in_a_folder_stays_whose_maker_was_killed(
    machine: Machine, monkeypatch: pytest.MonkeyPatch, last: int
) -> None:
    """The first process dies before it synced the names of all folders that it made; the second finds them there."""
    folder = machine.folder / "state" / "pbem" / "anna"
    left = iter(range(last))

    def fsync(file: int) -> None:
        if next(left, None) is None:
            raise KeyboardInterrupt
        machine.fsync(file)

    with monkeypatch.context() as patch, suppress(KeyboardInterrupt):
        patch.setattr(os, "fsync", fsync)
        durable.make_folder(folder)
    durable.replace(folder / "note", b"kept")
    machine.power_cut()
    assert (folder / "note").read_bytes() == b"kept"
    assert {one.stat().st_mode & 0o777 for one in (folder, *folder.parents[:2])} == {0o700}


def test_secrets_and_the_words_that_open_notes_stay(machine: Machine) -> None:
    folder = machine.folder / "state" / "pbem" / "anna@play.example.secrets"
    for number in range(1, 4):
        vault = SecretVault(folder)
        with vault.alone():
            vault.keep_code(f"{WORDS[:-1]}{'bdfg'[number]}")
        machine.power_cut()
        assert SecretVault(folder).code() == f"{WORDS[:-1]}{'bdfg'[number]}"
    with SecretVault(folder).alone():
        SecretVault(folder).keep(MINE)
    machine.power_cut()
    assert SecretVault(folder).secrets("m17", 2) == MINE


def test_keys_and_accounts_stay(machine: Machine) -> None:
    places = Places(machine.folder / "config" / "pbem", machine.folder / "state" / "pbem")
    places.save(ANNA)
    signing.make(machine.folder / "keys" / "anna" / "id_ed25519", "anna")
    machine.power_cut()
    assert places.load() == ANNA
    assert signing.read(machine.folder / "keys" / "anna" / "id_ed25519", str, lambda: None).public


def test_a_draft_that_counts_as_sent_stays(machine: Machine) -> None:
    folder = machine.folder / "drafts" / "pbem"
    account = replace(ANNA, mail_out=f"drafts:{folder}")
    raw = b"To: pbem@play.example\r\n\r\n"
    sent = SentForm(1, "<one@mail.example>", "orders", "m17", "turn 1", 1, "", raw, "pbem@play.example", "ready")
    mail_out.send(account, sent)
    machine.power_cut()
    (draft,) = folder.glob("*.eml")
    assert draft.read_bytes().endswith(sent.raw)


def test_a_lock_leaves_no_folder_that_may_vanish(machine: Machine) -> None:
    path = machine.folder / "house" / "memory.sqlite"
    with alone(path, "pbem opponent"), closing(Memory(path)) as kept, kept.transaction():
        kept.keep(AccountKnown(name="house"))
    machine.power_cut()
    with closing(Memory(path)) as kept:
        assert kept.account().name == "house"


def test_a_witness_forgets_nothing_that_it_answered(machine: Machine) -> None:
    """Two processes with one memory, and then a power cut: one tree of each size is cosigned."""
    log = Ed25519PrivateKey.from_private_bytes(bytes(32))
    known = VerifierKey("l.example", LOG, log.public_key().public_bytes_raw())
    key = machine.folder / "key"
    signing.make(key, "w.example")
    settings = WitnessSettings("w.example", "x", (str(known),), key=str(key), memory=str(machine.folder / "memory"))

    def asked(found: Witness, leaf: bytes) -> str:
        text = str(Checkpoint("l.example", 1, leaf_hash(leaf)))
        return found.answer(CosignRequest(0, (), Note(text, (signed("l.example", log, text),))), NOW).outcome

    with closing(Witness(settings)) as one, closing(Witness(settings)) as two:
        assert asked(one, b"one") == "cosigned"
        assert asked(two, b"two") == "forked"
        machine.power_cut()  # before anything is closed
    with closing(Witness(settings)) as found:
        assert asked(found, b"two") == "forked"
        assert len(found.refused()) == 1
