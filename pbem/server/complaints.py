"""Error messages of the event loop and the libraries, as lines of our own log, only a few of each kind.

They write to standard error in their own form, hundreds of times when descriptors run out, and may quote what passed
through them. Only their first words are kept here, and the kind and the place are logged. Implements
reliability.md, case 40.
"""

from __future__ import annotations

import errno
import logging
import re
import time
from typing import TYPE_CHECKING

import structlog

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable, Mapping

PAUSE = 60.0  # seconds in which a kind of complaint is logged once
KINDS = 100  # of so many it is known when they were logged last

_WORDS = re.compile(r"[A-Za-z .,'-]{0,60}")


class Complaints:
    """Logs complaints; to be set as an event loop's exception handler."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._logged: dict[tuple[str, str, str], tuple[float, int]] = {}
        """The time at which a kind was last logged, and how often it was met since."""

    def __call__(self, _loop: asyncio.AbstractEventLoop, context: Mapping[str, object]) -> None:
        """A complaint of the event loop."""
        error = context.get("exception")
        self.tell("asyncio", str(context.get("message", "")), error if isinstance(error, BaseException) else None)

    def tell(self, who: str, message: str, error: BaseException | None) -> None:
        """Log it, or count it."""
        found = _WORDS.match(message)
        words = found[0].strip() if found else ""
        trouble = errno.errorcode.get(error.errno or 0, "") if isinstance(error, OSError) else ""
        kind = (who, words, trouble or type(error).__name__)
        logged, more = self._logged.get(kind, (-PAUSE, 0))
        if self._clock() - logged < PAUSE:
            self._logged[kind] = (logged, more + 1)
            return
        if len(self._logged) >= KINDS:
            self._logged.clear()
        self._logged[kind] = (self._clock(), 0)
        facts: dict[str, object] = {"trouble": trouble} if trouble else {}
        if more:
            facts["more"] = more
        structlog.get_logger().error("complaint", of=who, words=words, exc_info=error, **facts)


class ComplaintListener(logging.Handler):
    """Hands over what libraries log with Python's `logging`."""

    def __init__(self, complaints: Complaints) -> None:
        super().__init__(logging.WARNING)
        self._complaints = complaints

    def emit(self, record: logging.LogRecord) -> None:
        """A complaint of a library: its message before anything is filled in."""
        error = record.exc_info[1] if record.exc_info else None
        self._complaints.tell(record.name, str(record.msg).partition("%")[0], error)
