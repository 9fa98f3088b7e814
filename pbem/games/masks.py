"""Sets of places as whole numbers, in which each place is a bit: looked up, cut and joined at once."""

from __future__ import annotations

from functools import reduce
from operator import or_
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


def members(mask: int) -> Iterator[int]:
    """The places of a mask in their order."""
    while mask:
        lowest = mask & -mask
        yield lowest.bit_length() - 1
        mask ^= lowest


def mask_of(places: Iterable[int]) -> int:
    """The mask of these places."""
    return union(1 << place for place in places)


def union(masks: Iterable[int]) -> int:
    """The union of masks."""
    return reduce(or_, masks, 0)
