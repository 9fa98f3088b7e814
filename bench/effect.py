"""Signed letters to effect: read, verified, parsed, judged, kept, and answered in the outbox, sustained."""

from __future__ import annotations

import sqlite3
import sys
import time
from contextlib import ExitStack
from typing import TYPE_CHECKING

from bench import load, servers
from bench.measure import Part, alternate, ratio_goal
from bench.table import Table

if TYPE_CHECKING:
    from pathlib import Path

LETTERS = 800
MATCHES = 8
STOCK, OURS = "aiosmtpd, nothing done, 2 KiB", "pbem, signed orders to effect"


def measure(rounds: int) -> list[Part]:
    """New revisions of a player's orders, 2 KiB each, until all of them are answered."""
    with ExitStack() as stack:
        stock = stack.enter_context(servers.stock())
        folder = stack.enter_context(servers.folder())
        table = Table(folder, MATCHES)
        table.referee.close()
        port = servers.free_port()
        stack.enter_context(
            servers.running([sys.executable, "-m", "bench.servers.whole", str(folder), str(port)], port)
        )
        revisions = iter(range(1, 10**6))

        def effect() -> float:
            each = [next(revisions) for _ in range(LETTERS // MATCHES)]
            raws = [table.orders(table.ann, match, rev, size=2048) for rev in each for match in range(1, MATCHES + 1)]
            answered = _letters_out(folder)
            start = time.perf_counter()
            load.given(port, raws, folder)
            while _letters_out(folder) < answered + len(raws):
                time.sleep(0.005)
            return len(raws) / (time.perf_counter() - start)

        effect()
        part = Part("Signed letters to effect, eight connections, 2 KiB", "letters a second")
        part.figures = alternate({STOCK: lambda: load.letters(stock, 2000).a_second, OURS: effect}, rounds)
    part.goals.append(ratio_goal("pbem beside aiosmtpd doing nothing", part.figures[OURS], part.figures[STOCK], 0.3))
    return [part]


def _letters_out(folder: Path) -> int:
    with sqlite3.connect(folder / "store.sqlite", timeout=10) as store:
        return int(store.execute("SELECT seq FROM sqlite_sequence WHERE name = 'outbox'").fetchone()[0])
