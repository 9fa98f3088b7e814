"""`pbem play --calendar`: the deadlines of all own matches as a file that a calendar reads.

An event has the UID of that in the letter, so that a calendar with both has it once. Implements docs/playing.md.
"""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

import click

from pbem import durable
from pbem.cli.play.display import title_of
from pbem.mail.calendar import Appointment, calendar
from pbem.player.standing import OVER

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pbem.cli.play.foundation import PlayTable


def write(table: PlayTable, path: Path) -> None:
    """Write the file anew: deadlines that are over are not in it any more."""
    found = list(_deadlines(table))
    try:
        content = calendar(found, table.now())
    except ModuleNotFoundError as error:
        raise click.ClickException(
            f"--calendar needs the libraries of the server ({error.name} is not here): install pbem with them, as"
            " pbem[server]"
        ) from error
    try:
        durable.replace(path, content)
    except OSError as error:
        raise click.ClickException(f"{path}: {error.strerror}") from error
    click.echo(f"{path}: {len(found)} deadline{'' if len(found) == 1 else 's'}.")


def _deadlines(table: PlayTable) -> Iterator[Appointment]:
    server = table.account.server
    for standing in table.letters.matches.standings:
        if standing.deadline is None or standing.phase in OVER:
            continue
        what = "reveal" if "reveal" in standing.owes else f"turn {standing.turn}"
        what = "setup" if standing.phase == "setup" else what
        summary = f"{title_of(table.letters, standing)}, {standing.match}: {what}"
        told = f"To be sent to {standing.address}"
        time = datetime.fromisoformat(standing.deadline)
        place = server, standing.match, standing.game, what.replace(" ", "-"), standing.seat
        yield Appointment(*place, summary, told, time, standing.seq)
