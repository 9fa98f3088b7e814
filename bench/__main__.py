"""All benches, or those named: `python -m bench [intake] [--rounds 3]`; the table in README.md is made by this."""

from __future__ import annotations

import argparse
import importlib
import logging
import sys

import structlog

PARTS = (
    "intake",
    "busy",
    "effect",
    "latency",
    "engines",
    "turn",
    "instructions",
    "outgoing",
    "rules",
    "verification",
    "size",
    "memory",
    "opponent",
)


def main() -> int:
    """Measure, print, and say how many goals were missed."""
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("parts", nargs="*", choices=[*PARTS, []], help="those to run; all without a name")
    parser.add_argument("--rounds", type=int, default=3, help="how often each contestant has its turn")
    given = parser.parse_args()
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
    missed = 0
    for name in given.parts or PARTS:
        for part in importlib.import_module(f"bench.{name}").measure(given.rounds):
            print(part, flush=True)
            missed += sum(not goal.met for goal in part.goals)
    print(f"{missed} goals missed" if missed else "all goals met")
    return 0


if __name__ == "__main__":
    sys.exit(main())
