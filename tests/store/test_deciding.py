"""The decider's lock, and connections that break: in PostgreSQL, and in its double for simulated weeks."""

from __future__ import annotations

from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, cast
from unittest.mock import patch

import pytest
from in_a_box.boxes import Inbox, Outbox
from in_a_box.stores import of_postgresql, place
from machines.waiting import until

from pbem.store.database import Database
from pbem.store.errors import BusyError
from pbem.store.inbox import Envelope
from pbem.store.owners import LEASE, SILENT, Owners
from pbem.store.vault import Vault
from simulation.elsewhere import ADDRESS, Remote
from simulation.world import Week, World

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
VAULT = Vault(bytes(32))


@pytest.fixture(params=[pytest.param("PostgreSQL", marks=of_postgresql), "simulated"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Database]:
    if request.param == "PostgreSQL":
        with Database(place(tmp_path / "store")) as database:
            yield database
        return
    with World(tmp_path, "deciding", Week(parts=(), distant=1.0)) as world:
        assert world.base is not None
        with patch("pbem.store.database._connected", world.base.connected), Database(ADDRESS) as database:
            yield database


@pytest.fixture
def beside(database: Database) -> Iterator[Database]:
    with Database(database.place) as other:
        yield other


def cut(database: Database, other: Database) -> None:
    """Let the server end the other's connection."""
    ours, theirs = cast("Any", database.engine), cast("Any", other.engine)
    if isinstance(theirs, Remote):
        assert theirs.session is not None
        theirs.session.end()
    else:
        ours.connection.execute("SELECT pg_terminate_backend(%s)", (theirs.connection.info.backend_pid,))


def test_nothing_is_written_on_a_new_connection_in_the_middle_of_a_transaction(
    database: Database, beside: Database
) -> None:
    with pytest.raises(BusyError), beside.transaction():  # noqa: PT012 - the body of a transaction
        cut(database, beside)
        for value in "12":
            with suppress(BusyError):  # it is noticed with an answer
                beside.set_meta("lost", value)
    assert database.meta("lost") is None


def test_one_connection_decides_until_it_breaks(database: Database, beside: Database) -> None:
    assert database.try_to_decide()
    assert not beside.try_to_decide()
    with pytest.raises(BusyError), beside.transaction():
        pass
    with database.transaction():
        database.set_meta("decided", "1")
    cut(beside, database)
    until(beside.try_to_decide, 5)
    with pytest.raises(BusyError):
        database.meta("decided")  # the connection is lost
    with pytest.raises(BusyError), database.transaction():
        database.set_meta("decided", "late")
    with pytest.raises(BusyError):
        database.execute("UPDATE meta SET value = 'late'")
    assert not database.try_to_decide()
    with beside.transaction():
        assert beside.meta("decided") == "1"


def test_who_decides_no_longer_gives_back_nothing_of_who_does(database: Database, beside: Database) -> None:
    """The first thing that a desk does after trouble is a statement of its own, in no transaction."""
    before, inbox = Inbox(database, VAULT), Inbox(beside, VAULT)
    letter = inbox.put(Envelope("ann@mail.example", ("pbem@play.example",)), b"letter", NOW)
    assert database.try_to_decide()
    cut(beside, database)
    with pytest.raises(BusyError):
        database.meta("decided")  # the connection is lost
    until(beside.try_to_decide, 5)
    assert inbox.lease(NOW)
    with pytest.raises(BusyError):
        before.give_back_all()
    with beside.transaction():
        inbox.done(letter, "in time")


def test_who_decides_and_is_silent_makes_room_before_it_is_held_dead(database: Database, beside: Database) -> None:
    """All wait for the one who decides; what it was sending may take longer, and nobody is to send it twice."""
    living = Owners(beside)

    def goes_on(now: datetime) -> int:
        with beside.transaction():
            living.renew("living.", (), now)
            return living.release(now)

    with Database(database.place, name="silent.") as silent:
        outbox = Outbox(silent, VAULT, "silent.")
        with silent.transaction():
            outbox.put("ann@mail.example", "<1@play.example>", b"answer", NOW)
        assert outbox.exchange((), NOW, 8).rows
        assert silent.try_to_decide()
        assert not goes_on(NOW)
        assert not goes_on(NOW + LEASE / 2)
        last = NOW + LEASE
        with database.transaction():
            Owners(database).renew("silent.", (), last)
        for now in (last, last + SILENT - timedelta.resolution):
            assert not goes_on(now)
            assert not database.try_to_decide()
        assert not goes_on(last + SILENT)
        until(database.try_to_decide, 5)
