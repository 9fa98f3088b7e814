"""Commands of `pbem` that another process starts, and that end when it does, however that ends.

Such a command's standard input is a pipe: it ends with the process that holds the other end.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

_RUN = "from pbem.bound_process import end_with_its_parent; end_with_its_parent(); from pbem.cli import main; main()"


def bound(*words: str) -> Sequence[str]:
    """A command of `pbem`, by this interpreter and this code, that ends when its standard input does."""
    return (sys.executable, "-P", "-c", _RUN, *words)


def end_with_its_parent() -> None:
    """Make this process end as if by SIGTERM when its standard input ends."""

    def wait() -> None:
        with contextlib.suppress(OSError):
            while os.read(0, 1024):
                pass
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=wait, name="parent", daemon=True).start()
