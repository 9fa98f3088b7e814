"""Changed copies of frozen values, of either kind of class."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, TypeVar

import msgspec

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

    Value = TypeVar("Value", bound=DataclassInstance | msgspec.Struct)

__all__ = ["replace"]


def replace(value: Value, /, **changes: object) -> Value:
    """A copy of a value with other values of some of its fields; raises TypeError if it has no such field."""
    if isinstance(value, msgspec.Struct):
        return msgspec.structs.replace(value, **changes)
    return dataclasses.replace(value, **changes)
