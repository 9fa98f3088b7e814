"""Where the shared data lies: environment PBEM_SHARED, else `../shared` beside the project.

Missing data fails the tests that need it; it never skips them.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import settings

# No deadlines: tests are never timed. The same examples in each run, so that a green suite stays green.
settings.register_profile("pbem", deadline=None, derandomize=True)
settings.load_profile("pbem")

SHARED = Path(os.environ.get("PBEM_SHARED") or Path(__file__).parents[1] / ".." / "shared").resolve()


@pytest.fixture(scope="session")
def shared() -> Path:
    assert SHARED.is_dir(), f"no shared data in {SHARED}: set PBEM_SHARED"
    return SHARED


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Give a test that asks for `example` each worked example, of the games that its module names in GAMES."""
    if "example" in metafunc.fixturenames:
        folders = [SHARED / "examples" / game for game in metafunc.module.GAMES]
        found = [(path, folder.name) for folder in folders for path in _examples(folder)]
        names = [f"{game}/{path.name.removesuffix('.pbem.toml')}" for path, game in found]
        metafunc.parametrize("example", [path for path, _ in found], ids=names)


def _examples(folder: Path) -> list[Path]:
    """The records of a folder; where there are none, one that cannot be opened, so that its test fails."""
    return sorted(folder.glob("*.pbem.toml")) or [folder / "missing.pbem.toml"]
