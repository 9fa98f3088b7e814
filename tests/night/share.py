"""A share of the tests that a command asks for, drawn by NIGHT_SHARE=0.25:17 for `-p night.share`.

The first number is the share, the second one the seed, so that each short night tries others. At least one is run.
"""

from __future__ import annotations

import os
import zlib

import pytest


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out all but a share of what the command asks for."""
    share, _, seed = os.environ["NIGHT_SHARE"].partition(":")
    by_lot = sorted(items, key=lambda item: zlib.crc32(f"{seed} {item.nodeid}".encode()))
    drawn = set(by_lot[: max(1, round(len(items) * float(share)))])
    config.hook.pytest_deselected(items=[item for item in items if item not in drawn])
    items[:] = [item for item in items if item in drawn]
