"""Players that know the rules of a game but have no plan: how it is played at random, from what players are told."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pbem.games import Told
from pbem.games.draws import play_turn

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from random import Random

    from pbem.games import Report, Rules
    from pbem.testing.worlds import Change


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
    """The secrets of other seats that a reader cannot have learned, beside whole setups and orders: see `worlds`."""
    secrets: bool = True
    """False if every player may know everything."""
    turns: int = 2000
    """The number of turns within which any game is over."""


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


def shown(judge: Rules, reports: Sequence[Report], reader: int | None) -> Told:
    """The reports of a turn as a reader may read them."""
    return Told(found for report in reports if (found := judge.show(report, reader)) is not None)


def play(
    judge: Rules, players: RandomPlayers, random: Random, raw: Mapping[str, Any], seats: int, most: int
) -> PlayedGame:
    """Play a game at random, this number of turns at the most; raises what the rules raise."""
    options = judge.options(raw, seats)
    setups = [judge.setup(options, seat, players.setup(random, options, seat)) for seat in range(1, seats + 1)]
    state = judge.begin(options, setups)
    played = PlayedGame(judge.name, options, [setup.text for setup in setups], states=[state])
    told: dict[int, list[Told]] = {seat: [] for seat in range(1, seats + 1)}
    while state.result is None and len(played.orders) < most:
        texts = {
            seat: players.orders(random, dict(judge.view(state, seat, told[seat]))) if forced is None else forced.text
            for seat, forced in state.due.items()
        }
        orders = {seat: judge.order(state, seat, text) for seat, text in texts.items()}
        seed = random.randbytes(32).hex() if judge.chance else ""
        state, reports = play_turn(judge, state, orders, seed)
        for seat, known in told.items():
            known.append(shown(judge, reports, seat))
        played.orders.append(texts)
        played.chance.append(seed)
        played.reports.append(reports)
        played.states.append(state)
    return played


def readers(seats: int) -> Iterator[int | None]:
    """All who may read of a game: the public, and each seat."""
    yield None
    yield from range(1, seats + 1)
