"""The subject of the checks: a game with its random players, its records, and some games played with them.

Random players are handed a view like any reader, and decide by it alone. A world is such a game as text, which
`secrecy` varies.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from importlib import import_module
from pathlib import Path
from random import Random
from traceback import extract_tb
from typing import TYPE_CHECKING, Any, NamedTuple

from pbem.games import GAMES, Refused, ShownReports, part_of, parts, rules
from pbem.games.draws import play_turn
from pbem.match.record import Record, Turn

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pbem.games import Report, Rules, State


@dataclass
class World:
    """A game as text."""

    judge: Rules
    options: Any
    setups: list[str]
    orders: list[dict[int, str]]
    chance: list[str]
    """By turn, the seed of what chance deals; empty texts in a game without chance."""
    changes: Counter[str] = field(default_factory=Counter, compare=False)
    """The number of changes of each sort that were kept."""

    def copy(self) -> World:
        """The same game, to be changed."""
        orders = [{**turn} for turn in self.orders]
        return World(self.judge, self.options, [*self.setups], orders, [*self.chance], self.changes.copy())

    def positions(self) -> Iterator[tuple[State, list[Report]]]:
        """Each position, and the reports that led to it; raises `Refused` when something is not legal."""
        judge = self.judge
        setups = [judge.setup(self.options, seat, text) for seat, text in enumerate(self.setups, start=1)]
        state = judge.begin(self.options, setups)
        yield state, []
        for texts, seed in zip(self.orders, self.chance, strict=True):
            if state.result is not None or set(texts) != set(state.due):
                raise Refused
            orders = {seat: judge.order(state, seat, text) for seat, text in texts.items()}
            state, reports = play_turn(judge, state, orders, seed)
            yield state, reports

    def told(self, reader: int | None) -> list[Any] | None:
        """All that the rules show this reader, turn by turn; None when the game is not legal."""
        try:
            return [
                (
                    list(shown(self.judge, reports, reader)),
                    {seat: forced is None for seat, forced in state.due.items()},
                    state.result is not None and (state.result.winners, state.result.reason),
                )
                for state, reports in self.positions()
            ]
        except Refused:
            return None


Change = Callable[[Random, World, int], None]
"""Changes one secret of a seat in a world, perhaps to something illegal."""


class Beginning(NamedTuple):
    """The part of a game that is not left to random players: its options, perhaps setups and turns, too."""

    options: Mapping[str, Any]
    seats: int
    setups: Sequence[str] = ()
    turns: Sequence[Turn] = ()


@dataclass(frozen=True)
class RandomPlayers:
    """The random play of a game."""

    options: Sequence[tuple[Mapping[str, Any], int]]
    """Some options to play under, as a record has them, and the number of seats; the first is played by mail."""
    orders: Callable[[Random, dict[str, Any]], str]
    """Legal orders of a seat that is asked for them, from its view alone."""
    setup: Callable[[Random, Any, int], str] = lambda *_: ""
    """A legal setup of a seat, by the game's own options; not of a game without setups."""
    nearly: Sequence[str] = ()
    """Texts that are nearly setups or orders: they are refused, and nothing worse."""
    changes: Sequence[Change] = ()
    """The secrets of other seats that a reader cannot have learned, beside whole setups and orders: see `secrecy`."""
    openings: Sequence[Record] = ()
    """Games of your own, which random players continue: positions to which random play would hardly lead."""
    secrets: bool = True
    """False if every player may know everything."""
    turns: int = 2000
    """The number of turns within which any game is over."""

    @property
    def beginnings(self) -> list[Beginning]:
        """The beginnings of the games that are played: of one for each of the options, then the openings."""
        played = [
            Beginning(one.options, len(one.seats), [setup for _, setup in one.seats], one.turns)
            for one in self.openings
        ]
        return [Beginning(raw, seats) for raw, seats in self.options] + played


@dataclass
class PlayedGame:
    """A game that was played to its end, or until a number of turns."""

    game: str
    options: Any
    """The game's own, as its states are."""
    setups: list[str]
    orders: list[dict[int, str]] = field(default_factory=list)
    """By turn and seat, as they were written."""
    reports: list[list[Report]] = field(default_factory=list)
    states: list[Any] = field(default_factory=list)
    """The position before the first turn, and after each."""
    chance: list[str] = field(default_factory=list)
    """By turn, the seed of what chance dealt; empty texts in a game without chance."""


def shown(judge: Rules, reports: Sequence[Report], reader: int | None) -> ShownReports:
    """The reports of a turn as a reader may read them."""
    return ShownReports(found for report in reports if (found := judge.show(report, reader)) is not None)


def play(judge: Rules, players: RandomPlayers, random: Random, beginning: Beginning, most: int) -> PlayedGame:
    """Play a game at random from a beginning on, this number of turns at the most; raises what the rules raise."""
    seats = beginning.seats
    options = judge.options(beginning.options, seats)
    written = beginning.setups or [players.setup(random, options, seat) for seat in range(1, seats + 1)]
    setups = [judge.setup(options, seat, text) for seat, text in enumerate(written, start=1)]
    state = judge.begin(options, setups)
    played = PlayedGame(judge.name, options, [setup.text for setup in setups], states=[state])
    told: Told = {seat: [] for seat in range(1, seats + 1)}
    for turn in beginning.turns:
        seed = random.randbytes(32).hex() if judge.chance else ""
        _turn(judge, played, told, turn.orders, turn.chance or seed)
    play_on(judge, players, random, played, told, most)
    return played


Told = dict[int, list[ShownReports]]
"""By seat, the reports of each turn that it was shown."""


def play_on(judge: Rules, players: RandomPlayers, random: Random, played: PlayedGame, told: Told, most: int) -> None:
    """Play a game on at random from its last position, until it has this number of turns at the most."""
    while (state := played.states[-1]).result is None and len(played.orders) < most:
        texts = {
            seat: players.orders(random, dict(parts.view(judge, state, seat, told[seat])))
            if forced is None
            else forced.text
            for seat, forced in state.due.items()
        }
        _turn(judge, played, told, texts, random.randbytes(32).hex() if judge.chance else "")


def _turn(judge: Rules, played: PlayedGame, told: Told, texts: Mapping[int, str], seed: str) -> None:
    state = played.states[-1]
    orders = {seat: judge.order(state, seat, text) for seat, text in texts.items()}
    state, reports = play_turn(judge, state, orders, seed)
    for seat, known in told.items():
        known.append(shown(judge, reports, seat))
    played.orders.append(dict(texts))
    played.chance.append(seed)
    played.reports.append(reports)
    played.states.append(state)


def readers(seats: int) -> Iterator[int | None]:
    """All who may read of a game: the public, and each seat."""
    yield None
    yield from range(1, seats + 1)


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
        return Path(import_module(GAMES[self.name]).__file__ or "").resolve().parent

    @cached_property
    def played(self) -> list[PlayedGame]:
        """Games between random players, each to its end; raises `Nonconforming` if one cannot be played."""
        return [
            self.play(case, seed, self.players.turns)
            for case in range(len(self.players.beginnings))
            for seed in range(self.seeds)
        ]

    def play(self, case: int, seed: int, most: int) -> PlayedGame:
        """One game between random players, this number of turns at the most."""
        beginning = self.players.beginnings[case]
        under = f"with options {dict(beginning.options)}" + (" and an opening" if beginning.turns else "")
        try:
            return play(self.judge, self.players, Random(f"{self.name} {case} {seed}"), beginning, most)
        except Refused as refused:
            said = f"its random players do what the rules refuse, {under}: {refused}"
            raise Nonconforming(said) from refused
        except Exception as error:  # whatever a game raises
            said = f"{under}, a random game raises {self.raised(error)}"
            raise Nonconforming(said) from error

    def raised(self, error: Exception) -> str:
        """The exception, and the last place in the game's package, templates included, that led to it."""
        frames = [(Path(frame.filename).resolve(), frame.lineno) for frame in extract_tb(error.__traceback__)]
        at = [(path, line) for path, line in frames if path.is_relative_to(self.folder)]
        place = f" ({at[-1][0].relative_to(self.folder).as_posix()}, line {at[-1][1]})" if at else ""
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
