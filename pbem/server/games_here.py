"""The games that are played on a server: those of pbem, and those of other packages that its configuration names."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pbem.games import GAMES
from pbem.games.outside import UnusableGame, enable
from pbem.store.matches import games_of

if TYPE_CHECKING:
    from pbem.config.server import Config
    from pbem.store.database import Database


def enable_games(config: Config, database: Database) -> None:
    """Enable the games that the configuration names; raises `UnusableGame` if it lacks one whose matches are kept."""
    enable(config.games.enabled)
    if missing := sorted(games_of(database) - GAMES.keys()):
        raise UnusableGame(f'there are matches of "{missing[0]}" in the store: name it in [games] enabled')
