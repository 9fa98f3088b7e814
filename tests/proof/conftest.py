"""Thousands of forgeries of a few bundles: most of what each says was signed stands in all of them."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import pytest

from pbem.identity import ed25519_points

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="module", autouse=True)
def _signatures_verified_once() -> Iterator[None]:
    """The same signature by the same key over the same bytes is verified once; any other is verified."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ed25519_points, "holds", cache(ed25519_points.holds))
        yield
