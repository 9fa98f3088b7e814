"""A power cut on a player's machine, or a witness's: what was kept when a call returned is there after it.

The disk forgets all that POSIX lets it forget: `simulation.disk`.
"""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest
from simulation.disk import Disk

from pbem.cli.alone import alone
from pbem.player import memory, signing
from pbem.player.account import Account, Places
from pbem.player.memory import Memory
from pbem.player.sealed import Secrets, Vault

if TYPE_CHECKING:
    from collections.abc import Iterator

SEEDS = range(12)
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

    def connect(self, path: Path, timeout: float, isolation_level: None) -> sqlite3.Connection:
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
        monkeypatch.setattr(memory, "sqlite3", SimpleNamespace(**{**vars(sqlite3), "connect": found.connect}))
        monkeypatch.setattr(os, "fsync", found.fsync)
        yield found


def test_what_was_remembered_stays(machine: Machine) -> None:
    """In a folder that was made for it, and in one that was there, where the journal may come back."""
    path = machine.folder / "state" / "pbem" / "anna@play.example.sqlite"
    for number in range(4):
        with closing(Memory(path)) as kept:
            for before in range(number):
                assert kept.fact(f"letter {before}") == "ready"
            with kept.transaction():
                kept.know(f"letter {number}", "ready")
        machine.power_cut()


def test_secrets_and_the_words_that_open_notes_stay(machine: Machine) -> None:
    folder = machine.folder / "state" / "pbem" / "anna@play.example.secrets"
    for number in range(1, 4):
        vault = Vault(folder)
        with vault.alone():
            vault.keep_code(f"{WORDS[:-1]}{'bdfg'[number]}")
        machine.power_cut()
        assert Vault(folder).code() == f"{WORDS[:-1]}{'bdfg'[number]}"
    with Vault(folder).alone():
        Vault(folder).keep(MINE)
    machine.power_cut()
    assert Vault(folder).secrets("m17", 2) == MINE


def test_keys_and_accounts_stay(machine: Machine) -> None:
    places = Places(machine.folder / "config" / "pbem", machine.folder / "state" / "pbem")
    places.save(ANNA)
    signing.make(machine.folder / "keys" / "anna" / "id_ed25519", "anna")
    machine.power_cut()
    assert places.load() == ANNA
    assert signing.read(machine.folder / "keys" / "anna" / "id_ed25519", str).public


def test_a_lock_leaves_no_folder_that_may_vanish(machine: Machine) -> None:
    path = machine.folder / "house" / "memory.sqlite"
    with alone(path, "pbem opponent"), closing(Memory(path)) as kept, kept.transaction():
        kept.know("letter", "ready")
    machine.power_cut()
    with closing(Memory(path)) as kept:
        assert kept.fact("letter") == "ready"
