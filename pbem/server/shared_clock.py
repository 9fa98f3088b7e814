"""The time of servers that share a store: the database's, because their own clocks may differ by any amount.

Each looks at it often, and in between adds the seconds that go by here, whatever its own clock says. So a deadline is
the same at each of them, and a machine whose clock is wrong does no harm. Implements docs/many-machines.md.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from pbem.store.database import Engine


class SharedClock:
    """The database's clock, as it goes on since it was last looked at; before that, the clock `here`."""

    def __init__(self, here: Callable[[], datetime], seconds: Callable[[], float]) -> None:
        self._here = here
        self._seconds = seconds
        self._seen: tuple[datetime, float] | None = None

    def look(self, engine: Engine) -> datetime:
        """Ask the database for the time, which is then known here; raises `BusyError`."""
        time = engine.time(self._here())
        self._seen = time, self._seconds()
        return time

    def __call__(self) -> datetime:
        """The time."""
        if self._seen is None:
            return self._here()
        time, then = self._seen
        return time + timedelta(seconds=self._seconds() - then)
