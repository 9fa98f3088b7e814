"""The crash matrix: the daemon is killed at every point of a letter's way, and nobody notices.

Programs play whole matches by mail and repeat what got no 250: `machines.crashes`. Promises 1 and 3 of
reliability.md; cases 1, 2, 29 and 30.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import pytest
from in_a_box.stores import of_sqlite
from machines.crashes import Fate, Table
from machines.lives import Server

from pbem.failpoints import ALL

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = of_sqlite

POINTS = ALL + ("transaction written", "transaction committed") * 3


def play(folder: Path, most: int) -> Fate:
    fate = Fate(most, {"kill": 1}, POINTS)
    while fate.left > 0:
        table = Table(folder / f"match{fate.mail['matches']}", fate)
        with table.smarthost.open():
            # Where a server dies every second, no letter rests for a minute.
            table.play_at(Server(table.folder, table.smarthost.port, rest=timedelta()))
    return fate


def test_a_match_over_many_deaths(tmp_path: Path) -> None:
    fate = play(tmp_path, 12)
    print(fate)
    assert fate.befell.total() >= 10


@pytest.mark.long
def test_five_hundred_deaths(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    fate = play(tmp_path, 550)
    with capsys.disabled():
        print(f"\n{fate}")
    assert fate.befell.total() >= 500
    assert set(fate.befell) >= set(ALL)
