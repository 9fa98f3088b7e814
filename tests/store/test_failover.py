"""A store in a database that has a standby: what it keeps when that takes over, and what is said of it before."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import pytest
from in_a_box.stores import of_postgresql
from machines.clusters import Pair, pair
from machines.waiting import until

from pbem.server.examination import _database
from pbem.store.database import Database, standby_of
from pbem.store.errors import BusyError
from pbem.store_place import PostgresqlAddress

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = of_postgresql


@pytest.fixture(scope="module")
def database() -> Iterator[Pair]:
    with pair() as database:
        yield database


def test_what_was_committed_is_there_after_a_failover(database: Pair) -> None:
    """An address with both hosts finds whichever can be written to, and goes on with the same connection object."""
    until(database.ready)
    with Database(PostgresqlAddress(database.both)) as store:
        with store.transaction():
            store.set_meta("said", "before")
        database.fail_over()
        with pytest.raises(BusyError), store.transaction():
            pass
        with store.transaction():
            assert store.meta("said") == "before"
            store.set_meta("said", "after")
        assert store.meta("said") == "after"


def test_whether_a_standby_has_all_that_was_answered_for_is_said_beforehand(database: Pair) -> None:
    until(database.ready)
    address = PostgresqlAddress(database.url)
    assert standby_of(address)
    assert "it has all that was answered for" in _database(address).found
    database.set("synchronous_commit", "local")
    until(lambda: standby_of(address) is False)
    database.set("synchronous_commit", "on")
    until(lambda: standby_of(address) is True)
    database.say("CREATE ROLE nobody LOGIN")
    database.set("synchronous_standby_names", "")

    def follows(address: PostgresqlAddress) -> bool:
        return standby_of(address) is False

    for user in ("pbem", "nobody"):
        other = PostgresqlAddress(database.url.replace("pbem@", f"{user}@"))
        until(partial(follows, other))
    assert "may be gone" in _database(address).found
    database.standby = None
    database._running.pop().kill()
    until(lambda: standby_of(address) is None)
    assert "no standby is seen" in _database(address).found
