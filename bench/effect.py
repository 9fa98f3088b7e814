"""Signed letters to effect: read, verified, parsed, judged, kept, and answered in the outbox, sustained.

Beside the letters a second stands what they cost: the processor time of all processes of the server together.
"""

from __future__ import annotations

import os
import sqlite3
import sys
import time
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from bench import load, servers
from bench.measure import Goal, Part, alternate, median, ratio_goal
from bench.table import Table

if TYPE_CHECKING:
    from collections.abc import Callable

LETTERS = 3200
"""In a round: seconds of work, beside which the start of the load counts for little."""

MATCHES = 32
"""One desk has all letters of a match in hand: of few matches there may be nothing left for the other."""

STOCK, ONE, TWO = "aiosmtpd, nothing done, 2 KiB", "pbem with one desk", "pbem with two desks"
COST = 3.7
"""How many times the processor time of aiosmtpd a letter may cost."""

BUSY = 1.7
"""How many cores two desks are to keep busy where there are two, from when all letters are in: before, they rest."""


@dataclass
class _Spent:
    """The processor milliseconds a letter of each round, and the cores kept busy after all letters were in."""

    milliseconds: list[float] = field(default_factory=list)
    cores: list[float] = field(default_factory=list)


def measure(rounds: int) -> list[Part]:
    """New revisions of orders by 32 players in as many matches, 2 KiB each, until all of them are answered."""
    spent = {name: _Spent() for name in (STOCK, ONE, TWO)}
    with ExitStack() as stack:
        part = Part("Signed letters to effect, 32 players, eight connections, 2 KiB", "letters a second")
        contestants = {STOCK: _stock(stack, spent[STOCK])}
        contestants |= {name: _effect(stack, desks, spent[name]) for name, desks in ((ONE, 1), (TWO, 2))}
        part.figures = alternate(contestants, rounds)
    for name, goal in ((ONE, 0.3), (TWO, 0.5)):
        part.goals.append(
            ratio_goal(f"{name} beside aiosmtpd doing nothing", part.figures[name], part.figures[STOCK], goal)
        )
    cost = Part("Processor time a letter, all processes of the server together", "milliseconds")
    cost.figures = {name: one.milliseconds for name, one in spent.items()}
    cost.goals = [
        ratio_goal(f"{name} beside aiosmtpd doing nothing", cost.figures[name], cost.figures[STOCK], COST, most=True)
        for name in (ONE, TWO)
    ]
    cores = spent[TWO].cores
    spread = min(cores), max(cores)
    cost.goals.append(Goal("cores that two desks keep busy", median(cores), BUSY, unit="", spread=spread))
    cost.notes.append(f"this machine has {len(os.sched_getaffinity(0))} cores, and the load comes from one of them")
    return [part, cost]


def _stock(stack: ExitStack, spent: _Spent) -> Callable[[], float]:
    """What gives the letters a second of aiosmtpd, which does nothing with them."""
    port, process = stack.enter_context(servers.stock_process())

    def taken() -> float:
        before = servers.processor_time(process)
        a_second = load.letters(port, LETTERS).a_second
        spent.milliseconds.append((servers.processor_time(process) - before) / LETTERS * 1000)
        return a_second

    return taken


def _effect(stack: ExitStack, desks: int, spent: _Spent) -> Callable[[], float]:
    """What gives the letters a second of a daemon with so many desks."""
    folder = stack.enter_context(servers.folder())
    table = Table(folder, MATCHES, apart=True)
    table.referee.close()
    port = servers.free_port()
    command = [sys.executable, "-m", "bench.servers.whole", str(folder), str(port), str(desks)]
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
            all_in, processor_then = time.perf_counter(), servers.processor_time(process)
            while _letters_out(store) < answered + len(raws):
                time.sleep(0.02)  # to look takes time of the machine that is measured
            end, processor_now = time.perf_counter(), servers.processor_time(process)
        spent.milliseconds.append((processor_now - processor) / len(raws) * 1000)
        spent.cores.append((processor_now - processor_then) / (end - all_in))
        return len(raws) / (end - start)

    handled()
    spent.milliseconds.clear()
    spent.cores.clear()
    return handled


def _letters_out(store: sqlite3.Connection) -> int:
    return int(store.execute("SELECT seq FROM sqlite_sequence WHERE name = 'outbox'").fetchone()[0])
