"""Decisions: made without the lock of the store, and made again if their premises were unknown or have changed.

A decision that was not carried out leaves nothing in memory. Implements design.md, "The way of a letter" (one short
transaction).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from pbem.desk.beforehand import NotYetRead
from pbem.store.errors import OvertakenError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pbem.desk.wiring import Desk

__all__ = ["decide", "forget"]

T = TypeVar("T")

_ANEW = 5
"""How often a decision is made before its letters are given back: others change what it stands on all the time."""


def decide(desk: Desk, decision: Callable[[], T], about: Sequence[str] = ()) -> T:
    """Make a decision as `Database.decide` does: again if something was not read yet, or changed meanwhile.

    The first time nobody waits for it; if that fails, the others do.
    """
    for left in reversed(range(_ANEW)):
        while True:
            try:
                return desk.database.decide(decision, locked=left < _ANEW - 1, about=about)
            except NotYetRead:
                forget(desk)
                desk.before.find_out()
            except OvertakenError:
                forget(desk)
                if not left:
                    raise
                break
            except BaseException:
                forget(desk)
                raise
    raise AssertionError("the last attempt raises")


def forget(desk: Desk) -> None:
    """Forget what was decided: it is not going to be written."""
    desk.archive.forget()
    desk.players.forget()
