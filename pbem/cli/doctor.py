"""`pbem check-config` and `pbem doctor`: the configuration before a server runs, and the server while it does.

Thin: the checks are in `pbem.config.file` and `pbem.server.examination`; the one of the house needs `pbem.player`.
"""

from __future__ import annotations

import os
import sys
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

import click

from pbem.cli.common import config_option, opened
from pbem.cli.ending import Status
from pbem.config.file import faults
from pbem.player.account_file import BadAccount
from pbem.player.program_config import load
from pbem.server import examination
from pbem.server.examination import Diagnosis

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pbem.config.server import Config


@click.command()
@config_option
@click.option("--mail/--no-mail", default=True, show_default=True, help="Send a letter to ourselves and wait for it.")
@click.option(
    "--deadline", type=float, default=60.0, show_default=True, help="Seconds until the letter counts as lost."
)
def doctor(config_file: Path, *, mail: bool, deadline: float) -> None:
    """Examine the store, verify every transcript, check the clock and the queues, and send a letter on a round trip.

    The server may be running; for the letter, it must be. A trial server files it in a Maildir, where it stays. Exit
    status 1 if anything is wrong.
    """
    with opened(config_file) as store:
        looks = examination.surroundings(store.config), house(store.config)
        well = report(chain(*looks, examination.of_store(store, deadline if mail else 0)))
    click.echo("All is well." if well else "Not all is well.")
    sys.exit(Status.WELL if well else Status.REFUSED)


def report(findings: Iterable[Diagnosis]) -> bool:
    """Print each finding when it is made; whether all is well."""
    well = True
    for finding in findings:
        click.echo(f"{'ok   ' if finding.well else 'FAULT'}  {finding.what:<10} {finding.found}")
        well &= finding.well
    return well


def house(config: Config) -> Iterator[Diagnosis]:
    """Check that the program that `pbem serve` starts can use its own configuration, and plays as the house here."""
    file = config.house.config
    if not file or not os.access(file, os.R_OK):  # that it cannot be read is among the surroundings
        return
    try:
        account = load(Path(file)).account
    except BadAccount as error:
        yield Diagnosis(False, "house", str(error))
        return
    plays = account.name, account.address.lower(), account.server
    wanted = config.house_name, config.house.address.lower(), config.server
    otherwise = "" if plays == wanted else f", not for {', '.join(wanted)}"
    yield Diagnosis(plays == wanted, "house", f"{file} is for {', '.join(plays)}{otherwise}")


@click.command("check-config")
@config_option
def check_config(config_file: Path) -> None:
    """Report everything that is wrong with the configuration and what it names; status 1 if anything is.

    It makes and changes nothing, and opens no connection.
    """
    wrong, config = faults(config_file)
    for fault in wrong:
        click.echo(f"FAULT  {fault}")
    well = (not config or report((*examination.surroundings(config), *house(config)))) and not wrong
    if wrong:
        click.echo(f"{config_file} cannot be used: {len(wrong)} {'fault' if len(wrong) == 1 else 'faults'}.")
    else:
        click.echo("All is well." if well else "Please fix these first.")
    sys.exit(Status.WELL if well else Status.REFUSED)
