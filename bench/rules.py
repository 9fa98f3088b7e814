"""The rules alone: turns from text to reports, beside the moves of python-chess, and records replayed.

Games are played beforehand by random players; then their turns are played again, all sides' orders read and judged
and the turn resolved. Of Spaceships those turns count in which each side has eight orders or more, of Shoot 'em up
Spaceships those in which most ships are left, of Dueling Masters all. python-chess, the yardstick of a rules engine
in Python, generates all legal moves of each position and plays one of them at random.
"""

from __future__ import annotations

import compileall
import subprocess
import sys
import tempfile
import time
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

from playing import random_players

import pbem
from bench.measure import Goal, Part, alternate, median, ratio_goal
from pbem.games import rules
from pbem.match.record import Record, Turn, write

if TYPE_CHECKING:
    from collections.abc import Callable

TURNS_A_SECOND = 10_000
REPLAYED_A_SECOND = 5_000
START_MS = 150
LEAST_ORDERS = 8
LEAST_SHARE = 0.6
"""Of all ships: how many are left in a crowded turn."""
SECONDS = 1.5
"""How long each contestant's turn lasts."""
PBEM = str(Path(sys.executable).with_name("pbem"))

CHESS = "python-chess, plies of random play"
SPACESHIPS = "Spaceships, eight orders or more a side"

Turns = list[tuple[Any, dict[int, str]]]


def measure(rounds: int) -> list[Part]:
    """Turns a second of our games beside chess; the start of `pbem replay`, and what it does in a second."""
    samples = {
        SPACESHIPS: ("spaceships", busy_turns(Random(20), 60)),
        "Dueling Masters of Space-Time": ("dueling-masters", _all("dueling-masters", Random(20), 40)),
        **{
            f"Shoot 'em up Spaceships, {seats} seats": ("shoot-em-up", _crowded(Random(seats), 60, seats))
            for seats in (2, 3, 4)
        },
    }
    contestants: dict[str, Callable[[], float]] = {
        name: partial(_turns_a_second, game, turns) for name, (game, turns) in samples.items()
    }
    part = Part("Turns, from the orders' text to the reports", "turns a second")
    if find_spec("chess"):
        contestants[CHESS] = _plies_a_second
    else:
        part.notes.append("not measured: python-chess (install requirements-bench.lock)")
    part.figures = alternate(contestants, rounds)
    if CHESS in part.figures:
        part.goals.append(ratio_goal("Spaceships beside chess", part.figures[SPACESHIPS], part.figures[CHESS], 1))
    part.goals += [
        Goal(f"{name}, turns a second, best round", max(part.figures[name]), TURNS_A_SECOND, unit="")
        for name in samples
    ]
    return [part, _replays(rounds)]


def _replays(rounds: int) -> Part:
    compileall.compile_dir(str(Path(pbem.__file__).parent), quiet=1)  # as pip leaves what it installs
    with tempfile.TemporaryDirectory() as folder:
        short, many = Path(folder) / "short.pbem.toml", [Path(folder) / f"{n}.pbem.toml" for n in range(400)]
        _record(short, 1, most=1)
        turns = sum(_record(file, seed, most=None) for seed, file in enumerate(many))
        contestants = {
            "Python, an empty program": lambda: _milliseconds([sys.executable, "-c", "pass"]),
            "pbem replay, one turn": lambda: _milliseconds([PBEM, "replay", str(short)]),
            f"pbem replay --json, {turns} turns": lambda: _milliseconds([PBEM, "replay", "--json", *map(str, many)]),
        }
        part = Part("Records replayed", "milliseconds a call")
        part.figures = alternate(contestants, rounds)
    bare, one, all_turns = (median(found) for found in part.figures.values())
    part.goals.append(Goal("the start of pbem replay", one, START_MS, unit=" ms", most=True))
    a_second = turns / (all_turns - bare) * 1000
    part.goals.append(Goal("pbem replay --json, turns a second", a_second, REPLAYED_A_SECOND, unit=""))
    return part


def busy_turns(random: Random, games: int) -> Turns:
    """Positions with both sides' orders as text, eight or more a side."""
    judge = rules("spaceships")
    turns: Turns = []
    for number in range(games):
        raw: dict[str, Any] = ({}, {"fleet": "cost:24"}, {"additional": [8, 8]})[number % 3]
        game = random_players.play("spaceships", random, raw, 2)
        for state, texts in zip(game.states, game.orders, strict=False):
            orders: list[Any] = [judge.order(state, seat, text) for seat, text in texts.items()]
            if all(len(order.strikes) + len(order.scans) + len(order.beams) >= LEAST_ORDERS for order in orders):
                turns.append((state, texts))
    return turns


def _crowded(random: Random, games: int, seats: int) -> Turns:
    """Positions of Shoot 'em up Spaceships with most ships left, and all sides' orders as text."""
    turns: Turns = []
    for number in range(games):
        raw: dict[str, Any] = ({}, {"board": "5x5"}, {"board": "7x6"})[number % 3]
        game = random_players.play("shoot-em-up", random, raw, seats, most=20)
        turns += [
            (state, texts)
            for state, texts in zip(game.states, game.orders, strict=False)
            if sum(state.scores) >= LEAST_SHARE * 3 * seats
        ]
    return turns


def _all(name: str, random: Random, games: int) -> Turns:
    """Every position of some games with the orders given in it as text."""
    turns: Turns = []
    for number in range(games):
        choices = random_players.PLAYERS[name].options
        game = random_players.play(name, random, *choices[number % len(choices)])
        turns.extend(zip(game.states, game.orders, strict=False))
    return turns


def _turns_a_second(name: str, turns: Turns) -> float:
    judge = rules(name)
    order, resolve = judge.order, judge.turn
    done, start = 0, time.process_time()  # of this process alone, whatever else the machine does
    while time.process_time() < start + SECONDS:
        for state, texts in turns:
            resolve(state, {seat: order(state, seat, text) for seat, text in texts.items()})
        done += len(turns)
    return done / (time.process_time() - start)


def _plies_a_second() -> float:
    import chess  # noqa: PLC0415 - only where it is installed

    random = Random(20)
    done, start = 0, time.process_time()
    while time.process_time() < start + SECONDS:
        board = chess.Board()
        for _ in range(100):
            moves = list(board.legal_moves)
            if not moves:
                break
            board.push(random.choice(moves))
            done += 1
    return done / (time.process_time() - start)


def _milliseconds(command: list[str]) -> float:
    start = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return (time.perf_counter() - start) * 1000


def _record(where: Path, seed: int, most: int | None) -> int:
    """Write the record of a random game; how many turns it has."""
    game = random_players.play("spaceships", Random(seed), {}, 2, most or 1000)
    seats = tuple(zip(("Ann", "Bob"), game.setups, strict=True))
    where.write_text(write(Record(game.game, seats, tuple(Turn(orders) for orders in game.orders))))
    return len(game.orders)
