"""Mutation testing: would a test notice if the code were a little wrong?

mutmut makes the mutants, small errors each; here lives how they are tried cheaply. All tests are collected once. Then
a process is forked for each mutant, the code of the one function is exchanged in it, and the tests that reach the
changed lines run, quickest first, until one fails. What tests reach, and how long they take, coverage.py measures
once. What survived can be tried again, by all tests that reach its module: one test reaches a line for another now
and then, as what it made is kept.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import random
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from mutation.mutants import Mutant, Source
from mutation.reach import FOLDER, say
from mutation.rooms import ROOMS, ROOT, modules
from mutation.trial import KILLED, NOT_REACHED, OUTCOMES, SURVIVED, Trial, Verdict

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


OPTIONS = ("-s", "-p", "no:cacheprovider", "-p", "no:cov", "-p", "no:xdist")


def interval(killed: int, tried: int) -> tuple[float, float]:
    """Wilson's interval, 95 %, of a share."""
    z, share = 1.96, killed / tried
    middle = (share + z * z / (2 * tried)) / (1 + z * z / tried)
    half = z * math.sqrt(share * (1 - share) / tried + z * z / (4 * tried * tried)) / (1 + z * z / tried)
    return middle - half, middle + half


def chosen(arguments: argparse.Namespace) -> list[Mutant]:
    paths = [ROOT / name for name in arguments.files] or [p for room in arguments.room for p in modules(room)]
    if arguments.again:
        return list(_survivors(paths))
    mutants = [Mutant(source, number) for source in map(Source, paths) for number in range(len(source.mutations))]
    say(f"{len(mutants)} mutants of {len(paths)} modules")
    if arguments.sample and arguments.sample < len(mutants):
        mutants = random.Random(arguments.seed).sample(mutants, arguments.sample)
    return sorted(mutants, key=lambda mutant: (mutant.source.name, mutant.number))


def _survivors(paths: Sequence[Path]) -> Iterator[Mutant]:
    """The mutants that survived their last trial, if they can still be made."""
    latest: dict[tuple[str, str], Verdict] = {}
    for written in (FOLDER / "verdicts.jsonl").read_text("utf-8").splitlines():
        verdict = Verdict(**json.loads(written))
        latest[verdict.path, verdict.diff] = verdict
    left = [verdict for verdict in latest.values() if verdict.outcome in {SURVIVED, NOT_REACHED}]
    for path in paths:
        diffs = {verdict.diff for verdict in left if ROOT / verdict.path == path}
        if not diffs:
            continue
        gone = {line for diff in diffs for line in diff.split("\n") if line.startswith("-")}
        source = Source(path)
        lines = source.text.splitlines()
        for number, mutation in enumerate(source.mutations):
            first, last = source.lines(mutation)
            touched = any(f"-{line}" in gone for line in lines[first - 1 : last])
            if touched and source.difference(source.mutated(mutation)) in diffs:
                yield Mutant(source, number)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="*", metavar="FILE", help="modules; otherwise those of a room")
    parser.add_argument("--room", choices=ROOMS, nargs="*", default=[*ROOMS])
    parser.add_argument("--sample", type=int, default=0, help="as many mutants, by the seed")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--again", action="store_true", help="what survived, by all tests that reach its module")
    parser.add_argument("--patience", type=float, default=30, help="seconds of tests for one mutant")
    arguments = parser.parse_args()
    FOLDER.mkdir(exist_ok=True)
    os.chdir(ROOT)
    verdicts = FOLDER / "verdicts.jsonl"
    before = verdicts.stat().st_size if verdicts.exists() else 0
    trial = Trial(chosen(arguments), arguments.patience, whole=arguments.again)
    rooms = {Path(name).parts[1] for name in arguments.files} or {*arguments.room}
    folders = sorted({tests for room in rooms for tests in ROOMS[room]})
    with tempfile.TemporaryDirectory(dir=FOLDER, prefix="tests-") as scratch:
        options = [*OPTIONS, f"--basetemp={scratch}/tests", "-m", "not long and not browser"]
        pytest.main([*options, *folders], plugins=[trial])
    with verdicts.open("rb") as file:
        file.seek(before)
        report([Verdict(**json.loads(line)) for line in file])


def report(verdicts: Sequence[Verdict]) -> None:
    """The killed share of each room, and who survived."""
    for verdict in verdicts:
        if verdict.outcome in {SURVIVED, NOT_REACHED}:
            print(f"\n{verdict.mutant} {verdict.function}, line {verdict.line}: {verdict.outcome}")
            print(f"  {verdict.tests} of {verdict.reached} tests\n{verdict.diff}")
    print()
    for room in ROOMS:
        tried = [v for v in verdicts if v.path.startswith(f"pbem/{room}/") and v.outcome in OUTCOMES]
        if tried:
            killed = sum(v.outcome == KILLED for v in tried)
            low, high = interval(killed, len(tried))
            print(f"{room}: {killed} of {len(tried)} killed, {killed / len(tried):.1%} ({low:.1%} to {high:.1%})")


if __name__ == "__main__":
    main()
