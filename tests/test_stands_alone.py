"""Programs that stand alone: what they import of ours, and nothing else of tests/ or pbem/."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
SIMULATION, WORLD = TESTS.parent / "simulation", TESTS / "world"
OURS = {"pbem", "simulation", *(path.name for path in TESTS.iterdir() if path.is_dir())}


def imported(path: Path) -> set[str]:
    """The modules of ours that a file imports, anywhere in it."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0
            found.add(node.module or "")
        elif isinstance(node, ast.Import):
            found |= {name.name for name in node.names}
    return {name for name in found if name.partition(".")[0] in OURS - {"mailbox"}}


def test_the_second_verifier_shares_nothing() -> None:
    """Not even the rules of the games."""
    paths = list((TESTS.parent / "verifier").rglob("*.py"))
    assert len(paths) > 20
    allowed = sys.stdlib_module_names | {"cryptography", "verifier"}
    for path in paths:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom):
                assert node.level == 0
                assert (node.module or "").partition(".")[0] in allowed, path
            elif isinstance(node, ast.Import):
                assert {name.name.partition(".")[0] for name in node.names} <= allowed, path


@pytest.mark.parametrize(
    "path",
    sorted([*SIMULATION.glob("*.py"), *WORLD.glob("*.py")]),
    ids=lambda path: f"{path.parent.name}/{path.name}",
)
def test_the_simulation_takes_nothing_from_the_tests_but_their_world(path: Path) -> None:
    """The world has what both share, and takes nothing from either."""
    allowed = {"pbem", "world"} if path.parent == WORLD else {"pbem", "simulation", "verifier", "world"}
    assert not {name for name in imported(path) if name.partition(".")[0] not in allowed}
