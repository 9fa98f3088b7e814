"""`pbem clock accept`: the operator vouches for a clock that leapt. Thin: `pbem.server.server_clock` has the rule."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import click

from pbem.cli.common import config_option, opened, wake
from pbem.server.examination import leap_in_words

if TYPE_CHECKING:
    from pathlib import Path

SAME = timedelta(minutes=1)
"""The most by which the clock may be set while the operator thinks about it."""


@click.group()
def clock() -> None:
    """The server's clock, if it leapt and nobody vouches for it."""


@clock.command()
@config_option
@click.option("--yes", is_flag=True, help="Do not ask.")
def accept(config_file: Path, *, yes: bool) -> None:
    """Say that the clock is right, though it leapt: the server goes on by it.

    Shows the difference and asks. Once a wrong time is accepted, only restoring a backup helps.
    """
    with opened(config_file) as store:
        clock = store.clock
        shown, then = clock.stop, clock.reading()
        if shown is None:
            click.echo("The clock did not leap: there is nothing to accept.")
            return
        click.echo(f"The clock: {leap_in_words(shown)}.")
        if not yes:
            click.confirm("Is the time that it shows right? If not, only restoring a backup helps.", abort=True)
        clock.look(store.database)
        now = clock.reading()
        went_by = timedelta(seconds=now.seconds - then.seconds)
        if clock.stop is None or abs(now.wall - then.wall - went_by) > SAME:
            raise click.ClickException("The clock was set meanwhile: nothing is accepted.")
        clock.accept(store.database)
        click.echo("The server goes on." if wake(store) else "The server goes on when it starts.")
