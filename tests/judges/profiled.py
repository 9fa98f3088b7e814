"""What work costs, in a measure that does not depend on the machine."""

from __future__ import annotations

import cProfile
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


def calls(work: Callable[[], object]) -> int:
    """How many functions a piece of work calls."""
    counted = cProfile.Profile()
    counted.enable()
    try:
        work()
    finally:
        counted.disable()
    return sum(entry.callcount for entry in counted.getstats())
