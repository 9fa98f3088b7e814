"""PostgreSQL beside SQLite: signed letters to effect on the same disk."""

from __future__ import annotations

import sys
import time
from contextlib import ExitStack
from typing import TYPE_CHECKING

from machines.clusters import single

from bench import load, servers
from bench.measure import Part, alternate, ratio_goal
from bench.table import Table
from pbem.store.database import Database
from pbem.store.restore import move
from pbem.store_place import PostgresqlAddress

if TYPE_CHECKING:
    from collections.abc import Callable

    from pbem.store_place import Place

LETTERS = 400
MATCHES = 8
SQLITE, POSTGRESQL = "the store in a file", "the store in PostgreSQL"


def measure(rounds: int) -> list[Part]:
    """New revisions of orders by eight players in as many matches, 2 KiB each, until all of them are answered."""
    part = Part("Signed letters to effect, by where the store is", "letters a second")
    with ExitStack() as stack:
        contestants = {SQLITE: _effect(stack), POSTGRESQL: _effect(stack, elsewhere=True)}
        part.figures = alternate(contestants, rounds)
    part.goals.append(ratio_goal("PostgreSQL beside a file", part.figures[POSTGRESQL], part.figures[SQLITE], 0.7))
    return [part]


def _effect(stack: ExitStack, *, elsewhere: bool = False) -> Callable[[], float]:
    folder = stack.enter_context(servers.folder())
    table = Table(folder, MATCHES, apart=True)
    table.referee.close()
    place: Place = folder / "store.sqlite"
    more = []
    if elsewhere:
        folder.chmod(0o755)  # whose database's user is another
        url = stack.enter_context(single(folder)).url
        place, old = PostgresqlAddress(url), place
        with Database(old) as here, Database(place) as there:
            move(here, there)
        more = ["1", url]
    port = servers.free_port()
    command = [sys.executable, "-m", "bench.servers.whole", str(folder), str(port), *more]
    stack.enter_context(servers.running(command, port))
    store = stack.enter_context(Database(place, migrate=False))
    revisions = iter(range(1, 10**6))

    def answered() -> int:
        return int(store.engine.last_numbers()["outbox"])

    def effect() -> float:
        each = [next(revisions) for _ in range(LETTERS // MATCHES)]
        raws = [
            table.orders(first, match, rev, size=2048) for rev in each for match, first in enumerate(table.firsts, 1)
        ]
        before = answered()
        start = time.perf_counter()
        load.given(port, raws, folder)
        while answered() < before + len(raws):
            time.sleep(0.005)
        return len(raws) / (time.perf_counter() - start)

    effect()
    return effect
