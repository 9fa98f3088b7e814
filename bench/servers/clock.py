"""The time of a server that was prepared at another time; its desk, in a process of its own, has the same."""

from __future__ import annotations

import time
from dataclasses import dataclass
from datetime import datetime, timedelta

__all__ = ["Clock"]


@dataclass(frozen=True)
class Clock:
    """The time that it is, where `began` on the monotonic clock was `start`."""

    start: datetime
    began: float

    def __call__(self) -> datetime:
        """The time now."""
        return self.start + timedelta(seconds=time.monotonic() - self.began)
