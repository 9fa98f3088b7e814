"""`pbem publish`: the page of a match from its bundle, to be opened from a disk or served as it is.

Here lives reading and printing alone; the page is put together in `pages`. Implements design.md, "Layout", `cli/`.
"""

from __future__ import annotations

import sys
from pathlib import Path

import click

from pbem.match.bundle import NotABundle, read
from pbem.match.record import Illegal, NotARecord
from pbem.pages.replay import replay

__all__ = ["publish"]


@click.command()
@click.argument("bundle", type=click.Path(exists=True, dir_okay=False, path_type=Path))
def publish(bundle: Path) -> None:
    """Print the page of the match in BUNDLE: its finished games to step through, and the proof to be checked.

    The page is one file that loads nothing and sends nothing. Exit status 1: the file is no bundle.
    """
    try:
        click.echo(replay(read(bundle.read_bytes())), nl=False)
    except (NotABundle, NotARecord, Illegal) as error:
        click.echo(f"{bundle}: {error}", err=True)
        sys.exit(1)
