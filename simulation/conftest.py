"""The disk that forgets needs SQLite as a separate library: some builds of Python have it built in."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave out what cannot be tested with this Python."""
    if hasattr(importlib.import_module("_sqlite3"), "__file__"):
        return
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.skip(reason="SQLite is part of this Python: no disk can be put under it"))
