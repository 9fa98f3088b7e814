"""Our whole daemon on a store that was prepared, with its reader in a process of its own.

python -m bench.servers.whole FOLDER PORT [DESKS [SMARTHOST [STORE]]]

Nothing leaves the outbox, unless there is a smarthost at that port. The store is in the folder, or is a database.
"""

from __future__ import annotations

import asyncio
import sys
import time
from pathlib import Path

from bench.servers.clock import Clock
from bench.table import START
from pbem.config.limits import Limits
from pbem.config.mail import ListenerConfig, SmarthostConfig
from pbem.config.server import Config, LogConfig
from pbem.config.values import Listen
from pbem.server.daemon import Daemon
from pbem.server.logs import configure_logs
from pbem.server.server_clock import Machine
from pbem.store_place import PostgresqlAddress

MANY = 10**9


class Nowhere:
    """A smarthost that never answers: letters stay where they are, at no cost."""

    async def send(self, _sender: str, _recipient: str, _raw: bytes) -> str:
        """Wait for ever."""
        await asyncio.Event().wait()
        return ""

    async def rest(self) -> None:
        """There is nothing to let go of."""


def configured(folder: Path, port: int, smarthost: int = 1, store: str = "") -> Config:
    """The configuration of a server in this folder."""
    return Config(
        server="play.example",
        store=PostgresqlAddress(store) if store else folder / "store.sqlite",
        keys=folder / "keys",
        smtp=ListenerConfig(listen=Listen("127.0.0.1", port)),
        smarthost=SmarthostConfig(host="127.0.0.1", port=smarthost),
        limits=Limits(
            letters_per_day=MANY, messages_per_connection=MANY, connections=10_000, connections_per_address=10_000
        ),
    )


def main() -> None:
    """Serve until SIGTERM."""
    configure_logs(LogConfig())
    folder, port, smarthost, store = sys.argv[1:] + ["1", ""][len(sys.argv) - 3 :]
    config = configured(Path(folder), int(port), int(smarthost), store)
    transport = Nowhere() if config.smarthost.port == 1 else None
    daemon = Daemon(config, transport=transport, machine=Machine(Clock(START, time.monotonic())))
    asyncio.run(daemon.run())


if __name__ == "__main__":
    main()
