"""A referee with an empty store, for every test of the desk."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.referee import Referee

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def referee(tmp_path: Path) -> Iterator[Referee]:
    referee = Referee(tmp_path)
    yield referee
    referee.close()
