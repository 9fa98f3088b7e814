"""Signed letters to effect: read, verified, parsed, judged, kept, and answered in the outbox, sustained.

Beside the letters a second stands what they cost: the processor time of all processes of the server together.
"""

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

MATCHES = 32

STOCK, PBEM = "aiosmtpd, nothing done, 2 KiB", "pbem"
COST = 4.5
"""How many times the processor time of aiosmtpd a letter may cost."""


def measure(rounds: int) -> list[Part]:
    """New revisions of orders by 32 players in as many matches, 2 KiB each, until all of them are answered."""
    spent: dict[str, list[float]] = {STOCK: [], PBEM: []}
    with ExitStack() as stack:
        part = Part("Signed letters to effect, 32 players, eight connections, 2 KiB", "letters a second")
        contestants = {STOCK: _stock(stack, spent[STOCK]), PBEM: _effect(stack, spent[PBEM])}
        part.figures = alternate(contestants, rounds)
    cost = Part("Processor time a letter, all processes of the server together", "milliseconds")
    cost.figures = spent
    cost.goals = [ratio_goal("pbem beside aiosmtpd doing nothing", spent[PBEM], spent[STOCK], COST, most=True)]
    return [part, cost]


def _stock(stack: ExitStack, spent: list[float]) -> Callable[[], float]:
    """What gives the letters a second of aiosmtpd, which does nothing with them."""
    port, process = stack.enter_context(servers.stock_process())

    def taken() -> float:
        before = servers.processor_time(process)
        a_second = load.letters(port, LETTERS).a_second
        spent.append((servers.processor_time(process) - before) / LETTERS * 1000)
        return a_second

    return taken


def _effect(stack: ExitStack, spent: list[float]) -> Callable[[], float]:
    """What gives the letters a second of a daemon."""
    folder = stack.enter_context(servers.folder())
    table = Table(folder, MATCHES, apart=True)
    table.referee.close()
    port = servers.free_port()
    command = [sys.executable, "-m", "bench.servers.whole", str(folder), str(port)]
    process = stack.enter_context(servers.running(command, port))
    revisions = iter(range(1, 10**6))

    def handled() -> float:
        each = [next(revisions) for _ in range(LETTERS // MATCHES)]
        raws = [
            table.orders(first, match, rev, size=2048) for rev in each for match, first in enumerate(table.firsts, 1)
        ]
        with closing(sqlite3.connect(folder / "store.sqlite", timeout=10)) as store:
            answered = _letters_out(store)
            start, processor = time.perf_counter(), servers.processor_time(process)
            load.given(port, raws, folder)
            while _letters_out(store) < answered + len(raws):
                time.sleep(0.02)  # to look takes time of the machine that is measured
            end, processor_now = time.perf_counter(), servers.processor_time(process)
        spent.append((processor_now - processor) / len(raws) * 1000)
        return len(raws) / (end - start)

    handled()
    spent.clear()
    return handled


def _letters_out(store: sqlite3.Connection) -> int:
    return int(store.execute("SELECT seq FROM sqlite_sequence WHERE name = 'outbox'").fetchone()[0])
