"""The daemon at a time that a file sets ahead, with name servers that know one domain: weeks pass while it runs."""

from __future__ import annotations

import asyncio
import json
import sys
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from machines.post_office import Server, Servers

from pbem.config.file import load
from pbem.server.daemon import Daemon, write_ready
from pbem.server.logs import configure_logs
from pbem.server.server_clock import Machine

TESTS = Path(__file__).parents[1]


class AheadServer(Server):
    """A server whose time leaps."""

    program = (
        sys.executable,
        "-c",
        f"import sys; sys.path.insert(0, {str(TESTS)!r}); from machines.ahead import main; main()",
    )
    # That the time leaps is no outage: that would move all deadlines.
    more = '\n[clock]\noutage = "30d"\ntrusted = true\n'


class AheadServers(Servers):
    """Servers whose time leaps."""

    kind = AheadServer


@dataclass(frozen=True)
class AheadClock:
    """The time, and so many seconds as are in the file; each process that has the clock reads them anew."""

    file: Path

    def __call__(self) -> datetime:
        return datetime.now(UTC) + timedelta(seconds=int(self.file.read_text()))

    def leap(self, by: timedelta) -> None:
        """Set the time ahead."""
        ahead = int(self.file.read_text()) if self.file.exists() else 0
        draft = self.file.with_suffix(".draft")
        draft.write_text(str(ahead + int(by.total_seconds())))
        draft.replace(self.file)


def main() -> None:
    """Serve by the configuration that the last arguments name, as `pbem serve` does, with the files beside it."""
    *_, config_file, _, ready_file = sys.argv
    folder = Path(config_file).parent
    records = json.loads((folder / "records.json").read_text())
    config = load(Path(config_file))

    async def resolve(name: str) -> str:
        return str(records.get(name, ""))

    async def serve() -> None:
        await Daemon(
            config,
            machine=Machine(AheadClock(folder / "ahead")),
            resolve=resolve,
            ready=lambda places: write_ready(Path(ready_file), places),
            longest_wait=0.5,
        ).run()

    configure_logs(config.log)
    asyncio.run(serve())
