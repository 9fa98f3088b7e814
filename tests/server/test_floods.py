"""Letters that pour in: the intake has the machine, and the desk does little until it is over.

Case 7 of reliability.md, and what a letter costs whoever waits for its 250.
"""

from __future__ import annotations

import threading
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest

from pbem.config.server import Config
from pbem.server.desk_process import MANY, STRETCH, Flood
from pbem.server.desk_work import Supplies, Work
from pbem.store.database import Database

if TYPE_CHECKING:
    from datetime import datetime
    from pathlib import Path

NOTHING = Config(server="play.example")
"""The configuration of a desk that is made for a test."""


class TestFlood:
    def test_letters_pour_in(self) -> None:
        time = 100.0
        flood = Flood(lambda: time)
        for _ in range(2):
            for letter in range(1, MANY + 1):
                assert flood.is_on(1) == (letter == MANY)
                time += STRETCH / MANY / 2
            time += STRETCH

    def test_single_letters_come(self) -> None:
        time = 100.0
        flood = Flood(lambda: time)
        for _ in range(3 * MANY):
            assert not flood.is_on(1)
            time += STRETCH / MANY * 1.5


class Pouring(threading.Event):
    """While a desk waits for this, its time goes by, and more letters pour in."""

    def __init__(self, flood: Flooded) -> None:
        super().__init__()
        self._flood = flood

    def wait(self, timeout: float | None = None) -> bool:
        assert timeout is not None
        self._flood.goes_on(timeout)
        return self.is_set()


class Flooded:
    """A desk while letters go on pouring in: each that it handles takes as long as is said, and no real time."""

    def __init__(self, database: Database, seconds: float, letters: int) -> None:
        self.time = 100.0
        self.begun: list[float] = []
        self._seconds, self._letters = seconds, letters
        supplies = Supplies(NOTHING, event=lambda: Pouring(self), clock=lambda: self.time)
        self.work = Work(self, database, supplies, lambda: None)

    def goes_on(self, seconds: float) -> None:
        self.time += seconds
        self.work.ease()

    def handle_next(self, _now: datetime) -> int:
        self.begun.append(self.time)
        self.goes_on(self._seconds)
        if len(self.begun) == self._letters:
            self.work.stop()
        return 1

    def may_decide(self) -> bool:
        return True

    def tick(self, _now: datetime) -> None:
        """Nothing is timed."""

    def stand_still(self, *_: object) -> None:
        """The clock never leaps."""


@pytest.mark.parametrize(("seconds", "rests"), [(0.005, 0.045), (0.05, 0.45), (2.0, 1.0)])
def test_a_desk_works_a_tenth_of_the_time_while_they_go_on_pouring_in(
    tmp_path: Path, seconds: float, rests: float
) -> None:
    """Eight letters take longer than the moment for which a flood makes it rest; heavy ones, no longer."""
    with Database(tmp_path / "store.sqlite") as database:
        flood = Flooded(database, seconds, letters=5)
        flood.work()
    gaps = [after - before for before, after in pairwise(flood.begun)]
    assert gaps == pytest.approx([seconds + rests] * 4)


def test_who_waits_for_a_commit_waits_for_no_checkpoint(tmp_path: Path) -> None:
    """It is made by others, who write beside; the log goes on growing until one does."""
    path = tmp_path / "store.sqlite"
    log = path.with_name("store.sqlite-wal")

    def written(database: Database) -> int:
        for letter in "abcdefghijklmnopqrstuvwxyz":
            with database.transaction():
                database.set_meta("much", letter * 400_000)
        return log.stat().st_size

    with Database(path) as other, Database(path) as doorstep:
        doorstep.engine.leave_log()
        whole = written(doorstep)
        assert whole > 10_000_000
        assert written(other) < whole + 1_000_000  # its first commit goes into the log before the checkpoint
