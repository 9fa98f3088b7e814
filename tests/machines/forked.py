"""`pbem play` as it is run at a terminal: each command a process of its own, which costs little.

They are forked from one that has its modules loaded, and neither thread nor connection. What becomes of the words,
their output and the exit status are the same.
"""

from __future__ import annotations

import multiprocessing
import os
import tempfile
from pathlib import Path
from subprocess import CompletedProcess, TimeoutExpired
from typing import TYPE_CHECKING

from pbem.cli import main

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_forks = multiprocessing.get_context("forkserver")
_forks.set_forkserver_preload(
    ["pbem.cli.play.overview", "pbem.player.opponent", "pbem.proof.prove", "pbem.letters.render", "aiosmtpd.smtp"]
)


def run(words: Sequence[str], environment: Mapping[str, str], timeout: float) -> CompletedProcess[str]:
    """Run `pbem` with these words: its status, and what it printed. Raises `TimeoutExpired`."""
    with tempfile.TemporaryDirectory() as folder:
        files = [Path(folder, name) for name in ("output", "errors")]
        process = _forks.Process(target=_become, args=(list(words), dict(environment), *files))
        process.start()
        process.join(timeout)
        if process.exitcode is None:
            process.kill()
            raise TimeoutExpired(list(words), timeout)
        return CompletedProcess(list(words), process.exitcode, *(file.read_text("utf-8") for file in files))


def _become(words: list[str], environment: dict[str, str], output: Path, errors: Path) -> None:
    os.environ.clear()
    os.environ.update(environment)
    for number, path in ((1, output), (2, errors)):
        with path.open("wb") as file:
            os.dup2(file.fileno(), number)
    main(words)
