"""The points in the handling of a letter at which tests and the simulation end a server: `pbem/failpoints.py`."""

from __future__ import annotations

POINTS = (
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
"""The points in the handling of a letter at which a server may be killed without harm."""

FETCHING = (
    "letter fetched",  # from the mailbox; nothing is stored
    "letter kept",  # on disk, and it lies in the mailbox still
    "letter moved",
)
"""The further points of a letter that is fetched, and not brought."""
