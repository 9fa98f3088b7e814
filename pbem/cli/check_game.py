"""`pbem check-game`: the conformance kit on a game of another package.

Thin: see `pbem.testing`. Implements docs/games.md.
"""

from __future__ import annotations

import sys

import click

from pbem.cli.ending import Status
from pbem.games.outside import UnusableGame, enable
from pbem.testing import CHECKS, Nonconforming, subject, write_records


@click.command("check-game")
@click.argument("name")
@click.option("--write", is_flag=True, help="First write records of each edition of its rules that has none.")
def check_game(name: str, *, write: bool) -> None:
    """Check that the game NAME of an installed package keeps to all that pbem relies on: docs/games.md.

    The game is loaded. Exit status 1 if a check fails.
    """
    try:
        enable([name])
        game = subject(name)
    except (UnusableGame, Nonconforming) as error:
        raise click.ClickException(str(error)) from error
    well = True
    for record in write_records(game) if write else ():
        click.echo(f"wrote  {record}")
    for check, run in CHECKS.items():
        try:
            run(game)
        except Nonconforming as error:
            well = False
            click.echo(f"FAULT  {check:<10} {error}")
        except Exception as error:  # whatever a game raises where no check expects it
            well = False
            click.echo(f"FAULT  {check:<10} {game.raised(error)}")
        else:
            click.echo(f"ok     {check}")
    sys.exit(Status.WELL if well else Status.REFUSED)
