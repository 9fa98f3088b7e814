"""`pbem serve`: the server, from its configuration file until it is told to stop.

Only the options and the messages live here; all wiring is in `pbem.server.daemon`. Implements design.md, "Layout".
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import click
from click.core import ParameterSource

from pbem.cli.common import config_option
from pbem.cli.programs import troubles
from pbem.config.file import ConfigError, load
from pbem.config.values import Listen
from pbem.player import trial_server
from pbem.server.daemon import Daemon
from pbem.server.logs import configure_logs
from pbem.server.opening import StartError
from pbem.server.site_server import served_site
from pbem.store.owners import ALL, named

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pbem.smtp.intake import IntakePlace


def _place(site: str) -> tuple[str, int]:
    """The host and port of ADDRESS:PORT."""
    with suppress(ValueError):
        if (place := Listen.parse(site)).host:
            return place.host, place.port
    raise click.BadParameter("write ADDRESS:PORT, such as 127.0.0.1:8080", param_hint="--site")


def write_ready(path: Path, places: Sequence[IntakePlace]) -> None:
    """Write the bound places as JSON, atomically, because a waiting program may read the file at once."""
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    draft.write_text(json.dumps({place.protocol: place.address for place in places}) + "\n", "utf-8")
    draft.replace(path)


@click.command()
@config_option
@click.option(
    "--ready-file",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write the hosts and ports as JSON to this file once the server listens.",
)
@click.option(
    "--roles",
    metavar="ROLE,...",
    help="Take only these roles, if several servers share a store: intake, desk, post.",
)
@click.option(
    "--site", default="", metavar="ADDRESS:PORT", help="Serve the public pages there, too, such as 127.0.0.1:8080."
)
def serve(config_file: Path, ready_file: Path | None, roles: str | None, site: str) -> None:
    """Accept letters, referee, and send letters, until SIGTERM or SIGINT.

    Without a configuration, it sets up a trial server in the user's data folder, which runs on this machine alone and
    files its letters there.
    """
    try:
        does = named(roles) if roles is not None else ALL
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="--roles") from error
    source = click.get_current_context().get_parameter_source("config_file")
    if source is ParameterSource.DEFAULT and not config_file.exists():
        with troubles():
            trial_server.begin()

    def ready(places: Sequence[IntakePlace]) -> None:
        if ready_file is not None:
            write_ready(ready_file, places)
        if sys.stdout.isatty():
            fetched = "fetched from their mailbox and answered" if config.mailbox else "answered"
            click.echo(f"Letters to {config.mail_address} are {fetched} from now on. Ctrl-C stops the server.")

    async def main() -> None:
        await Daemon(config, ready=ready, roles=does).run()

    try:
        config = load(config_file)
        if config.smarthost.maildirs and config.smtp.listen:
            click.echo(_TRYING.format(config=config, file=config_file, folder=config.smarthost.maildirs))
            click.echo(_HOUSE if config.house.config else "", nl=False)
            click.echo(_FOR_OTHERS)
        configure_logs(config.log)
        with ExitStack() as stack:
            if site:
                stack.enter_context(served_site(_place(site), config_file))
            asyncio.run(main())
    except (ConfigError, StartError) as error:
        raise click.ClickException(str(error)) from error


_TRYING = """\
This is a trial server. It takes letters to {config.mail_address} at {config.smtp.listen}; none leaves this machine.
Its configuration is {file}; the store and the keys are beside it. Letters: mutt -f {folder}/ADDRESS

"""

_HOUSE = """\
To play against the house, a program, in another terminal:  pbem play try
or in a browser:                                         pbem play --browser

"""

_FOR_OTHERS = """\
`pbem init DIR` begins a server for others. Ctrl-C stops this one; it resumes when you start it again.
"""
