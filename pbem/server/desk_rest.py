"""The rests of a desk: while letters pour in, and when it finds nothing to do.

SMTP clients wait for the intake, never for the desk: during a flood, the desk rests after each letter for much longer
than it worked. `Flood` recognises that in the daemon, and `desk_work` carries the rests out.
Implements reliability.md, case 32: the intake is as fast as ever.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable
    from datetime import datetime

    from pbem.server.desk_opening import Supplies

LONGEST_WAIT = 60.0  # seconds; how long a step of the system clock can go unnoticed
EASED = 0.12  # seconds for which a desk leaves the machine to letters that pour in; it hears again if they go on
RESTED = 9  # times as long as it worked a desk rests meanwhile, so that it takes a tenth of a processor
LONGEST_REST = 1.0  # seconds; heavy letters in a flood delay nobody's answer by more than their own work and this


STRETCH = 0.1
MANY = 25
"""The number of letters in this many seconds that are a flood."""


class Flood:
    """The letters that came lately."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._since = 0.0
        self._came = 0
        """The number of letters since then."""

    def is_on(self, letters: int) -> bool:
        """Return whether letters pour in, now that these came."""
        now = self._clock()
        if now - self._since > STRETCH or self._came >= MANY:
            self._since, self._came = now, 0
        self._came += letters
        return self._came >= MANY


class Rest:
    """The rests of the desk; another thread may ease it."""

    def __init__(self, now: Callable[[], datetime], supplies: Supplies) -> None:
        self._now = now
        self._clock = supplies.clock
        self._longest_wait = supplies.longest_wait
        self._eased = 0.0

    def ease(self) -> None:
        """Rest more than work, for a moment: letters pour in."""
        self._eased = self._clock() + EASED

    def after_work(self, worked: float, stopping: threading.Event) -> None:
        """Leave the processor to others after this many seconds of work, while letters pour in."""
        rested = self._clock() + min(worked * RESTED, LONGEST_REST)
        while (rest := min(rested, self._eased) - self._clock()) > 0:  # more of them came meanwhile
            if stopping.wait(rest):
                return

    def until(self, time: datetime | None) -> float:
        """Seconds to wait for a time, never so few that a late desk keeps the processor busy."""
        if time is None:
            return self._longest_wait
        return min(max((time - self._now()).total_seconds(), 0.05), self._longest_wait)
