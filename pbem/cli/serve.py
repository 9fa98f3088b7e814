"""`pbem serve`: the server, from its configuration file until it is told to stop.

Nothing but the options and the messages; all wiring is in `pbem.server.daemon`. Implements design.md, "Layout".
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING

import click

from pbem.config import ConfigError, load
from pbem.server.daemon import Daemon, StartError, write_ready
from pbem.server.logs import configure_logs

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pbem.smtp.server import Place

__all__ = ["serve"]


@click.command()
@click.option(
    "--config",
    "config_file",
    type=click.Path(dir_okay=False, path_type=Path),
    default=Path("pbem.toml"),
    show_default=True,
    help="The configuration; config/pbem.example.toml explains every key.",
)
@click.option(
    "--ready-file",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write the hosts and ports as JSON to this file once the server listens.",
)
def serve(config_file: Path, ready_file: Path | None) -> None:
    """Accept letters, referee, and send letters, until SIGTERM or SIGINT."""

    def ready(places: Sequence[Place]) -> None:
        if ready_file is not None:
            write_ready(ready_file, places)

    async def main() -> None:
        await Daemon(config, ready=ready).run()

    try:
        config = load(config_file)
        configure_logs(config.log)
        asyncio.run(main())
    except (ConfigError, StartError) as error:
        raise click.ClickException(str(error)) from error
