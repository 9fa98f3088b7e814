"""`pbem check-config`: all faults of a configuration. Thin: see `pbem.config` and `pbem.server.doctor`."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from pbem.cli.common import config_option
from pbem.config import faults
from pbem.player.account import BadAccount
from pbem.player.limits import load
from pbem.server.doctor import Finding, surroundings

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pbem.config import Config


@click.command("check-config")
@config_option
def check_config(config_file: Path) -> None:
    """Report everything that is wrong with the configuration and what it names; status 1 if anything is.

    It makes and changes nothing, and opens no connection.
    """
    wrong, config = faults(config_file)
    for fault in wrong:
        click.echo(f"FAULT  {fault}")
    well = not wrong
    for finding in (*surroundings(config), *house(config)) if config else ():
        click.echo(f"{'ok   ' if finding.well else 'FAULT'}  {finding.what:<10} {finding.found}")
        well &= finding.well
    if wrong:
        click.echo(f"{config_file} cannot be used: {len(wrong)} {'fault' if len(wrong) == 1 else 'faults'}.")
    else:
        click.echo("All is well." if well else "Please fix these first.")
    sys.exit(0 if well else 1)


def house(config: Config) -> Iterator[Finding]:
    """Whether the program that `pbem serve` is to start can use its own configuration, and plays here."""
    file = config.house.config
    if not file or not os.access(file, os.R_OK):  # that it cannot be read is among the surroundings
        return
    try:
        account = load(Path(file)).account
    except BadAccount as error:
        yield Finding(False, "house", str(error))
        return
    here = account.server == config.server
    yield Finding(here, "house", f"{file} is for {account.name} on {account.server}" + ("" if here else ", not here"))
