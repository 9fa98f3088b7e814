"""How well the programs play that play by mail: each level against the one below, and classic Battleship by counting.

Strength is no matter of speed, so that nothing is measured in turns here: so many games with seeds that are named,
each pair of seats twice with the sides changed, and the share of points, a draw being half of one, with the interval
in which it lies in 95 cases of 100. A round is a batch of further games. What a move takes is processor time.
"""

from __future__ import annotations

import math
import statistics
from typing import TYPE_CHECKING, Final

from playing import opponents

from bench.measure import Goal, Part
from pbem.player.opponent import Chance
from pbem.player.opponent.fleets import FleetSlot, counted, indexed

if TYPE_CHECKING:
    from collections.abc import Sequence

LADDER: Final = (
    ("spaceships", 2, 1, 0.70, 120),
    ("spaceships", 3, 2, 0.60, 20),
    ("shoot-em-up", 3, 0, 0.98, 10),
    ("shoot-em-up", 3, 2, 0.65, 10),
    ("dueling-masters", 2, 0, 0.90, 60),
    ("dueling-masters", 3, 2, 0.60, 60),
)
"""The game, a level and whom it meets (0: random play), the share of points that is its goal, and games a round."""
CLASSIC_GAMES: Final = 100
SHOTS: Final = 43.5
MOVE_MS: Final = {1: 50, 2: 50, 3: 1000}

_SIDE: Final = 10
_LENGTHS: Final = (5, 4, 3, 3, 2)


def measure(rounds: int) -> list[Part]:
    """The shots of classic Battleship, the ladder of each game, and the slowest move of each level."""
    slowest: dict[tuple[str, int], list[float]] = {}
    part = Part("Programs that play: points of games, a draw being half of one", "")
    for game, level, other, mark, games in LADDER:
        points = _points(game, level, other, rounds * games, slowest)
        part.goals.append(_share(game, level, other, points, mark))
    part.notes.append("seeds: `bench 0`, `bench 1` and so on, each of them with both sides changed")
    return [_classic(rounds), part, _moves(slowest)]


def _points(
    game: str, level: int, other: int, games: int, slowest: dict[tuple[str, int], list[float]]
) -> list[float]:
    points = []
    for number in range(games):
        seat = 1 + number % 2
        levels = (level, other) if seat == 1 else (other, level)
        played = opponents.play(game, f"bench {number // 2}", levels)
        points.append(1.0 if played.winner == seat else 0.0 if played.winner else 0.5)
        for moved, seconds in played.seconds.items():
            slowest.setdefault((game, levels[moved - 1]), []).extend(seconds)
    return points


def _share(game: str, level: int, other: int, points: Sequence[float], mark: float) -> Goal:
    against = f"level {other}" if other else "random play"
    what = f"{game}, level {level} against {against}, {len(points)} games"
    return Goal(what, statistics.mean(points), mark, unit=" of the points", spread=_wilson(points))


def _wilson(points: Sequence[float]) -> tuple[float, float]:
    """The interval of a share by Wilson, 95 per cent."""
    z, games, share = 1.96, len(points), statistics.mean(points)
    middle = (share + z * z / (2 * games)) / (1 + z * z / games)
    half = z / (1 + z * z / games) * math.sqrt(share * (1 - share) / games + z * z / (4 * games * games))
    return middle - half, middle + half


def _moves(slowest: dict[tuple[str, int], list[float]]) -> Part:
    part = Part("Programs that play: processor time of a move", "milliseconds")
    for (game, level), seconds in sorted(slowest.items()):
        if level:
            part.figures[f"{game}, level {level}, of {len(seconds)} moves"] = [second * 1000 for second in seconds]
    for level, most in MOVE_MS.items():
        worst = max(second for (_, by), seconds in slowest.items() if by == level for second in seconds)
        part.goals.append(Goal(f"the slowest move of level {level}", worst * 1000, most, unit=" ms", most=True))
    return part


# Classic Battleship


def _classic(rounds: int) -> Part:
    """The counting of Spaceships on the board on which others have published figures."""
    shots = [_shots(f"classic {number}") for number in range(rounds * CLASSIC_GAMES)]
    error = 1.96 * statistics.stdev(shots) / math.sqrt(len(shots))
    mean = statistics.mean(shots)
    part = Part("Classic Battleship by counting: 10x10, ships of 5, 4, 3, 3 and 2, sunk ships named", "shots")
    part.figures["shots to sink all"] = [float(number) for number in shots]
    what = f"shots to sink all, mean of {len(shots)} games"
    part.goals.append(Goal(what, mean, SHOTS, unit="", most=True, spread=(mean - error, mean + error)))
    part.notes.append(
        "seeds: `classic 0`, `classic 1` and so on; published: random 95.4, hunt and target 62.2, 46, 42"
    )
    return part


def _lines(length: int) -> tuple[int, ...]:
    starts = range(_SIDE - length + 1)
    across = [sum(1 << row * _SIDE + first + at for at in range(length)) for row in range(_SIDE) for first in starts]
    down = [sum(1 << (first + at) * _SIDE + row for at in range(length)) for row in range(_SIDE) for first in starts]
    return (*across, *down)


_KINDS: Final = {length: indexed(str(length), _lines(length), _SIDE * _SIDE) for length in set(_LENGTHS)}


def _shots(seed: str) -> int:
    """How many shots it takes to sink a fleet that was put anywhere."""
    chance = Chance(seed.encode())
    fleet = _fleet(chance)
    everything = 0
    for _, mask in fleet:
        everything |= mask
    dark, hit, missed, gone = (1 << _SIDE * _SIDE) - 1, 0, 0, 0
    shots = 0
    while fleet:
        kinds = [_KINDS[length] for length, _ in fleet]
        slots = [FleetSlot((kind,), (kind.every & ~kind.touching(missed | gone),)) for kind in kinds]
        worth = counted(slots, hit & ~gone, dark, _SIDE * _SIDE)
        best = max(worth)
        cell = 1 << chance.choice([cell for cell, value in enumerate(worth) if value == best and dark >> cell & 1])
        shots += 1
        dark &= ~cell
        if not everything & cell:
            missed |= cell
            continue
        hit |= cell
        for length, mask in [ship for ship in fleet if not ship[1] & ~hit]:
            fleet.remove((length, mask))
            gone |= mask
    return shots


def _fleet(chance: Chance) -> list[tuple[int, int]]:
    while True:
        masks = [chance.choice(_KINDS[length].masks) for length in _LENGTHS]
        taken = 0
        for mask in masks:
            taken |= mask
        if taken.bit_count() == sum(_LENGTHS):
            return list(zip(_LENGTHS, masks, strict=True))
