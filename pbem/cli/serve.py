"""`pbem serve`: the server, from its configuration file until it is told to stop.

Nothing but the options and the messages; all wiring is in `pbem.server.daemon`. Implements design.md, "Layout".
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING

import click
import structlog

from pbem.config import Config, ConfigError, load
from pbem.pages import Home, site
from pbem.server.daemon import Daemon, StartError, write_ready
from pbem.server.logs import configure_logs

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pbem.smtp.server import Place

__all__ = ["serve"]


log = structlog.get_logger()


def write_composers(config: Config, folder: Path) -> None:
    """The pages to compose on, beside the store, for an operator who serves none: to be passed on as files."""
    home = Home(config.server, config.mail_address, config.delimiter)
    try:
        done = site.publish(folder, site.composer_folder(home))
    except OSError as error:
        log.warning("pages not written", folder=str(folder), error=str(error))
    else:
        log.info("pages written", folder=str(folder), changed=len(done.written))


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

        if isinstance(config.store, Path) and not config.pages:
            write_composers(config, config.store.parent / "pages")

    async def main() -> None:
        await Daemon(config, ready=ready).run()

    try:
        config = load(config_file)
        configure_logs(config.log)
        asyncio.run(main())
    except (ConfigError, StartError) as error:
        raise click.ClickException(str(error)) from error
