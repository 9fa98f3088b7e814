"""The conformance kit: whether a game keeps to everything that `pbem` relies on.

`pbem check-game NAME` runs it on a game of an installed package; `CHECKS`, by name, are for the package's own tests.
`subject` has a game's random players, `secrecy` varies secrets, `checks` has the rest, `by_mail` a match by mail. It
is for writers of games; nothing else in `pbem` uses it. Implements docs/games.md.
"""

from pbem.testing.checks import CHECKS, write_records
from pbem.testing.subject import Nonconforming, PlayedGame, RandomPlayers, Subject, World, subject

__all__ = [
    "CHECKS",
    "Nonconforming",
    "PlayedGame",
    "RandomPlayers",
    "Subject",
    "World",
    "subject",
    "write_records",
]
