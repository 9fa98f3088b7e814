"""Servers that share a store in PostgreSQL, and all that may befall them at once: nobody notices.

Three servers; programs who write to one after the other and repeat what got no 250: `machines.crashes`. Servers are
killed, or sleep past their lease and wake; their connections to the database are cut, also between COMMIT and its
answer; the database itself crashes, or its machine dies and a standby takes over, for which commits wait. And without
any of that: many matches at once, whose players revise their orders at another server.
Promises 1 and 3 of reliability.md.
"""

from __future__ import annotations

from contextlib import ExitStack
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING
from urllib.parse import quote

import pytest
from in_a_box.stores import of_postgresql
from machines.clusters import pair
from machines.crashes import Fate, Line, Table
from machines.lives import QUICK, Server

from pbem.server import daemon
from pbem.store_place import PostgresqlAddress

if TYPE_CHECKING:
    from machines.clusters import Pair

pytestmark = of_postgresql

KINDS = {"kill": 8, "sleep": 2, "connection": 5, "answer to COMMIT": 5, "database": 1, "failover": 1}
SLOW = timedelta(minutes=2), daemon.RENEW
"""However slow the machine, no server is held dead: what is given back then comes after what is newer."""


def play(table: Table, database: Pair, lease: tuple[timedelta, float] = QUICK) -> None:
    """A schema for these matches, and three servers, each with a line of its own to it."""
    path = f"options={quote(f'-c search_path={table.folder.name}')}"
    database.say(f"CREATE SCHEMA {table.folder.name}")
    table.database = database
    with ExitStack() as stack:
        stack.enter_context(table.smarthost.open())
        near = Path(stack.enter_context(TemporaryDirectory()))  # the path of a socket is short
        servers = []
        (table.folder / "keys").mkdir(mode=0o700)
        for number in range(3):
            folder = table.folder / f"server{number}"
            folder.mkdir()
            (folder / "keys").symlink_to(table.folder / "keys")
            table.lines.append(stack.enter_context(Line(database).open(near / f"{number}")))
            address = PostgresqlAddress(f"postgresql://pbem@/pbem?host={near / f'{number}'}&{path}")
            servers.append(Server(folder, table.smarthost.port, rest=QUICK[0] / 10, lease=lease, shared=address))
        table.play_at(*servers)


def faults(folder: Path, most: int) -> Fate:
    fate = Fate(most, KINDS)
    with pair() as database:
        while fate.left > 0:
            play(Table(folder / f"match{fate.mail['matches']}", fate), database)
        assert database.failovers == fate.befell["failover"]
    return fate


def test_a_match_over_many_faults(tmp_path: Path) -> None:
    fate = faults(tmp_path, 15)
    assert fate.befell.total() == 15
    assert fate.befell.keys() == KINDS.keys()


@pytest.mark.long
def test_five_hundred_faults(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    fate = faults(tmp_path, 500)
    with capsys.disabled():
        print(f"\n{fate}")
    assert fate.befell.keys() == KINDS.keys()


@pytest.mark.parametrize("matches", [4, pytest.param(200, marks=pytest.mark.long)])
def test_many_matches_over_three_servers(tmp_path: Path, matches: int, capsys: pytest.CaptureFixture[str]) -> None:
    table = Table(tmp_path / "many", pairs=matches, terms="fleet: cost:3\nsettle: 6h", wavers=0.3)
    with pair() as database:
        play(table, database, SLOW)
    with capsys.disabled():
        print(f"\n{table.fate}")
