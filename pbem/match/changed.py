"""Changed copies of frozen values: a match is copied about ten times a turn, and has about thirty fields."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, TypeVar

import msgspec

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

    Value = TypeVar("Value", bound=DataclassInstance | msgspec.Struct)

__all__ = ["replace"]


def replace(value: Value, /, **changes: object) -> Value:
    """What `dataclasses.replace` gives, in a tenth of its time where the class has no slots."""
    before = getattr(value, "__dict__", None)
    if before is None:
        if isinstance(value, msgspec.Struct):
            return msgspec.structs.replace(value, **changes)
        return dataclasses.replace(value, **changes)
    fields = before | changes
    if len(fields) != len(before):
        raise TypeError(f"{type(value).__name__} has no such field: {', '.join(changes)}")
    made = object.__new__(type(value))
    object.__setattr__(made, "__dict__", fields)
    return made
