"""Changed copies of frozen values, of either kind of class, and of mappings by seat."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, TypeVar

import msgspec

if TYPE_CHECKING:
    from collections.abc import Mapping

    from _typeshed import DataclassInstance

    T = TypeVar("T")
    Value = TypeVar("Value", bound=DataclassInstance | msgspec.Struct)


def replace(value: Value, /, **changes: object) -> Value:
    """A copy of a value with other values of some of its fields; raises TypeError if it has no such field."""
    if isinstance(value, msgspec.Struct):
        return msgspec.structs.replace(value, **changes)
    return dataclasses.replace(value, **changes)


def without(seats: Mapping[int, T], *left_out: int) -> dict[int, T]:
    """A mapping by seats without these."""
    return {seat: value for seat, value in seats.items() if seat not in left_out}
