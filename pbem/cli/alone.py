"""One program per memory: two of them would send different letters for the same turns."""

from __future__ import annotations

import fcntl
import logging
import os
from contextlib import contextmanager
from typing import TYPE_CHECKING

from pbem.durable import make_folder
from pbem.player.account_file import BadAccount

if TYPE_CHECKING:
    import threading
    from collections.abc import Iterator
    from pathlib import Path


log = logging.getLogger(__name__)

_LOOK = 1.0  # seconds between two looks whether the other has ended


@contextmanager
def alone(memory: Path, command: str, standby: threading.Event | None = None) -> Iterator[None]:
    """Let no other such command run with this memory. Raises `BadAccount` if one does.

    On standby, this waits until the other has ended, or the event is set.
    """
    make_folder(memory.parent)
    with os.fdopen(os.open(f"{memory}.lock", os.O_RDWR | os.O_CREAT, 0o600), "w") as file:
        if not _locked_alone(file.fileno()):
            if standby is None:
                raise BadAccount(f"Another `{command}` runs with {memory}.")
            log.info("another runs with %s: this one waits until it ends", memory)
            while not standby.wait(_LOOK) and not _locked_alone(file.fileno()):
                pass
        yield


def _locked_alone(file: int) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
