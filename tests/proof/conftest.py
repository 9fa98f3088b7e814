"""A referee for those who lie; and forgeries of a few bundles, in which most of what was signed stands again."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import pytest
from in_a_box.referee import Openings, Referee

from pbem.identity import ed25519_points

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_OPENINGS = Openings()
"""Played by honest servers: whose test may patch its own plays for itself, and keeps nothing."""


@pytest.fixture
def referee(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Referee]:
    patched = "monkeypatch" in request.fixturenames
    referee = Referee(tmp_path, openings=None if patched else _OPENINGS)
    yield referee
    referee.close()


@pytest.fixture(scope="module", autouse=True)
def _signatures_verified_once() -> Iterator[None]:
    """The same signature by the same key over the same bytes is verified once; any other is verified."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ed25519_points, "holds", cache(ed25519_points.holds))
        yield
