"""Waiting for what other processes bring about; and calls that need no thread of their own."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Any, TypeVar, TypeVarTuple

if TYPE_CHECKING:
    from collections.abc import Callable

    from pbem.smtp.rounds import Asker

T = TypeVar("T")
Arguments = TypeVarTuple("Arguments")


def until(condition: Callable[[], Any], seconds: float = 40) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


def one_round(asker: Asker[Any]) -> float:
    """Let a task ask what is due, and hear the answers; returns the seconds until more is due."""

    async def scene() -> float:
        wait = await asker._round()
        await asyncio.gather(*asker._under_way)
        return wait

    return asyncio.run(scene())


async def at_once(call: Callable[[*Arguments], T], /, *arguments: *Arguments) -> T:
    """Run at once what a daemon runs in a thread beside it."""
    return call(*arguments)
