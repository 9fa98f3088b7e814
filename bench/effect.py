"""Signed letters to effect: read, verified, parsed, judged, kept, and answered in the outbox, sustained."""

from __future__ import annotations

import sqlite3
import sys
import time
from contextlib import ExitStack, closing
from typing import TYPE_CHECKING

from bench import load, servers
from bench.measure import Part, alternate, ratio_goal
from bench.table import Table

if TYPE_CHECKING:
    from collections.abc import Callable

LETTERS = 3200
"""In a round: seconds of work, beside which the start of the load counts for little."""

MATCHES = 8
STOCK, ONE, TWO = "aiosmtpd, nothing done, 2 KiB", "pbem with one desk", "pbem with two desks"


def measure(rounds: int) -> list[Part]:
    """New revisions of orders by eight players in as many matches, 2 KiB each, until all of them are answered."""
    with ExitStack() as stack:
        stock = stack.enter_context(servers.stock())
        part = Part("Signed letters to effect, eight connections, 2 KiB", "letters a second")
        contestants = {STOCK: lambda: load.letters(stock, 2000).a_second}
        contestants |= {name: _effect(stack, desks) for name, desks in ((ONE, 1), (TWO, 2))}
        part.figures = alternate(contestants, rounds)
    for name, goal in ((ONE, 0.3), (TWO, 0.5)):
        part.goals.append(
            ratio_goal(f"{name} beside aiosmtpd doing nothing", part.figures[name], part.figures[STOCK], goal)
        )
    return [part]


def _effect(stack: ExitStack, desks: int) -> Callable[[], float]:
    """What gives the letters a second of a daemon with so many desks."""
    folder = stack.enter_context(servers.folder())
    table = Table(folder, MATCHES, apart=True)
    table.referee.close()
    port = servers.free_port()
    command = [sys.executable, "-m", "bench.servers.whole", str(folder), str(port), str(desks)]
    stack.enter_context(servers.running(command, port))
    revisions = iter(range(1, 10**6))

    def effect() -> float:
        each = [next(revisions) for _ in range(LETTERS // MATCHES)]
        raws = [
            table.orders(first, match, rev, size=2048) for rev in each for match, first in enumerate(table.firsts, 1)
        ]
        with closing(sqlite3.connect(folder / "store.sqlite", timeout=10)) as store:
            answered = _letters_out(store)
            start = time.perf_counter()
            load.given(port, raws, folder)
            while _letters_out(store) < answered + len(raws):
                time.sleep(0.02)  # to look takes time of the machine that is measured
            return len(raws) / (time.perf_counter() - start)

    effect()
    return effect


def _letters_out(store: sqlite3.Connection) -> int:
    return int(store.execute("SELECT seq FROM sqlite_sequence WHERE name = 'outbox'").fetchone()[0])
