"""Two processes that try hard to decide at once do so one after the other, on both engines."""

from __future__ import annotations

import multiprocessing
import time
from contextlib import suppress
from itertools import pairwise
from typing import TYPE_CHECKING

from in_a_box.stores import place

from pbem.store.database import Database
from pbem.store.errors import BusyError

if TYPE_CHECKING:
    from multiprocessing.connection import Connection
    from pathlib import Path

    from pbem.store_place import Place

DECISIONS = 40
"""Of each process."""


def decide(store: Place, report: Connection) -> None:
    """Make decisions without a rest, and report when each began and ended."""
    made: list[tuple[float, float]] = []
    with Database(store, migrate=False) as database:
        report.send("ready")
        report.recv()
        while len(made) < DECISIONS:
            with suppress(BusyError):
                if not database.try_to_decide():
                    continue
                with database.transaction():
                    began = time.monotonic()
                    try:
                        count = int(database.meta("count") or 0)
                        time.sleep(0.001)
                        database.set_meta("count", str(count + 1))
                    finally:
                        made.append((began, time.monotonic()))
    report.send(made)


def test_two_processes_decide_one_after_the_other(tmp_path: Path) -> None:
    store = place(tmp_path / "store.db")
    births = multiprocessing.get_context("spawn")
    with Database(store) as database:
        reports, processes = [], []
        for _ in range(2):
            ours, theirs = births.Pipe()
            reports.append(ours)
            processes.append(births.Process(target=decide, args=(store, theirs)))
            processes[-1].start()
        assert [report.recv() for report in reports] == ["ready"] * 2
        for report in reports:
            report.send("go")
        made = [one for report in reports for one in report.recv()]
        for process in processes:
            process.join()
        assert int(database.meta("count") or 0) == len(made) == 2 * DECISIONS
    for (_, ended), (began, _) in pairwise(sorted(made)):
        assert ended <= began
