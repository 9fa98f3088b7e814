"""A call in a thread of its own, whose end nobody waits for: neither a connection that hangs nor a slow name look-up.

`asyncio.to_thread` is for what ends soon: its threads are joined when the process ends.
"""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import Future
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")


def begun(name: str, call: Callable[[], T]) -> asyncio.Future[T]:
    """Begin a call; what it returns or raises, for the running event loop. To cancel that lets the thread run on."""
    outcome: Future[T] = Future()
    outcome.set_running_or_notify_cancel()

    def run() -> None:
        try:
            outcome.set_result(call())
        except BaseException as error:
            outcome.set_exception(error)

    threading.Thread(target=run, name=name, daemon=True).start()
    return asyncio.wrap_future(outcome)
