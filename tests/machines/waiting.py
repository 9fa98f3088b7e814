"""Waiting for what other processes bring about; and calls that need no thread of their own."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, TypeVar, TypeVarTuple

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")
Arguments = TypeVarTuple("Arguments")


def until(condition: Callable[[], Any], seconds: float = 40) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


async def at_once(call: Callable[[*Arguments], T], /, *arguments: *Arguments) -> T:
    """Run at once what a daemon runs in a thread beside it."""
    return call(*arguments)
