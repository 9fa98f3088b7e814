"""Our daemon with a desk that leaves the letters alone: what it takes to have them on disk, and nothing else.

python -m bench.servers.intake FOLDER PORT
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any

from machines.desk_thread import OwnThread

from pbem.config.limits import Limits
from pbem.config.mail import ListenerConfig
from pbem.config.server import Config, LogConfig
from pbem.config.values import Listen
from pbem.desk.reading import InProcess
from pbem.server.daemon import Daemon
from pbem.server.logs import configure_logs

MANY = 10**9


class Idle:
    """A desk that does nothing."""

    def handle_next(self, _now: object) -> bool:
        """There is nothing to do."""
        return False

    def may_decide(self) -> bool:
        """Nobody else does."""
        return True

    def tick(self, _now: object) -> None:
        """There is nothing to wait for."""

    def stand_still(self, *_: object) -> None:
        """The clock never leaps."""


def main() -> None:
    """Serve until SIGTERM."""
    folder, port = Path(sys.argv[1]), int(sys.argv[2])
    config = Config(
        server="play.example",
        store=folder / "store.sqlite",
        keys=folder / "keys",
        smtp=ListenerConfig(listen=Listen("127.0.0.1", port)),
        limits=Limits(letters_per_day=MANY, messages_per_connection=MANY, connections_per_address=100),
    )
    configure_logs(LogConfig())
    place: Any = OwnThread  # which names otherwise what it leaves aside
    asyncio.run(Daemon(config, desk=lambda *_: Idle(), place=place, reader=InProcess).run())


if __name__ == "__main__":
    main()
