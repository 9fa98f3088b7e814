"""`pbem new-game`, a copy of our example to begin a game with, and `pbem check-game`, the conformance kit on one.

Thin: see `pbem.testing`. Implements docs/games.md.
"""

from __future__ import annotations

import sys
from pathlib import Path

import click

from pbem import examples
from pbem.cli.ending import Status
from pbem.games.outside import UnusableGame, check_name, enable
from pbem.testing import CHECKS, Nonconforming, subject, write_records


@click.command("check-game")
@click.argument("name")
@click.option("--write", is_flag=True, help="First write records of each edition of its rules that has none.")
@click.option(
    "--only", type=click.Choice([*CHECKS]), multiple=True, help="Run this check and no other; several if repeated."
)
def check_game(name: str, *, write: bool, only: tuple[str, ...]) -> None:
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
    for check in only or CHECKS:
        try:
            CHECKS[check](game)
        except Nonconforming as error:
            well = False
            click.echo(f"FAULT  {check:<10} {error}")
        except Exception as error:  # whatever a game raises where no check expects it
            well = False
            click.echo(f"FAULT  {check:<10} {game.raised(error)}")
        else:
            click.echo(f"ok     {check}")
    sys.exit(Status.WELL if well else Status.REFUSED)


_TOLD = """\
{folder} is a package with the game "{name}": marbles, for you to change.
Install it for the Python of pbem, and check it:

    pip install -e '{folder}[test]'
    pbem check-game {name}

{folder}/README.md says what is where."""


@click.command("new-game")
@click.argument("folder", type=click.Path(file_okay=False, path_type=Path), metavar="DIR")
@click.argument("name")
def new_game(folder: Path, name: str) -> None:
    """Write a package with a game NAME into the new folder DIR: docs/games.md.

    The game is marbles, which passes `pbem check-game`; change it into yours. The name has small letters and hyphens.
    """
    try:
        check_name(name)
    except UnusableGame as error:
        raise click.BadParameter(str(error), param_hint="NAME") from error
    if folder.exists() and any(folder.iterdir()):
        raise click.BadParameter(f"{folder} is not empty", param_hint="DIR")
    examples.new_game(folder, name)
    click.echo(_TOLD.format(folder=folder, name=name))
