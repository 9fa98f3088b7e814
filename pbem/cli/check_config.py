"""`pbem check-config`: all faults of a configuration. Thin: see `pbem.config.file` and `pbem.server.examination`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from pbem.cli.common import config_option
from pbem.cli.ending import Status
from pbem.cli.findings import house, report
from pbem.config.file import faults
from pbem.server.examination import surroundings

if TYPE_CHECKING:
    from pathlib import Path


@click.command("check-config")
@config_option
def check_config(config_file: Path) -> None:
    """Report everything that is wrong with the configuration and what it names; status 1 if anything is.

    It makes and changes nothing, and opens no connection.
    """
    wrong, config = faults(config_file)
    for fault in wrong:
        click.echo(f"FAULT  {fault}")
    well = (not config or report((*surroundings(config), *house(config)))) and not wrong
    if wrong:
        click.echo(f"{config_file} cannot be used: {len(wrong)} {'fault' if len(wrong) == 1 else 'faults'}.")
    else:
        click.echo("All is well." if well else "Please fix these first.")
    sys.exit(Status.WELL if well else Status.REFUSED)
