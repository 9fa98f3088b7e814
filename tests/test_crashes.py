"""A real daemon is killed under a match, and nobody notices.

Programs play by mail and repeat what got no 250: `machines.crashes`. Here are `kill -9` of processes, their files and
their locks; deaths at all points, and together with all other troubles, are simulated: simulation/test_deaths.py and
`make simulate`. Promises 1 and 3 of reliability.md; case 30.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from in_a_box.stores import of_sqlite
from machines.crashes import Fate, Table
from machines.lives import Server

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = of_sqlite

POINTS = (
    "letter stored",
    "250 said",
    "transaction written",
    "effects written",
    "effects committed",
    "smarthost said 250",
    "sending settled",
)
"""One between each two steps: of the intake, of the desk in its own process, and of what is sent."""


def test_a_daemon_is_killed_under_a_match(tmp_path: Path) -> None:
    fate = Fate(points=[*POINTS])
    while fate.points:
        table = Table(tmp_path / f"match{fate.mail['matches']}", fate)
        with table.smarthost.open():
            # Where a server dies every second, no letter rests for a minute.
            table.play_at(Server(table.folder, table.smarthost.port, rest=timedelta()))
    assert fate.befell == dict.fromkeys(POINTS, 1)
