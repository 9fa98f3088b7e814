"""The house: a program that plays with anybody who asks, as a separate process beside the server's.

This module starts, watches, restarts and stops it. It is a player like any other, and uses only letters. From the
server it gets neither environment nor descriptors, only a standard input that ends when the server does, however that
ends. This module does not know how it plays.
"""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import structlog

from pbem.bound_process import bound
from pbem.smtp.rounds import is_set_within

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

FIRST, LONGEST = 1.0, 300.0  # seconds until it is started again: at first, and after many deaths
WELL = 60.0  # seconds of life after which a death is a first one
LAST_MOMENTS = 5.0  # seconds that it has to end when it is asked to
KEPT = ("HOME", "PATH")
"""The variables that it gets of the server's environment, where secrets may be."""

log = structlog.get_logger()


def command(config_file: str) -> Sequence[str]:
    """The command that starts `pbem opponent`.

    If several servers share a store and this file, one house plays at a time, and the others stand by.
    """
    return bound("opponent", "--standby", "--config", config_file)


@dataclass(eq=False)
class HouseProgram:
    """A process that is started again when it dies, after a pause that grows while it keeps dying."""

    words: Sequence[str]
    folder: Path
    environment: Mapping[str, str]
    first: float = FIRST
    deaths: int = field(default=0, init=False)
    _stopping: asyncio.Event = field(default_factory=asyncio.Event, init=False)

    async def work(self) -> None:
        """Keep it running until `stop`."""
        pause = self.first
        while not self._stopping.is_set():
            began = time.monotonic()
            status = await self._live()
            if self._stopping.is_set():
                return
            lived = time.monotonic() - began
            if lived >= WELL:
                pause = self.first
            self.deaths += 1
            log.warning("house died", status=status, lived=round(lived), again_in=pause)
            await is_set_within(self._stopping, pause)
            pause = min(2 * pause, LONGEST)

    def stop(self) -> None:
        """Begin to stop; safe to call again."""
        self._stopping.set()

    async def _live(self) -> int | str | None:
        """Let it run until it ends or must be stopped; returns its status, or why it could not start."""
        try:
            process = await asyncio.create_subprocess_exec(
                *self.words,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.DEVNULL,
                env={name: value for name, value in self.environment.items() if name in KEPT} | {"LC_ALL": "C.UTF-8"},
                cwd=self.folder,
                start_new_session=True,  # Ctrl-C is for the server, which then ends it
            )
        except OSError as error:
            return error.strerror
        log.info("house started", process=process.pid)
        ended, stopping = asyncio.create_task(process.wait()), asyncio.create_task(self._stopping.wait())
        try:
            await asyncio.wait([ended, stopping], return_when=asyncio.FIRST_COMPLETED)
            if not ended.done():
                process.terminate()
                await asyncio.wait([ended], timeout=LAST_MOMENTS)
        finally:
            stopping.cancel()
            if process.returncode is None:
                process.kill()
            await ended
        return process.returncode
