"""The proposals that a program accepts, and its configuration file, opponent.toml.

Its limits are in the words of the terms. Only the file is read here, and nothing is sent. Implements
docs/opponent.md, "What it does"; config/opponent.example.toml documents every key.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

import msgspec

from pbem.games import BUILT_IN
from pbem.games.outside import UnusableGame, enable
from pbem.match.option_lines import duration
from pbem.player.account_file import Account, BadAccount, beside, read_settings
from pbem.player.opponent import SEED_OCTETS, STRATEGIES, Chance, is_played, strategy

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence, Set
    from pathlib import Path

    from pbem.match.terms import Terms
    from pbem.match.view import MatchView


Reason = Literal["game", "options", "pace", "person", "all", "setup"]
"""A reason to decline a proposal; the template player/decline.txt has its sentence."""

_RUNNING = frozenset({"setup", "playing"})
_AGREED = ("proposed", True)
_TRIAL = bytes(SEED_OCTETS)


class GameLimits(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The level of one game, and its accepted options."""

    level: Annotated[int, msgspec.Meta(ge=1, le=3)] = 2
    options: Literal["any", "standard"] = "any"
    """`standard`: the game's own options must be the defaults."""


class PlayerLimits(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The matches that the program accepts, and its delay."""

    matches: Annotated[int, msgspec.Meta(ge=1, le=100_000)] = 200
    """The maximum number of matches at the same time."""
    matches_each: Annotated[int, msgspec.Meta(ge=1, le=100_000)] = 2
    """The same with one person."""
    pace: tuple[str, str] = ("1h", "90d")
    """The least and the most time for a turn; the most may be `none`: matches without deadlines are accepted, too."""
    delay: str = "0"
    """The delay before setups and orders are sent; less if a deadline is near."""

    joins: str = "1d"
    """The time on the open list after which it takes the last free seat of a match; `off`: it joins none."""
    claims: str = "7d"
    """The time from when it may claim a silent player's game until it does; `off`: it claims none."""

    def __post_init__(self) -> None:
        allowed = [self.pace[0], self.delay, *(self.pace[1:] if self.pace[1] != "none" else ())]
        for text in allowed + [time for time in (self.joins, self.claims) if time != "off"]:
            if duration(text) is None:
                raise ValueError(f"{text} is no time: write 10m, 2h or 1d")

    def allows(self, pace: int) -> bool:
        """True if this pace in seconds is within the limits; 0 means no deadlines."""
        least, most = duration(self.pace[0]) or 0, duration(self.pace[1])
        return least <= pace <= most if pace and most is not None else most is None or bool(pace)


class ProgramSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The whole file; paths are absolute once loaded."""

    account: Account
    memory: str = "opponent.sqlite"
    """The file of its memory, relative to this one; nobody else may read it."""
    server_key: Annotated[
        str, msgspec.Meta(pattern="^([0-9a-f]{64})?$", description="a key of 64 hex digits in lower case")
    ] = ""
    """The server's key, if it is known; else that of its first answer is kept."""
    language: Literal["en", "de"] = "en"
    """The language of its messages to players."""
    play: PlayerLimits = PlayerLimits()
    games: dict[str, GameLimits] = {}

    def __post_init__(self) -> None:
        if not self.account.key:
            raise ValueError("account.key: a program signs; name the file of its key")
        if not self.games:
            raise ValueError(f"no game is accepted: write a table such as [games.{next(iter(STRATEGIES))}]")

    def faults(
        self, terms: Terms, seat: int, people: Set[str | None], others: Sequence[MatchView]
    ) -> Iterator[Reason]:
        """The reasons why a proposed seat against these people is beyond the limits, beside these matches of ours."""
        game = self.games.get(terms.game)
        if game is None:
            yield "game"
            return
        if game.options == "standard" and terms.options:
            yield "options"
        if not self.play.allows(terms.pace):
            yield "pace"
        taken = [one for one in others if one.phase in _RUNNING or (one.phase, one.accepted) == _AGREED]
        if len(taken) >= self.play.matches:
            yield "all"
        each = [sum(name in one.players for one in taken) for name in people]
        if any(number >= self.play.matches_each for number in each):
            yield "person"
        try:
            strategy(terms.game).setup(game.level, Chance(_TRIAL), terms.first_options(), seat)
        except ValueError:
            yield "setup"


def load(path: Path) -> ProgramSettings:
    """The settings of a file, with its games enabled; raises `BadAccount` with all known faults."""
    settings = read_settings(ProgramSettings, path)
    for game in settings.games:
        try:
            enable([game] if game not in BUILT_IN else [])
        except UnusableGame as error:
            raise BadAccount(f"{path}: games.{game}: {error}") from error
        if not is_played(game):
            raise BadAccount(f"{path}: games.{game}: its package has no players")
    account = msgspec.structs.replace(settings.account, key=beside(path, settings.account.key))
    return msgspec.structs.replace(settings, account=account, memory=beside(path, settings.memory))
