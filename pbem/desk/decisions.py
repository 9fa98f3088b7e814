"""Decisions: each in one transaction; one that was not carried out leaves nothing in memory.

Implements design.md, "The way of a letter" (one transaction).
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pbem.desk.wiring import Desk

T = TypeVar("T")


def decide(desk: Desk, decision: Callable[[], T]) -> T:
    """Make a decision in a transaction; returns its result."""
    desk.archive.begin()
    try:
        with desk.database.transaction():
            return decision()
    except BaseException:
        forget(desk)
        raise


@contextmanager
def part(desk: Desk) -> Iterator[None]:
    """A part of the open decision: if the block raises, what it did is undone, in the store and in memory."""
    try:
        with desk.database.savepoint():
            yield
    except BaseException:
        forget(desk)
        raise


def forget(desk: Desk) -> None:
    """Empty the caches of a decision that is not going to be written."""
    desk.archive.forget()
    desk.players.forget()
