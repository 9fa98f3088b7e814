"""`make simulate`: weeks of a server, seed after seed, on all cores, and a summary of them.

python -m simulation [--seeds N] [--from SEED] [--week JSON] [--jobs N] [--story] [--whole]
"""

from __future__ import annotations

import argparse
import sys
import time
from functools import partial
from typing import TYPE_CHECKING

from simulation.runs import outcomes, read, run, said, shrunk
from simulation.world import Figures

if TYPE_CHECKING:
    from simulation.runs import Outcome

OFTEN = 60.0  # seconds between two reports of progress


def main() -> int:
    """Run the seeds; returns 1 if one broke a promise."""
    parser = argparse.ArgumentParser(prog="make simulate")
    parser.add_argument("--seeds", type=int, default=100)
    parser.add_argument("--from", type=int, default=1, dest="first")
    parser.add_argument("--week", type=read, default="{}", help="what is not as usual, as JSON")
    parser.add_argument("--jobs", type=int, help="processes; as many as there are processors")
    parser.add_argument("--story", action="store_true", help="tell what happened")
    parser.add_argument("--whole", action="store_true", help="make no failing week smaller")
    given = parser.parse_args()
    began = told = time.monotonic()
    figures, done, broken = Figures(), 0, []
    seeds = range(given.first, given.first + given.seeds)
    for outcome in outcomes(seeds, given.week, given.jobs, story=given.story):
        figures, done = figures + outcome.figures, done + 1
        if given.story:
            print("\n".join(outcome.story))
        if given.seeds == 1:
            print(f"seed {outcome.seed}: trace {outcome.trace}")
        if outcome.broken:
            broken.append(outcome.seed)
            _tell(outcome, whole=given.whole)
        if time.monotonic() - told > OFTEN:
            told = time.monotonic()
            print(f"... {_sum(figures, done, told - began)}", flush=True)
    print(f"{_sum(figures, done, time.monotonic() - began)}; {len(broken)} broke a promise: {broken or 'none'}")
    return bool(broken)


def _tell(outcome: Outcome, *, whole: bool) -> None:
    """What broke, and how to repeat it: as a whole week, and as a smaller one."""
    _print(outcome)
    if not whole:
        smallest = shrunk(outcome, partial(run, outcome.seed))
        if smallest is not outcome:
            _print(smallest)


def _print(outcome: Outcome) -> None:
    week = said(outcome.week)
    more = "" if week == "{}" else f" WEEK='{week}'"
    print(
        f"seed {outcome.seed} broke a promise, trace {outcome.trace}: make simulate FROM={outcome.seed} SEEDS=1{more}"
    )
    print("\n".join(f"    {line}" for line in outcome.broken), flush=True)


def _sum(figures: Figures, done: int, seconds: float) -> str:
    """All that happened, in a sentence."""
    return (
        f"{done} seeds, {done / seconds * 60:.1f} a minute: {figures.seconds / 86_400 / 365.25:.1f} simulated years,"
        f" {figures.matches} matches, {figures.turns} turns; {figures.kills} kills, {figures.power_cuts} power cuts,"
        f" {figures.desk_deaths} deaths of a desk, {figures.stalls} desks that hung, {figures.stops} restarts,"
        f" {figures.outages} outages, {figures.naps} naps, {figures.takeovers} takeovers, {figures.steps} clocks set;"
        f" {figures.attempts} attempts to deliver a letter,"
        f" {figures.letters_in} letters in, {figures.letters_out} out"
    )


if __name__ == "__main__":
    sys.exit(main())
