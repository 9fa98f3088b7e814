"""The points in the handling of a letter at which a server may be killed without harm; tests kill it there.

Only their names are here. A server is told what to do at each point: nothing, except in tests of promises 1 to 3 of
reliability.md, "What the post office promises". Nothing may depend on that.
"""

from __future__ import annotations

from collections.abc import Callable

Failpoints = Callable[[str], None]
"""Called with the name of the point that is being passed."""

ALL = (
    "message read",  # the final dot was seen; nothing is stored
    "transaction written",  # any transaction, of the inbox, the desk or the outbox, just before its commit
    "transaction committed",
    "letter stored",  # on disk; 250 is not yet said
    "250 said",
    "letter leased",  # the attempt is counted; the desk begins
    "letter read",  # before the desk's transaction
    "effects written",  # in the desk's transaction, all of it
    "effects committed",
    "clock written",  # in the transaction of what the clock demands
    "clock committed",
    "sending leased",
    "sending begun",
    "smarthost said 250",  # nothing of it is noted yet
    "sending settled",
)

FETCHING = (
    "letter fetched",  # from the mailbox; nothing is stored
    "letter kept",  # on disk, and it lies in the mailbox still
    "letter moved",
)
"""The further points of a letter that is fetched, and not brought."""


def passing(_point: str) -> None:
    """Do nothing, and go on."""
