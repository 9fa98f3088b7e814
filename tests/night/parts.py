"""The parts of a night: what is run, and about how many minutes it takes on two cores that are otherwise idle."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from mutation.rooms import ROOMS

ROOT = Path(__file__).parents[2]
TEST = ".venv/bin/pytest -q -p no:cacheprovider"
TIMED = ("tests/test_hostile.py", "tests/proof/test_bounds.py", "tests/cases/test_intake_cases.py")
"""Tests that judge seconds or memory: they are not fair beside others."""


@dataclass(frozen=True)
class Part:
    """A command that judges something, how many minutes it should take, and why it cannot be run here."""

    name: str
    command: str
    minutes: float
    missing: str = ""


def parts(hours: float, seed: int) -> tuple[list[Part], list[Part], list[Part]]:
    """Two lists that run beside each other, and those that run alone: last what grows with the hours."""
    share = hours / 8
    weeks = int(500 * share)
    rest = " ".join(f"--ignore={path}" for path in ("tests/games", *TIMED))
    fuzzed = " ".join(
        sorted(str(path.relative_to(ROOT)) for path in ROOT.glob("tests/**/test_*.py") if _is_fuzzed(path))
    )
    one = [
        Part("PostgreSQL", "make test-postgresql", 10),
        Part("browser", "make test-browser", 12, _missing("chromium")),
        Part("PostgreSQL, long", "make test-postgresql MARKS=long", 25),
        *(
            Part(f"clone, {name}", f"PYTHON={name} .ci/clone", 10, _missing(name))
            for name in ("python3.11", "python3.12", "python3.13", "python3.14")
        ),
        *(
            Part(
                f"mutants in {room}",
                f'make mutation SAMPLE={int(100 * share)} SEED={seed} OF="--room {room}"',
                3 + 14 * share,
            )
            for room in ROOMS
        ),
    ]
    other = [
        Part(
            "properties",
            f"EXAMPLES={int(1000 * share)} {TEST} -m 'not browser' --hypothesis-profile=night"
            f" --hypothesis-seed={seed} {fuzzed}",
            60 * share,
        ),
        Part("odd mail and fuzzers", f"PBEM_SEED={seed} {TEST} -m odd tests", 20),
        Part("planted faults", f"{TEST} -m long simulation/test_planted.py", 20),
        Part("long tests of games", f"{TEST} -m 'long and not browser' tests/games", 30),
        Part("long tests of the rest", f"{TEST} -m 'long and not browser and not odd' tests {rest}", 60),
        *(
            Part(
                f"weeks {at + 1} of 8",
                f".venv/bin/python -m simulation --jobs 1 --from {seed * 10_000 + at * weeks} --seeds {weeks}",
                30 * share,
            )
            for at in range(8)
        ),
    ]
    alone = [Part("seconds and memory", f"{TEST} -m 'long and not odd' {' '.join(TIMED)}", 10)]
    return one, other, alone


def _is_fuzzed(path: Path) -> bool:
    return "from hypothesis import" in path.read_text("utf-8")


def _missing(program: str) -> str:
    """Why a program cannot be run; what is found may be a shim for one that is not there."""
    there = (
        shutil.which(program)
        and not subprocess.run([program, "--version"], capture_output=True, check=False).returncode
    )
    return "" if there else f"{program} is not here"


def tree() -> str:
    """The name of the project as it is now, committed or not."""
    asked = (["git", "rev-parse", "HEAD^{tree}"], ["git", "diff", "HEAD"])
    head, changes = (subprocess.run(words, cwd=ROOT, capture_output=True, check=True).stdout for words in asked)
    return hashlib.sha256(head + changes).hexdigest()[:12] if changes else head.decode()[:12]
