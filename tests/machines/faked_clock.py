"""A clock that tests move on, for whole processes: libfaketime's (Debian: `apt-get install faketime`).

A program that runs under it believes that days have passed. Only the date is faked, and not the time since the boot:
waiting for a second takes a second. The server has to trust such a clock, and not to call a leap an outage.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from datetime import timedelta

LIBRARY = next(Path("/usr/lib").glob("*/faketime/libfaketime.so.1"), None)
"""The library; None where it is not installed."""

TRUSTED = '[clock]\ntrusted = true\noutage = "60d"\n'
"""The lines of a server's configuration about such a clock."""

_SLEEP = "import select, time\ntime.sleep = lambda seconds: select.select([], [], [], seconds)\n"
"""Sleeping by other means: of `clock_nanosleep` the library makes EINVAL."""


class FakedClock:
    """A clock that is as far ahead of the machine's as its file says."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._ahead = 0
        self._write()

    def _write(self) -> None:
        new = self._file.with_suffix(".new")
        new.write_text(f"+{self._ahead}\n", "ascii")
        new.rename(self._file)

    def move(self, by: timedelta) -> None:
        self._ahead += int(by.total_seconds())
        self._write()

    def program(self, code: str, *words: str) -> list[str]:
        """The command that runs this code of Python by the clock."""
        faked = {
            "LD_PRELOAD": str(LIBRARY),
            "FAKETIME_TIMESTAMP_FILE": str(self._file),
            "FAKETIME_NO_CACHE": "1",
            "FAKETIME_DONT_FAKE_MONOTONIC": "1",
            "FAKETIME_DONT_RESET": "1",
        }
        return [
            "env",
            *(f"{name}={value}" for name, value in faked.items()),
            sys.executable,
            "-c",
            _SLEEP + code,
            *words,
        ]
