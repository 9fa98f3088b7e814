"""The points in the handling of a letter at which a server may be killed without harm; tests kill it there.

A server is told what to do at each point: nothing, except in tests of promises 1 to 3 of reliability.md, "What the
post office promises". Nothing may depend on that. `tests/world/points.py` lists the points.
"""

from __future__ import annotations

from collections.abc import Callable

Failpoints = Callable[[str], None]
"""Called with the name of the point that is being passed."""


def passing(_point: str) -> None:
    """Do nothing, and go on."""
