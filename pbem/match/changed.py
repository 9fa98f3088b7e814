"""Changed copies of frozen values, and of mappings by seat."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from msgspec.structs import replace

if TYPE_CHECKING:
    from collections.abc import Mapping

    T = TypeVar("T")

__all__ = ["replace", "without"]


def without(seats: Mapping[int, T], *left_out: int) -> dict[int, T]:
    """A mapping by seats without these."""
    return {seat: value for seat, value in seats.items() if seat not in left_out}
