"""Decisions: each in one transaction, made again if it needed something that was not read yet.

A decision that was not carried out leaves nothing in memory. Implements design.md, "The way of a letter" (one
transaction).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from pbem.desk.beforehand import NotYetRead

if TYPE_CHECKING:
    from collections.abc import Callable

    from pbem.desk.wiring import Desk

__all__ = ["decide", "forget"]

T = TypeVar("T")


def decide(desk: Desk, decision: Callable[[], T]) -> T:
    """Make a decision in a transaction, once all that it needs from the sandbox is known; returns its result."""
    while True:
        desk.archive.begin()
        try:
            with desk.database.transaction():
                return decision()
        except NotYetRead:
            forget(desk)
            desk.before.find_out()
        except BaseException:
            forget(desk)
            raise


def forget(desk: Desk) -> None:
    """Empty the caches of a decision that is not going to be written."""
    desk.archive.forget()
    desk.players.forget()
