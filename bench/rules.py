"""How fast the rules are: turns of each game from text to reports, and the start of `pbem replay`.

    .venv/bin/python bench/rules.py [seconds]

Games are played beforehand by random players; then their turns are played again, all sides' orders read and judged
and the turn resolved. Of Spaceships those turns count in which each side has eight orders or more, of Shoot 'em up
Spaceships those in which most ships are left, of Dueling Masters all. No goal is tested elsewhere: a test that
measures time fails on a busy day.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from random import Random

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests"))

import random_players  # noqa: E402

from pbem.games import rules  # noqa: E402
from pbem.match.record import Record, Turn, write  # noqa: E402

TURNS_A_SECOND = 10_000
START_MS = 150
LEAST_ORDERS = 8
LEAST_SHARE = 0.6  # of all ships


def busy_turns(random: Random, games: int) -> list[tuple]:
    """Positions with both sides' orders as text, eight or more a side."""
    judge = rules("spaceships")
    turns = []
    for number in range(games):
        raw = ({}, {"fleet": "cost:24"}, {"additional": [8, 8]})[number % 3]
        game = random_players.play("spaceships", random, raw, 2)
        for state, texts in zip(game.states, game.orders, strict=False):
            orders = [judge.order(state, seat, text) for seat, text in texts.items()]
            if all(len(order.strikes) + len(order.scans) + len(order.beams) >= LEAST_ORDERS for order in orders):
                turns.append((state, texts))
    return turns


def crowded_turns(random: Random, games: int, seats: int) -> list[tuple]:
    """Positions of Shoot 'em up Spaceships with most ships left, and all sides' orders as text."""
    turns = []
    for number in range(games):
        raw = ({}, {"board": "5x5"}, {"board": "7x6"})[number % 3]
        game = random_players.play("shoot-em-up", random, raw, seats, most=20)
        turns += [
            (state, texts)
            for state, texts in zip(game.states, game.orders, strict=False)
            if sum(state.scores) >= LEAST_SHARE * 3 * seats
        ]
    return turns


def all_turns(name: str, random: Random, games: int) -> list[tuple]:
    """Every position of some games with the orders given in it as text."""
    turns = []
    for number in range(games):
        choices = random_players.PLAYERS[name].options
        game = random_players.play(name, random, *choices[number % len(choices)])
        turns.extend(zip(game.states, game.orders, strict=False))
    return turns


def turns_a_second(name: str, turns: list[tuple], seconds: float) -> tuple[float, float]:
    """The best and the median of several rounds over all turns."""
    judge = rules(name)
    order, resolve = judge.order, judge.turn
    figures = []
    until = time.perf_counter() + seconds
    while time.perf_counter() < until or len(figures) < 5:
        start = time.process_time()  # of this process alone, whatever else the machine does
        for state, texts in turns:
            resolve(state, {seat: order(state, seat, text) for seat, text in texts.items()})
        figures.append(len(turns) / (time.process_time() - start))
    return max(figures), statistics.median(figures)


def start_ms(command: list[str], runs: int = 15) -> float:
    """The median of several runs of a process, in milliseconds."""
    times = []
    for _ in range(runs):
        start = time.perf_counter()
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        times.append(time.perf_counter() - start)
    return statistics.median(times) * 1000


def short_file(where: Path) -> Path:
    """A record of one turn."""
    game = random_players.play("spaceships", Random(1), {}, 2, most=1)
    seats = tuple(zip(("Ann", "Bob"), game.setups, strict=True))
    where.write_text(write(Record(game.game, seats, tuple(Turn(orders) for orders in game.orders))))
    return where


def said(met: bool) -> str:
    return "goal met" if met else "GOAL MISSED"


def main() -> None:
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 5.0
    samples = [
        ("spaceships", f"with {LEAST_ORDERS} or more orders a side", busy_turns(Random(20), games=60)),
        ("dueling-masters", "of whole games", all_turns("dueling-masters", Random(20), games=40)),
    ]
    samples += [("shoot-em-up", f"of {seats} seats", crowded_turns(Random(seats), 60, seats)) for seats in (2, 3, 4)]
    for name, which, turns in samples:
        best, median = turns_a_second(name, turns, seconds)
        print(f"{rules(name).title}, text to reports, {len(turns)} different turns {which}:")
        goal = f"goal {TURNS_A_SECOND:,}: {said(best >= TURNS_A_SECOND)}"
        print(f"  best {best:,.0f}, median {median:,.0f} turns/s; {goal}")
    bin_ = Path(sys.executable).parent
    with tempfile.TemporaryDirectory() as folder:
        file = short_file(Path(folder) / "short.pbem.toml")
        bare = start_ms([sys.executable, "-c", "pass"])
        whole = start_ms([str(bin_ / "pbem"), "replay", str(file)])
    print(f"pbem replay of one short file: {whole:.0f} ms, of which Python itself {bare:.0f} ms;", end=" ")
    print(f"goal {START_MS} ms: {said(whole <= START_MS)}")


if __name__ == "__main__":
    main()
