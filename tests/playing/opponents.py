"""Games between programs: those of `pbem.player.opponent`, each handed what its letters would tell it, as JSON.

A level of 0 is a player who knows the rules but has no plan.
"""

from __future__ import annotations

import hashlib
import json
import time
from dataclasses import dataclass, field
from random import Random
from typing import TYPE_CHECKING, Any

from playing import random_players

from pbem.games import GAMES, Refused, ShownReports, parts, rules
from pbem.player.opponent import Chance, Position, strategy

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pbem.games import Options, Report, State


@dataclass
class Game:
    """A game that was played to its end, or until a number of turns."""

    setups: list[str]
    orders: list[dict[int, str]] = field(default_factory=list)
    state: State | None = None
    seconds: dict[int, list[float]] = field(default_factory=dict)
    """By seat, the processor time of each move."""

    @property
    def winner(self) -> int:
        """The seat that won alone, 0 for a draw or a game that is not over."""
        result = self.state.result if self.state else None
        return result.winners[0] if result and len(result.winners) == 1 else 0

    @property
    def digest(self) -> str:
        """A hash of all setups and orders."""
        return hashlib.sha256(json.dumps([self.setups, self.orders]).encode()).hexdigest()


def told(options: Options, state: State, seat: int, shown: Sequence[Sequence[Report]]) -> Position:
    """A position as the seat's letters tell it."""
    judge = rules(next(name for name, module in GAMES.items() if type(state).__module__.startswith(f"{module}.")))
    view, turns = json.loads(json.dumps([parts.view(judge, state, seat, shown), shown]))
    return Position(options, seat, view, turns)


def play(game: str, seed: str, levels: Sequence[int], raw: Mapping[str, Any] | None = None, most: int = 400) -> Game:
    """A game between programs of these levels, by seat."""
    judge, plays = rules(game), strategy(game)
    options = judge.options(raw or {}, len(levels))
    seats = range(1, len(levels) + 1)
    chances = {seat: Chance(f"{game} {seed} seat {seat}".encode()) for seat in seats}
    randoms = {seat: Random(f"{game} {seed} seat {seat}") for seat in seats}
    setups = []
    for seat, level in zip(seats, levels, strict=True):
        if level:
            setups.append(plays.setup(level, chances[seat].of("setup"), options, seat))
        else:
            setups.append(random_players.PLAYERS[game].setup(randoms[seat], options, seat))
    state = judge.begin(options, [judge.setup(options, seat, setups[seat - 1]) for seat in seats])
    played = Game(setups, state=state, seconds={seat: [] for seat in seats})
    shown: dict[int, list[list[Report]]] = {seat: [] for seat in seats}
    while state.result is None and len(played.orders) < most:
        texts = {}
        for seat, forced in state.due.items():
            level = levels[seat - 1]
            if forced is not None:
                texts[seat] = forced.text
            elif level:
                position = told(options, state, seat, shown[seat])
                start = time.process_time()
                texts[seat] = plays.orders(level, chances[seat].of(f"turn {state.turn}"), position)
                played.seconds[seat].append(time.process_time() - start)
            else:
                seen = dict(parts.view(judge, state, seat, shown[seat]))
                texts[seat] = random_players.PLAYERS[game].orders(randoms[seat], seen)
        try:
            orders = {seat: judge.order(state, seat, text) for seat, text in texts.items()}
        except Refused as refused:
            raise AssertionError(f"{texts}: {refused}") from refused
        state, reports = judge.turn(state, orders)
        for seat, heard in shown.items():
            heard.append(ShownReports(found for report in reports if (found := judge.show(report, seat)) is not None))
        played.orders.append(texts)
        played.state = state
    return played
