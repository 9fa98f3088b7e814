"""Several servers share one store in PostgreSQL: any takes a letter, one answers it, and the others outlive one."""

from __future__ import annotations

import asyncio
import contextlib
import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner
from in_a_box.stores import of_postgresql
from machines.house import House, configured

from pbem.cli.group import group as pbem
from pbem.server import daemon as daemons
from pbem.server.examination import queues, undone
from pbem.server.opening import StartError
from pbem.store import owners
from pbem.store.database import Database
from pbem.store.owners import ALL, Role, at_work
from pbem.store.vault import Vault, load_key
from pbem.store_place import PostgresqlAddress

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

pytestmark = of_postgresql


@contextlib.asynccontextmanager
async def running(folder: Path, roles: frozenset[Role] = ALL) -> AsyncIterator[House]:
    """A server on a machine of its own; it shares store and keys with the others."""
    house = House(configured(folder), roles=roles)
    task = asyncio.create_task(house.daemon.run())
    await asyncio.wait_for(house.until(lambda: house.begun or task.done()), 10)
    try:
        yield house
    finally:
        house.daemon.stop()
        await task


def test_each_letter_is_answered_once_whoever_took_it(tmp_path: Path) -> None:
    async def main() -> None:
        async with running(tmp_path) as one, running(tmp_path) as other:
            for number in range(8):
                house = (one, other)[number % 2]
                await house.send(b"Subject: %d\r\n\r\n" % number, f"p{number}@mail.example")
            await asyncio.wait_for(one.until(lambda: len(one.post.sent) + len(other.post.sent) >= 8), 20)
            assert len({recipient for _, recipient, _ in one.post.sent + other.post.sent}) == 8
            await asyncio.sleep(0.2)
            assert len(one.post.sent) + len(other.post.sent) == 8

    asyncio.run(main())
    with Database(configured(tmp_path).store) as database:
        assert database.rows("SELECT state, count(*) AS n FROM inbox GROUP BY state") == [{"state": "done", "n": 8}]
        assert not database.rows("SELECT * FROM owners")


def test_each_does_what_its_roles_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One takes letters in, one handles them, one sends the answers; none does what another is for."""
    monkeypatch.setattr(daemons, "RENEW", 0.1)

    async def main() -> None:
        async with (
            running(tmp_path, frozenset({Role.INTAKE})) as door,
            running(tmp_path, frozenset({Role.DESK})) as desk,
            running(tmp_path, frozenset({Role.POST})) as post,
        ):
            assert door.places
            assert not desk.places | post.places
            await door.send()
            await asyncio.wait_for(post.until(lambda: bool(post.post.sent)), 20)
            assert door.desk is post.desk is None
            assert desk.desk.ticks
            assert not door.post.sent + desk.post.sent

    asyncio.run(main())


def test_a_role_that_nobody_has_is_said(tmp_path: Path) -> None:
    """By doctor and status, at once: letters that wait for it would be found late only much later."""

    async def main() -> None:
        async with running(tmp_path, frozenset({Role.INTAKE, Role.DESK})):
            assert await asyncio.to_thread(told) == ["no server has the role post: no letter is sent"]
            async with running(tmp_path, frozenset({Role.POST})):
                assert await asyncio.to_thread(told) == []

    def told() -> list[str]:
        now = datetime.now(UTC)
        config = configured(tmp_path)
        with Database(config.store) as database:
            vault = Vault(load_key(config.store_key))
            found = [one.found for one in queues(database, vault, now) if one.what == "roles"]
            assert found == undone(database, now)
        status = CliRunner().invoke(pbem, ["status", "--config", str(written)])
        assert status.exit_code == 0, status.output
        assert [line.strip() for line in status.stdout.splitlines() if "undone" in line] == [
            f"undone       {said}" for said in found
        ]
        return found

    config = configured(tmp_path)
    assert isinstance(config.store, PostgresqlAddress)
    written = tmp_path / "pbem.toml"
    written.write_text(f'server = "{config.server}"\nstore = "{config.store.url}"\nkeys = "{config.keys}"\n')
    asyncio.run(main())


def test_while_the_database_lets_nobody_write_a_server_greets_and_lives(tmp_path: Path) -> None:
    """Somebody stopped in the middle of a decision of the clock, for which no letter is kept."""

    async def main() -> None:
        async with running(tmp_path) as house:
            await house.send()
            with Database(configured(tmp_path).store) as database:
                there = at_work(database, database.engine.time(datetime.now(UTC)))
                with database.transaction():
                    database.engine.lock("inbox")
                    letter = asyncio.create_task(house.send(b"another"))
                    end = time.monotonic() + 4.5  # within the time that a letter waits
                    while (moment := time.monotonic()) < end:
                        await asyncio.sleep(0.05)
                        assert time.monotonic() < moment + 1, "nobody is greeted meanwhile"
                    silent = database.engine.time(datetime.now(UTC)) + owners.LEASE - owners.SILENT
                    assert owners.Owners(database).alive(silent) == there
                await letter

    asyncio.run(main())


def test_a_new_server_without_the_keys_of_the_store_does_not_begin(tmp_path: Path) -> None:
    async def main() -> None:
        async with running(tmp_path):
            (tmp_path / "keys").rename(tmp_path / "elsewhere")
            with pytest.raises(StartError, match=r"store\.key is missing"):
                async with running(tmp_path):
                    pass
            (tmp_path / "elsewhere").rename(tmp_path / "keys")

    asyncio.run(main())
