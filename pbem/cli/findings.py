"""The findings that `pbem check-config` and `pbem doctor` print, and the one that needs `pbem.player`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from pbem.player.account_file import BadAccount
from pbem.player.program_config import load
from pbem.server.examination import Diagnosis

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pbem.config.server import Config


def report(findings: Iterable[Diagnosis]) -> bool:
    """Print each finding when it is made; whether all is well."""
    well = True
    for finding in findings:
        click.echo(f"{'ok   ' if finding.well else 'FAULT'}  {finding.what:<10} {finding.found}")
        well &= finding.well
    return well


def house(config: Config) -> Iterator[Diagnosis]:
    """Check that the program that `pbem serve` starts can use its own configuration, and plays here."""
    file = config.house.config
    if not file or not os.access(file, os.R_OK):  # that it cannot be read is among the surroundings
        return
    try:
        account = load(Path(file)).account
    except BadAccount as error:
        yield Diagnosis(False, "house", str(error))
        return
    here = account.server == config.server
    yield Diagnosis(
        here, "house", f"{file} is for {account.name} on {account.server}" + ("" if here else ", not here")
    )
