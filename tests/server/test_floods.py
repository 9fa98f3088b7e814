"""Letters that pour in: the intake has the machine, and desks do little until it is over.

Case 7 of reliability.md, and what a letter costs whoever waits for its 250.
"""

from __future__ import annotations

import threading
import time
from contextlib import contextmanager
from datetime import UTC, datetime
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pytest

from pbem.server import desk_rest
from pbem.server.desk_opening import Supplies
from pbem.server.desk_work import Work
from pbem.server.desks import MANY, STRETCH, Desks
from pbem.store.database import Database

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from pbem.server.desk_place import DeskPlace, Told
    from pbem.store.write_turn import WriteTurn


class Place:
    """Where no desk is; it counts what is asked of it."""

    deaths = 0
    resting = True

    def __init__(self) -> None:
        self.woken = self.eased = 0

    async def open(self, turn: WriteTurn, lock: Sequence[int]) -> None: ...
    async def work(self) -> None: ...
    async def close(self) -> None: ...

    def wake(self) -> None:
        self.woken += 1

    def ease(self) -> None:
        self.eased += 1

    def stop(self) -> None: ...


class TestDesks:
    @pytest.fixture
    def places(self) -> list[Place]:
        return []

    @pytest.fixture
    def desks(self, places: list[Place]) -> Desks:
        self.time = 100.0

        def place(supplies: Supplies, told: Told) -> DeskPlace:
            del supplies, told
            places.append(Place())
            return places[-1]

        nothing: Any = None
        return Desks(2, place, Supplies(nothing), nothing, nothing, clock=lambda: self.time)

    def test_all_ease_while_letters_pour_in(self, desks: Desks, places: list[Place]) -> None:
        for flood in (1, 2):
            for _ in range(MANY):
                desks.came(1)
                self.time += STRETCH / MANY / 2
            assert [place.eased for place in places] == [flood, flood]

    def test_none_does_for_single_letters(self, desks: Desks, places: list[Place]) -> None:
        for _ in range(3 * MANY):
            desks.came(1)
            self.time += STRETCH / MANY * 1.5
        assert [place.eased for place in places] == [0, 0]
        assert sum(place.woken for place in places) == 3 * MANY


class Desk:
    """A desk that always has something to do, a hundredth of a second long."""

    def __init__(self) -> None:
        self.begun: list[float] = []

    def handle_next(self, _now: datetime) -> int:
        self.begun.append(time.monotonic())
        time.sleep(0.01)
        return 1

    def held_up(self) -> bool:
        return False

    def tick(self, _now: datetime) -> None:
        """Nothing is timed."""


@contextmanager
def eased(path: Path) -> Iterator[Desk]:
    """A desk at work while letters pour in."""
    desk = Desk()
    with Database(path) as database:
        work = Work(desk, database, lambda: datetime.now(UTC), lambda: None, lambda: None)
        work.ease()
        thread = threading.Thread(target=work)
        thread.start()
        yield desk
        work.stop()
        thread.join(20)
        assert not thread.is_alive()


def test_a_desk_rests_more_than_it_works_for_a_moment(tmp_path: Path) -> None:
    with eased(tmp_path / "store.sqlite") as desk:
        while len(desk.begun) < 12:
            time.sleep(0.01)
    gaps = [after - before for before, after in pairwise(desk.begun)]
    assert gaps[0] > 0.09
    assert min(gaps[4:]) < 0.05


class Pouring(threading.Event):
    """While a desk waits for this, its time goes by, and more letters pour in."""

    def __init__(self, flood: Flood) -> None:
        super().__init__()
        self._flood = flood

    def wait(self, timeout: float | None = None) -> bool:
        assert timeout is not None
        self._flood.goes_on(timeout)
        return self.is_set()


class Flood:
    """A desk while letters go on pouring in: each that it handles takes as long as is said, and no real time."""

    def __init__(self, database: Database, seconds: float, letters: int) -> None:
        self.time = 100.0
        self.begun: list[float] = []
        self._seconds, self._letters = seconds, letters
        self.work = Work(
            self,
            database,
            lambda: datetime.now(UTC),
            lambda: None,
            lambda: None,
            event=lambda: Pouring(self),
            clock=lambda: self.time,
        )

    def goes_on(self, seconds: float) -> None:
        self.time += seconds
        self.work.ease()

    def handle_next(self, _now: datetime) -> int:
        self.begun.append(self.time)
        self.goes_on(self._seconds)
        if len(self.begun) == self._letters:
            self.work.stop()
        return 1

    def held_up(self) -> bool:
        return False

    def tick(self, _now: datetime) -> None:
        """Nothing is timed."""


@pytest.mark.parametrize(("seconds", "rests"), [(0.005, 0.045), (0.05, 0.45), (2.0, 1.0)])
def test_a_desk_works_a_tenth_of_the_time_while_they_go_on_pouring_in(
    tmp_path: Path, seconds: float, rests: float
) -> None:
    """Eight letters take longer than the moment for which a flood makes it rest; heavy ones, no longer."""
    with Database(tmp_path / "store.sqlite") as database:
        flood = Flood(database, seconds, letters=5)
        flood.work()
    gaps = [after - before for before, after in pairwise(flood.begun)]
    assert gaps == pytest.approx([seconds + rests] * 4)


def test_a_desk_that_rests_stops_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(desk_rest, "EASED", 3600.0)
    monkeypatch.setattr(desk_rest, "RESTED", 10**6)
    with eased(tmp_path / "store.sqlite") as desk:
        while not desk.begun:
            time.sleep(0.01)
    assert len(desk.begun) == 1


@pytest.mark.parametrize(("held_up", "waits"), [(True, desk_rest.HELD_UP), (False, desk_rest.LONGEST_WAIT)])
def test_a_desk_looks_again_soon_for_letters_behind_anothers(tmp_path: Path, *, held_up: bool, waits: float) -> None:
    waited: list[float | None] = []

    class Behind(Desk):
        """A desk that gets no letter."""

        def handle_next(self, _now: datetime) -> int:
            return 0

        def held_up(self) -> bool:
            return held_up

    class Waiting(threading.Event):
        """What ends the work as soon as it is waited for."""

        def wait(self, timeout: float | None = None) -> bool:
            waited.append(timeout)
            work.stop()
            return True

    with Database(tmp_path / "store.sqlite") as database:
        work = Work(Behind(), database, lambda: datetime.now(UTC), lambda: None, lambda: None, event=Waiting)
        work()
    assert waited == [waits]


@pytest.mark.parametrize(("seconds", "rests"), [(0.001, 0.05), (0.02, 0.18), (3.0, 1.0)])
def test_a_desk_that_looks_again_and_again_does_so_a_tenth_of_the_time(
    tmp_path: Path, seconds: float, rests: float
) -> None:
    """Where many letters wait behind one in hand, a look takes its time."""
    time = 100.0
    waited: list[float | None] = []

    class Behind(Desk):
        """A desk that gets no letter, and takes a while to find that out."""

        def handle_next(self, _now: datetime) -> int:
            nonlocal time
            time += seconds
            return 0

        def held_up(self) -> bool:
            return True

    class Waiting(threading.Event):
        """What ends the work when it was waited for three times."""

        def wait(self, timeout: float | None = None) -> bool:
            waited.append(timeout)
            if len(waited) == 3:
                work.stop()
            return False

    with Database(tmp_path / "store.sqlite") as database:
        work = Work(
            Behind(),
            database,
            lambda: datetime.now(UTC),
            lambda: None,
            lambda: None,
            event=Waiting,
            clock=lambda: time,
        )
        work()
    assert waited == pytest.approx([rests] * 3)


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
        doorstep.commit_lightly()
        whole = written(doorstep)
        assert whole > 10_000_000
        assert written(other) < whole + 1_000_000  # its first commit goes into the log before the checkpoint
