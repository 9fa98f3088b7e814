"""`pbem page`: the composer of a game as one file, to be opened from a disk or served as it is.

Here lives printing alone; the page is put together in `pages`. Implements design.md, "Layout", `cli/`.
"""

from __future__ import annotations

import click

from pbem.games import GAMES
from pbem.pages import composer

__all__ = ["page"]


@click.command()
@click.argument("game", type=click.Choice(list(GAMES)))
def page(game: str) -> None:
    """Print the page on which setups and orders of GAME are clicked together.

    The page is one file that loads nothing and sends nothing: `pbem page GAME > GAME.html`, then open it.
    """
    click.echo(composer(game), nl=False)
