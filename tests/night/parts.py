"""The parts of a night: what is run, and about how many minutes it takes on two cores that are otherwise idle."""

from __future__ import annotations

import hashlib
import math
import subprocess
from dataclasses import dataclass
from pathlib import Path

from mutation.rooms import ROOMS

ROOT = Path(__file__).parents[2]
TEST = ".venv/bin/pytest -q -p no:cacheprovider"
TIMED = ("tests/test_hostile.py", "tests/proof/test_bounds.py", "tests/cases/test_intake_cases.py")
"""Tests that judge seconds or memory: they are not fair beside others."""
BEGIN = 0.5  # minutes in which a part collects its tests
DEMOS = 3.0  # minutes for what is whole in a clone: set-up, lint, types, demos
REACH = 15.0  # minutes in which the first room's mutants also wait until it is measured what most tests reach


@dataclass(frozen=True)
class Part:
    """A command that judges something, how many minutes it should take, and why it cannot be run here."""

    name: str
    command: str
    minutes: float
    missing: str = ""


def parts(share: float, seed: int) -> tuple[list[Part], list[Part], list[Part]]:
    """Two lists that run beside each other, and those that run alone; of each part this share is tried."""
    some = "" if share == 1 else f'NIGHT_SHARE={share:g}:{seed} PYTEST_ADDOPTS="-p night.share" PYTHONPATH=tests '

    def tests(name: str, command: str, minutes: float, missing: str = "", whole: float = 0.0) -> Part:
        return Part(name, some + command, BEGIN + whole + minutes * share, missing)

    rest = " ".join(f"--ignore={path}" for path in ("tests/games", *TIMED))
    fuzzed = " ".join(
        sorted(
            str(path.relative_to(ROOT))
            for path in ROOT.glob("tests/**/test_*.py")
            if "from hypothesis import" in path.read_text("utf-8")
        )
    )
    weeks = math.ceil(250 * share)
    one = [
        *(
            Part(
                f"mutants in {room}",
                f'make mutation SAMPLE={math.ceil(40 * share)} SEED={seed} OF="--room {room}"',
                BEGIN + 14 * share + REACH * (at == 0),
            )
            for at, room in enumerate(ROOMS)
        ),
    ]
    other = [
        *(
            tests(
                f"clone, python{version}",
                f"PYTHON=$(.ci/python {version}) .ci/clone",
                7,
                _missing(f"python{version}", f".ci/python {version}"),
                DEMOS,
            )
            for version in ("3.11", "3.12", "3.13", "3.14")
        ),
        tests("PostgreSQL", "make test-postgresql", 10),
        tests("browser", "make test-browser", 12, _missing("chromium", "command -v chromium")),
        tests("PostgreSQL, long", "make test-postgresql MARKS=long", 25),
        tests("odd mail and fuzzers", f"PBEM_SEED={seed} {TEST} -m odd tests", 5),
        tests("planted faults", f"{TEST} -m long simulation/test_planted.py", 15),
        tests("long tests of games", f"{TEST} -m 'long and not browser' tests/games", 30),
        tests("long tests of the rest", f"{TEST} -m 'long and not browser and not odd' tests {rest}", 60),
        Part(
            "properties",
            f"EXAMPLES={math.ceil(1000 * share)} {TEST} -m 'not browser' --hypothesis-profile=night"
            f" --hypothesis-seed={seed} {fuzzed}",
            60 * share,
        ),
        *(
            Part(
                f"weeks {at + 1} of 8",
                "PYTHONPATH=tests .venv/bin/python -m simulation --jobs 1"
                f" --from {seed * 10_000 + at * weeks} --seeds {weeks}",
                25 * share,
            )
            for at in range(8)
        ),
    ]
    return one, other, [tests("seconds and memory", f"{TEST} -m 'long and not odd' {' '.join(TIMED)}", 10)]


def _missing(program: str, search: str) -> str:
    """Why a program cannot be run, if the command that searches for it fails."""
    failed = subprocess.run(search, shell=True, cwd=ROOT, capture_output=True, check=False).returncode
    return f"{program} is not here" if failed else ""


def tree() -> str:
    """The name of the project as it is now, committed or not."""
    asked = (["git", "rev-parse", "HEAD^{tree}"], ["git", "diff", "HEAD"])
    head, changes = (subprocess.run(words, cwd=ROOT, capture_output=True, check=True).stdout for words in asked)
    return hashlib.sha256(head + changes).hexdigest()[:12] if changes else head.decode()[:12]
