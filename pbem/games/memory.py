"""The outcome of earlier turns, cached with the last of them, so that a view need not begin with the first turn.

`view` in each game's `knowledge` uses it, and decides what to keep. Nothing is kept if the reports of turns are
plain lists, as in a replay.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pbem.games import Told

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pbem.games import Report

__all__ = ["remember", "remembered"]


def remembered(turns: Sequence[Sequence[Report]]) -> tuple[int, Any]:
    """The latest number of turns after which something was kept, and what; 0 and None if nothing was."""
    for count in range(len(turns), 0, -1):
        reports = turns[count - 1]
        if isinstance(reports, Told) and reports.memory is not None:
            return count, reports.memory
    return 0, None


def remember(turns: Sequence[Sequence[Report]], done: int, memory: object) -> None:
    """Keep the result of all these turns, in place of what was kept after `done` of them."""
    if turns and isinstance(latest := turns[-1], Told):
        latest.memory = memory
        for reports in turns[max(0, done - 1) : -1]:
            assert isinstance(reports, Told)
            if not reports.kept:
                reports.memory = None
