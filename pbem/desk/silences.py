"""The table of silences: the outcomes of letters that nothing answers, with the reason why silence is right.

Every other letter is answered. An outcome that is in no row here has an answer, or else it is a defect: a test walks
over the table, and over the outcomes of letters that brought none. docs/operating.md shows it to operators.
Implements reliability.md, cases 28 and 28b.
"""

from __future__ import annotations

from typing import NamedTuple


class Silence(NamedTuple):
    """One row: the outcome, as `pbem inbox list` shows it, and why nothing is answered."""

    outcome: str
    why: str
    told: str
    """The people who learn of the letter, and how."""

    def of(self, detail: object) -> str:
        """The outcome of one letter, with a detail."""
        return f"{self.outcome}: {detail}"


KEPT = Silence("to the operator, kept", "the operator's own letter, or one that would come back here", "the inbox")
ENOUGH_PASSED_ON = Silence("to the operator, one too many", "the day's limit of such letters", "the inbox")
OWN = Silence("our own letter", "a letter of this server came round, by its keyed mark", "nobody")
BOUNCE = Silence("bounce", "machines read return paths", "operator and opponents, if a player is cut off by it")
AUTOMATIC = Silence("automatic", "two machines would write to each other for ever", "nobody")
UNREADABLE = Silence("unreadable", "the day's limit of short answers, which each names", "nobody")
UNATTRIBUTED = Silence("no sender", "there is nobody to answer, or the day's limit is reached", "nobody")
BAD_SIGNATURE = Silence("signature", "the day's limit of notices, which the last one names", "the registered address")
UNVOUCHED = Silence("nobody vouches for the sender", "the day's limit of short answers, which each names", "nobody")
NEW_MAILBOX = Silence("one mailbox too many", "the day's limit of its domain's new mailboxes", "whoever writes again")
TOO_MANY = Silence(
    "too many unsigned letters today", "the day's limit, which a letter named", "the address, once a day"
)
SAID_BEFORE = Silence("said before", "somebody repeats a player's words, and is over the day's limit", "nobody")
STOP = Silence("stop, unproved", "the address was asked this week, or wants no mail", "the address, once a week")
CHANGES_NOTHING = Silence("changes nothing", "the day's limit, which the last answer names", "the sender, once a day")
SAME_WORDS = Silence("the same words", "the day's limit, which the last answer names", "the sender, once a day")
QUIET = Silence("obeyed", "a machine's mark stands on a letter that a key signed", "the players whom it concerns")

SILENCES = (
    KEPT,
    ENOUGH_PASSED_ON,
    OWN,
    BOUNCE,
    AUTOMATIC,
    UNREADABLE,
    UNATTRIBUTED,
    BAD_SIGNATURE,
    UNVOUCHED,
    NEW_MAILBOX,
    TOO_MANY,
    SAID_BEFORE,
    STOP,
    CHANGES_NOTHING,
    SAME_WORDS,
    QUIET,
)
