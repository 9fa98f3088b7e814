"""The subject of the checks: a game with its random players, its records, and some games played with them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from pathlib import Path
from random import Random
from traceback import extract_tb
from typing import TYPE_CHECKING

from pbem.games import GAMES, Refused, part_of, rules
from pbem.match.record import Record, Turn
from pbem.testing.random_players import RandomPlayers, play

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pbem.games import Rules
    from pbem.testing.random_players import PlayedGame


class Nonconforming(AssertionError):
    """A game does not keep to the interface; the message says where, and what should be."""


def demand(condition: object, fault: str) -> None:
    """Raise `Nonconforming` with this fault, unless the condition holds."""
    if not condition:
        raise Nonconforming(fault)


@dataclass(frozen=True)
class Subject:
    """A game, how it is played at random, and the folder of its records: by edition, `edition-1/*.pbem.toml`."""

    name: str
    players: RandomPlayers
    records: Path
    seeds: int = 2
    """The number of games that are played with each of the options."""

    @cached_property
    def judge(self) -> Rules:
        """The rules."""
        return rules(self.name)

    @cached_property
    def folder(self) -> Path:
        """The folder of the game's module."""
        return Path(import_module(GAMES[self.name]).__file__ or "").parent

    @cached_property
    def played(self) -> list[PlayedGame]:
        """Games between random players, each to its end; raises `Nonconforming` if one cannot be played."""
        return [
            self.play(case, seed, self.players.turns)
            for case in range(len(self.players.options))
            for seed in range(self.seeds)
        ]

    def play(self, case: int, seed: int, most: int) -> PlayedGame:
        """One game between random players, this number of turns at the most."""
        raw, seats = self.players.options[case]
        try:
            return play(self.judge, self.players, Random(f"{self.name} {case} {seed}"), raw, seats, most)
        except Refused as refused:
            said = f"its random players do what the rules refuse, with options {dict(raw)}: {refused}"
            raise Nonconforming(said) from refused
        except Exception as error:  # whatever a game raises
            said = f"with options {dict(raw)}, a random game raises {self.raised(error)}"
            raise Nonconforming(said) from error

    def raised(self, error: Exception) -> str:
        """The exception, and the last place in the game's module that led to it."""
        at = [frame for frame in extract_tb(error.__traceback__) if Path(frame.filename).is_relative_to(self.folder)]
        place = f" ({Path(at[-1].filename).relative_to(self.folder).as_posix()}, line {at[-1].lineno})" if at else ""
        return f"{type(error).__name__}: {error}{place}"

    def positions(self) -> Iterator[tuple[PlayedGame, int]]:
        """Each turn of the games that were played: the game, and the number of turns before it."""
        for game in self.played:
            for number in range(len(game.orders)):
                yield game, number


def record_of(game: PlayedGame, edition: int) -> Record:
    """The record of a game that was played at random, without its result."""
    return Record(
        game=game.game,
        rules=edition,
        seats=tuple(("", setup) for setup in game.setups),
        turns=tuple(Turn(orders, chance=seed) for orders, seed in zip(game.orders, game.chance, strict=True)),
        options=dict(game.options.changed),
    )


def subject(name: str) -> Subject:
    """A game of a package, whose module `players` has `PLAYERS`, and whose records are beside it."""
    found = part_of(name, "players")
    if found is None:
        raise Nonconforming(f"{GAMES[name]}.players is missing: its PLAYERS say how the game is played at random")
    return Subject(name, found.PLAYERS, Path(import_module(GAMES[name]).__file__ or "").parent / "records")
