"""The letters that were vouched for, by marks of their signatures, so that copies sent again are recognised.

Only storage: other modules decide what a mark is, and what follows from it. Every call is part of the caller's
transaction. Implements reliability.md, case 35.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection

    from pbem.store.database import Database


def note_marks(database: Database, marks: Collection[str], time: str) -> bool:
    """Note the marks of a letter; returns True if none of them was noted before."""
    noted = [database.add("vouched", mark=mark, time=time) for mark in marks]
    return all(noted)
