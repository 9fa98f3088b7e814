"""The letters that were vouched for, by marks of their signatures, so that copies sent again are recognised.

Only storage: other modules decide what a mark is, and what follows from it. Every call is part of the caller's
transaction. Implements reliability.md, case 35.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection

    from pbem.store.database import Database

__all__ = ["Vouched"]


class Vouched:
    """The marks of a store."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def note(self, marks: Collection[str], time: str) -> bool:
        """Note the marks of a letter; whether none of them was noted before."""
        noted = [self._database.add("vouched", mark=mark, time=time) for mark in marks]
        return all(noted)
