"""A store that moves to the other engine and back is the same store: with PostgreSQL, else from file to file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from in_a_box.boxes import Inbox, Outbox
from in_a_box.small_games import FLEETS
from in_a_box.stores import place
from judges.honest import bundles_now

from pbem.store.database import Database
from pbem.store.engine import migrations
from pbem.store.errors import StoreError
from pbem.store.questions import Lookups
from pbem.store.restore import move

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from in_a_box.referee import Referee


@pytest.fixture
def elsewhere(tmp_path: Path) -> Iterator[Database]:
    with Database(place(tmp_path / "elsewhere")) as database:
        yield database


def all_of(database: Database) -> dict[str, list[str]]:
    return {name: sorted(map(repr, database.table(name))) for name in database.engine.tables()}


def go_on(referee: Referee, database: Database) -> None:
    """As after a restart with another store in the configuration."""
    referee.database = database
    referee.inbox = Inbox(database, referee.vault)
    referee.outbox = Outbox(database, referee.vault)
    referee.lookups = Lookups(database)
    referee.open_desk()


def test_what_moves_there_and_back_is_the_same_and_play_goes_on(
    referee: Referee, elsewhere: Database, tmp_path: Path
) -> None:
    ann, bob = referee.begun("fleet: cost:3\nsettle: 0", FLEETS)
    referee.turn((ann, "Rv1"), (bob, ""))
    there, proof = all_of(referee.database), bundles_now(referee)
    numbers = referee.database.engine.last_numbers()
    assert len(proof) == 3
    with referee.database, Database(tmp_path / "back.sqlite") as back:
        assert move(referee.database, elsewhere) == sum(map(len, there.values())) == move(elsewhere, back)
        for moved in (elsewhere, back):
            assert all_of(moved) == there
            assert moved.engine.last_numbers() == numbers
            assert not moved.engine.damage()
            go_on(referee, moved)
            assert bundles_now(referee) == proof
    go_on(referee, elsewhere)
    for cell in ("Rv3", "Bz5"):
        referee.turn((ann, cell), (bob, ""))
    assert any(", the end" in str(letter["Subject"]) for letter in ann.letters)


def test_no_store_is_moved_over_another(referee: Referee, elsewhere: Database) -> None:
    referee.registered("ann")
    with elsewhere.transaction():
        elsewhere.set_meta("a", "b")
    with pytest.raises(StoreError, match="is not empty: there are rows in its table meta"):
        move(referee.database, elsewhere)
    assert elsewhere.rows("SELECT name FROM meta") == [{"name": "a"}]
    assert not elsewhere.rows("SELECT * FROM players")


def test_what_cannot_be_moved_whole_is_not_moved(
    referee: Referee, elsewhere: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    referee.registered("ann")
    run = elsewhere.engine.run

    def breaks(sql: str, *more: Any) -> object:
        if sql.startswith("INSERT INTO outbox"):
            raise StoreError("the line is down")
        return run(sql, *more)

    monkeypatch.setattr(elsewhere.engine, "run", breaks)
    with pytest.raises(StoreError, match="the line is down"):
        move(referee.database, elsewhere)
    assert not elsewhere.rows("SELECT * FROM players")


def test_no_store_is_moved_into_another_version(referee: Referee, tmp_path: Path) -> None:
    with (
        Database(place(tmp_path / "later"), (*migrations(), "CREATE TABLE more (x INTEGER);")) as later,
        pytest.raises(StoreError, match="do not have the same tables"),
    ):
        move(referee.database, later)
