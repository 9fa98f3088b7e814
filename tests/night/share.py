"""What `-p night.share` does to a run of tests: a part of them alone is run, drawn by NIGHT_SHARE=0.25:17.

The first number is the share, the second one the seed, so that each short night tries others. At least one is run.
"""

from __future__ import annotations

import os
import zlib
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out all but a share of what the command asks for."""
    share, _, seed = os.environ["NIGHT_SHARE"].partition(":")
    drawn = {item.nodeid for item in items if _drawn(seed, item) < float(share)}
    drawn |= {item.nodeid for item in _first(seed, items)}
    config.hook.pytest_deselected(items=[item for item in items if item.nodeid not in drawn])
    items[:] = [item for item in items if item.nodeid in drawn]


def _drawn(seed: str, item: pytest.Item) -> float:
    return zlib.crc32(f"{seed} {item.nodeid}".encode()) / (1 << 32)


def _first(seed: str, items: list[pytest.Item]) -> Iterator[pytest.Item]:
    if items:
        yield min(items, key=lambda item: _drawn(seed, item))
