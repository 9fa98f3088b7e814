"""Stores, bundles, letters and homes of players, as each version left them: all are read, and played on, for ever."""

from __future__ import annotations

import json
from contextlib import closing
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner
from golden.kept import FOLDER, unpack, verdicts
from in_a_box.owners import Owner, live_out
from in_a_box.referee import SERVER, START, Referee
from in_a_box.stores import connection, of_sqlite
from in_a_box.witnessed import KEY
from judges.golden import is_kept
from judges.honest import bundles_now
from machines.post_office import serving
from machines.waiting import until
from vectors.matches import OVER, SETUPS

from pbem.cli.group import group
from pbem.player.account_file import Places
from pbem.player.checkpoint_witness import Witness, load
from pbem.proof.bundle import read
from pbem.proof.tournament_proof import verify_tournament
from pbem.proof.verification import verify
from pbem.store.database import Database
from pbem.store.engine import migrations
from pbem.store.own_keys import ForeignKeysError, OwnKeys, check
from pbem.store.rows import unsound
from pbem.store.vault import Vault
from pbem.tlog.checkpoint import Checkpoint, CosignRequest
from pbem.tlog.note import Note, signed
from pbem.tlog.tree import leaf_hash
from verifier import Unknown, judged

if TYPE_CHECKING:
    from pathlib import Path

STORES = {"1.0": 1}
"""The number of scripts that the store of each version had had."""


@pytest.fixture(params=STORES)
def version(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A version, whose files lie in `tmp_path`."""
    unpack((FOLDER / f"{request.param}.tar.xz").read_bytes(), tmp_path)
    return str(request.param)


def test_every_version_is_tested() -> None:
    assert {path.name for path in FOLDER.glob("*.tar.xz")} == {f"{version}.tar.xz" for version in STORES}


def test_pbem_verify_says_of_every_bundle_what_it_said(version: str, tmp_path: Path) -> None:
    is_kept(FOLDER / f"{version}.txt", "".join(verdicts(tmp_path)))


@pytest.mark.usefixtures("version")
def test_the_second_verifier_finds_nothing_wrong(tmp_path: Path) -> None:
    for path in (tmp_path / "bundles").iterdir():
        if path.name == "race.pbem.zip":
            with pytest.raises(Unknown):
                judged(path.read_bytes())
        else:
            judged(path.read_bytes())


@of_sqlite
def test_the_scripts_of_a_version_make_the_tables_that_they_made(version: str, tmp_path: Path) -> None:
    """A change of tables is a new script: whoever changes an old one has no way to such stores."""
    said = "SELECT type, name, sql FROM sqlite_master WHERE name NOT LIKE 'sqlite_%' ORDER BY type, name"
    scripts = migrations()[: STORES[version]]
    with (
        Database(tmp_path / "server" / "store.sqlite", scripts) as then,
        Database(tmp_path / "now.sqlite", scripts) as now,
    ):
        assert then.engine.version == STORES[version]
        assert connection(then).execute(said).fetchall() == connection(now).execute(said).fetchall()


@pytest.mark.usefixtures("version")
def test_a_witness_remembers_what_it_cosigned(tmp_path: Path) -> None:
    """One that forgets would sign two trees of one log."""
    text = str(Checkpoint(SERVER, 1, leaf_hash(b"")))
    asked = CosignRequest(0, (), Note(text, (signed(SERVER, KEY, text),)))
    with closing(Witness(load(tmp_path / "witness" / "witness.toml"))) as witness:
        answer = witness.answer(asked, START)
    assert (answer.outcome, answer.size) == ("behind", 15)


@of_sqlite
@pytest.mark.usefixtures("version")
def test_a_server_starts_on_its_store_and_takes_it_as_a_backup(tmp_path: Path) -> None:
    config = ("--config", str(tmp_path / "server" / "pbem.toml"))
    backup = (tmp_path / "server" / "store.sqlite").rename(tmp_path / "backup")
    (tmp_path / "server" / "store.sqlite").write_bytes(backup.read_bytes())
    with serving(tmp_path / "ready", *config):
        status = json.loads(CliRunner().invoke(group, ["status", *config, "--json"]).output)
    assert status["matches"] == {"closed": 2, "open": 2, "playing": 4, "proposed": 5, "setup": 3}
    assert (status["players"], status["inbox"]["aside"], status["bounces"]["permanent"]) == (13, 1, 1)
    restored = CliRunner().invoke(group, ["restore", str(backup), *config, "--yes"]).output
    assert "Restored, generation 2" in restored
    with serving(tmp_path / "ready", *config):
        until(lambda: len(json.loads(CliRunner().invoke(group, ["status", *config, "--json"]).output)["paused"]) == 7)


def ordered(referee: Referee, name: str, match: str, text: str) -> None:
    """A player asks how a match stands, and fills in the form that comes."""
    person = referee.person(name)
    referee.send(person, f"status {match}\n")
    referee.turn((person, text))


@of_sqlite
@pytest.mark.usefixtures("version")
def test_a_store_proves_what_it_proved_and_its_matches_go_on(tmp_path: Path) -> None:
    referee = Referee(tmp_path / "server", "later")
    assert not [*referee.database.engine.damage(), *unsound(referee.database, referee.vault)]
    with pytest.raises(ForeignKeysError):
        check(referee.database, OwnKeys(Vault(b"\1" * 32, referee.nonces), referee.signing_key))
    latest = {f"{read(content).entries[0].body['match']}.pbem": content for content in bundles_now(referee)}
    latest["t1.pbem-tournament"] = referee.desk.director.archive.bundle(1, letters=True)
    for name, content in latest.items():
        assert content == (tmp_path / "bundles" / f"{name}.zip").read_bytes(), name

    referee.now += timedelta(days=2)
    for _ in range(2):  # Ann's orders for these turns are in the store
        ordered(referee, "carl", "m2", "")
    assert referee.match(2).phase == "closed"
    assert referee.instruct("resume", "m3") == ("done", "m3 is playing")
    ordered(referee, "dan", "m3", "Z1 J1-J2")
    assert referee.match(3).phase == "closed"
    carl = referee.person("carl")
    referee.send(carl, f"setup m5 game 1\n{SETUPS[1]}\nend\n")
    referee.send(carl, carl.form("setup"))
    assert referee.match(5).phase == "playing"
    referee.send(referee.person("wim"), "resign m11 match\n")
    tournament = verify_tournament(referee.desk.director.archive.bundle(1, letters=True))
    assert any(line.found.startswith("m11 is over") for line in tournament)

    places = Places(tmp_path / "fay" / "config" / "pbem", tmp_path / "fay" / "state" / "pbem")
    account = places.load("fay@play.example")
    fay = Owner(referee, referee.person(account.name), places.memory(account.id))
    assert fay.agent.ahead.plans("m9", referee.now).waiting
    referee.send(referee.person("gus"), "resign m9 game 1\n")
    live_out([fay])
    referee.wait(OVER)
    assert not fay.accusations
    said: list[str] = []
    for content in bundles_now(referee):
        checks = list(verify(content))
        assert all(line.holds for line in checks)
        judged(content)
        said += [line.found for line in checks]
    assert "game 1: seat 1: honest; seat 2: not revealed" in said, "Fay's secrets were at home"
    fay.close()
    referee.close()
