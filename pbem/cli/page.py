"""`pbem page`: the composer of a game as one file, to be opened from a disk or served as it is.

Only the printing lives here; `pages` puts the page together. Implements design.md, "Layout", `cli/`.
"""

from __future__ import annotations

from pathlib import Path

import click

from pbem.config.file import ConfigError, load
from pbem.games import BUILT_IN, GAMES
from pbem.i18n import ENGLISH, LANGUAGES
from pbem.pages import Home, composer


@click.command()
@click.argument("game", type=click.Choice(list(GAMES)))
@click.option(
    "--config",
    "config_file",
    type=click.Path(dir_okay=False, path_type=Path),
    envvar="PBEM_CONFIG",
    help="The configuration of the server that the page is for.",
)
@click.option(
    "--language", type=click.Choice(LANGUAGES), default=ENGLISH, show_default=True, help="The page's language."
)
def page(game: str, config_file: Path | None, language: str) -> None:
    """Print the page on which players compose setups and orders of GAME by clicking.

    The page is one file that loads nothing and sends nothing: `pbem page GAME > GAME.html`, then open it.

    With a configuration, the page is for that server, and writes letters to no other. Without one, it shows the
    address to which it would write, and asks before the first letter.
    """
    if game not in BUILT_IN:
        raise click.ClickException(
            f"Pages that compose know our own games alone: pbem --game {game} play --browser shows {game} as text."
        )
    home = None
    if config_file is not None:
        try:
            config = load(config_file)
        except ConfigError as error:
            raise click.ClickException(str(error)) from error
        home = Home(config.server, config.mail_address, config.delimiter)
    click.echo(composer(game, home, language).encode(), nl=False)
