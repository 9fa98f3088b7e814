"""`pbem serve` as a process of its own, as an operator starts it."""

from __future__ import annotations

import json
import signal
import subprocess
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from machines.post_office import PBEM
from machines.waiting import until

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path


@contextmanager
def serving(
    ready: Path, *words: str, program: Sequence[str] = (PBEM, "serve"), **options: Any
) -> Iterator[tuple[subprocess.Popen[str], dict[str, Any]]]:
    """The process, and where it listens, which it writes to the file `ready`; it must end well, or be killed."""
    ready.unlink(missing_ok=True)
    command = [*program, *words, "--ready-file", str(ready)]
    with subprocess.Popen(command, **{"stderr": subprocess.PIPE, "text": True, **options}) as server:
        try:
            until(lambda: ready.exists() or server.poll() is not None, 60)
            yield server, json.loads(ready.read_text())
            if server.poll() is None:
                server.send_signal(signal.SIGTERM)
                _, errors = server.communicate(timeout=60)
                assert server.returncode in {0, -signal.SIGKILL}, errors
        finally:
            server.kill()
