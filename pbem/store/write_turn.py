"""Taking turns at writing, for connections of one process or of several: a waiting connection is woken at its turn.

SQLite's own wait for its lock sleeps for some milliseconds, then longer; a connection that writes all the time
would leave the others no chance. The turn is a courtesy: SQLite itself makes sure that only one writes at a time, so
a lost token costs only time. Implements reliability.md, case 7.
"""

from __future__ import annotations

import os
import select
import threading
import time
from typing import Self

__all__ = ["WriteTurn"]

_TOKEN = b"."


class WriteTurn:
    """One token in a pipe: who has taken it out has the turn. Another process is handed the pipe's two ends."""

    def __init__(self, ends: tuple[int, int] | None = None) -> None:
        self.ends = ends or os.pipe()
        if ends is None:
            os.write(self.ends[1], _TOKEN)
        os.set_blocking(self.ends[0], False)
        self._ours = False
        self._lock = threading.Lock()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for end in self.ends:
            os.close(end)

    def acquire(self, timeout: float) -> bool:
        """Take the turn within so many seconds; whether it came."""
        end = time.monotonic() + timeout
        while not self._take():
            left = end - time.monotonic()
            waiting = select.poll()
            waiting.register(self.ends[0], select.POLLIN)
            if left <= 0 or not waiting.poll(left * 1000):
                return False
        return True

    def release(self) -> None:
        """Give the turn to the next one."""
        with self._lock:
            self._ours = False
            self._put_back()

    def mend(self) -> None:
        """Put the token back where another process died that may have had it.

        If it is in somebody else's hands there are two for a moment, until one is put back beside the other.
        """
        with self._lock:
            if not self._ours:
                self._put_back()

    def _put_back(self) -> None:
        self._read()
        os.write(self.ends[1], _TOKEN)

    def _take(self) -> bool:
        with self._lock:
            if not self._ours:
                self._ours = self._read()
                return self._ours
            return False

    def _read(self) -> bool:
        try:
            return bool(os.read(self.ends[0], 1))
        except BlockingIOError:
            return False
