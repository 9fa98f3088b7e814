"""Store and bundles of version 1, as they were written once: they are opened, played on and verified for ever."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from in_a_box.referee import Referee
from in_a_box.stores import connection, of_sqlite
from judges.honest import bundles_now
from vectors.matches import proof

from pbem.proof.bundle import is_tournament
from pbem.proof.tournament_proof import verify_tournament
from pbem.proof.verification import verify
from pbem.store.database import Database
from pbem.store.engine import migrations
from pbem.store.rows import unsound
from verifier import judged

VERSION_1 = Path(__file__).parents[1] / "data" / "version-1"
BUNDLES = sorted(VERSION_1.glob("*.zip"))


@of_sqlite
def test_the_first_script_makes_the_same_tables_as_it_did(tmp_path: Path) -> None:
    """A change of tables is a new script: whoever changes the first has no way to such stores."""
    said = "SELECT type, name, sql FROM sqlite_master WHERE name NOT LIKE 'sqlite_%' ORDER BY type, name"
    shutil.copyfile(VERSION_1 / "store.sqlite3", tmp_path / "then.sqlite")
    with (
        Database(tmp_path / "then.sqlite", migrations()[:1]) as then,
        Database(tmp_path / "now.sqlite", migrations()[:1]) as now,
    ):
        assert connection(then).execute(said).fetchall() == connection(now).execute(said).fetchall()


@of_sqlite
def test_a_store_of_version_1_is_sound_and_its_matches_go_on(tmp_path: Path) -> None:
    shutil.copyfile(VERSION_1 / "store.sqlite3", tmp_path / "store.sqlite")
    referee = Referee(tmp_path, "later")
    assert not [*referee.database.engine.damage(), *unsound(referee.database, referee.vault)]
    ann, bob, carl = map(referee.person, ("ann", "bob", "carl"))
    assert proof(referee, ann) == (VERSION_1 / "m1.pbem.zip").read_bytes()
    referee.send(carl, "status m2\n")
    referee.turn((carl, ""))
    assert referee.match(2).turn == 3
    referee.send(ann, "resign m2 match\n")
    assert (referee.match(2).phase, referee.match(3).phase) == ("closed", "proposed")
    for content in bundles_now(referee):
        judged(content)
    assert not [letter for letter in bob.letters if "m2" in str(letter["Subject"])]
    referee.close()


@pytest.mark.parametrize("path", BUNDLES, ids=[path.name.partition(".")[0] for path in BUNDLES])
def test_a_bundle_of_version_1_holds(path: Path) -> None:
    content = path.read_bytes()
    if is_tournament(content):
        *checks, last = verify_tournament(content)
        assert last.what == "table"
        assert not [check for check in (*checks, last) if check.standing == "FAIL"]
    else:
        assert all(check.holds for check in verify(content))
    judged(content)
